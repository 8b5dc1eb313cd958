package temporalclient

import (
	"bytes"
	"log/slog"
	"testing"

	"go.temporal.io/sdk/log"
)

func TestLoggerIsQuiet(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		level slog.Level
		want  string
	}{
		"usual level": {slog.LevelInfo, "level=WARN msg=warning component=temporal-sdk queue=q key=value\n"},
		"debugging":   {slog.LevelDebug, "level=DEBUG msg=started component=temporal-sdk queue=q\nlevel=WARN msg=warning component=temporal-sdk queue=q key=value\n"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			l := log.With(NewLogger(slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: c.level,
				ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
					if a.Key == slog.TimeKey {
						return slog.Attr{}
					}
					return a
				}}))), "queue", "q")
			l.Info("started")
			l.Warn("warning", "key", "value")
			if out.String() != c.want {
				t.Errorf("logged\n%swant\n%s", out.String(), c.want)
			}
		})
	}
}
