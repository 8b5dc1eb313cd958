package narration

import (
	"strconv"
	"time"
)

// Duration words a duration for people, to a tenth of a second below ten seconds, to a second below an hour, else to a minute.
func Duration(d time.Duration, lang string) string { return Match(lang).duration(d) }

func (l Lang) duration(d time.Duration) string {
	d = max(d, 0)
	in := func(key string, big, small int64) string {
		return l.text(key, map[string]string{"big": strconv.FormatInt(big, 10), "small": strconv.FormatInt(small, 10)})
	}
	if tenths := d.Round(100 * time.Millisecond); tenths < 10*time.Second {
		return l.text("duration.seconds", map[string]string{"seconds": strconv.FormatFloat(tenths.Seconds(), 'f', 1, 64)})
	}
	if s := int64(d.Round(time.Second) / time.Second); s < 60 {
		return l.text("duration.seconds", map[string]string{"seconds": strconv.FormatInt(s, 10)})
	} else if s < 3600 {
		return in("duration.minutes", s/60, s%60)
	}
	m := int64(d.Round(time.Minute) / time.Minute)
	return in("duration.hours", m/60, m%60)
}
