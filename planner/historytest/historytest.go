// Package historytest records the histories of runs, for planner's replay test: what one version made of them, a later one has to follow.
// The tests that make such runs, with -update, call it.
package historytest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"time"

	enumspb "go.temporal.io/api/enums/v1"
	historypb "go.temporal.io/api/history/v1"
	"go.temporal.io/sdk/client"
	"google.golang.org/protobuf/encoding/protojson"
)

// Read reads the run's events from Temporal.
func Read(ctx context.Context, c client.Client, runID string) ([]*historypb.HistoryEvent, error) {
	it := c.GetWorkflowHistory(ctx, runID, "", false, enumspb.HISTORY_EVENT_FILTER_TYPE_ALL_EVENT)
	var events []*historypb.HistoryEvent
	for it.HasNext() {
		e, err := it.Next()
		if err != nil {
			return nil, fmt.Errorf("read the history of run %s: %w", runID, err)
		}
		events = append(events, e)
	}
	return events, nil
}

// Record writes events to planner/testdata/histories, without what tells which machine recorded them, and when.
func Record(name string, events []*historypb.HistoryEvent) error {
	_, here, _, ok := runtime.Caller(0)
	if !ok {
		return errors.New("it is not known where the sources are")
	}
	text, err := protojson.MarshalOptions{Indent: " "}.Marshal(&historypb.History{Events: events})
	if err != nil {
		return fmt.Errorf("write the history %s: %w", name, err)
	}
	if text, err = anonymous(text); err != nil {
		return fmt.Errorf("write the history %s: %w", name, err)
	}
	return os.WriteFile(filepath.Join(filepath.Dir(here), "..", "testdata", "histories", name+".json"), text, 0o600)
}

var (
	identities = regexp.MustCompile(`("identity": +)"[^"]*"`)
	encoded    = regexp.MustCompile(`"[A-Za-z0-9+/]{40,}={0,2}"`)
	times      = regexp.MustCompile(`"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z"`)
)

// anonymous takes out of a history which machine recorded it, and when: its time begins with the year 2001. The clock of local activities
// stands inside their markers.
func anonymous(text []byte) ([]byte, error) {
	text = identities.ReplaceAll(text, []byte(`$1"recorded"`))
	var shift time.Duration
	var wrong error
	move := func(quoted []byte) []byte {
		at, err := time.Parse(`"`+time.RFC3339Nano+`"`, string(quoted))
		if err != nil {
			wrong = err
			return quoted
		}
		if shift == 0 {
			shift = time.Date(2001, 1, 1, 0, 0, 0, 0, time.UTC).Sub(at)
		}
		return at.Add(shift).UTC().AppendFormat(nil, `"`+time.RFC3339Nano+`"`)
	}
	text = times.ReplaceAllFunc(text, move)
	text = encoded.ReplaceAllFunc(text, func(quoted []byte) []byte {
		clear, err := base64.StdEncoding.DecodeString(string(quoted[1 : len(quoted)-1]))
		if err != nil || !bytes.Contains(clear, []byte(`"ReplayTime":`)) {
			return quoted
		}
		return strconv.AppendQuote(nil, base64.StdEncoding.EncodeToString(times.ReplaceAllFunc(clear, move)))
	})
	return text, wrong
}
