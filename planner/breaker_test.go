package planner

import (
	"testing"
	"testing/synctest"
	"time"

	"toolsvc/tool"
)

func TestBreakerLeavesAToolsetAlone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var b breakers
		made := 0
		try := func(f tool.Failure) error {
			_, err := b.guard("orders", func() Report {
				made++
				return Report{Record: tool.AttemptRecord{Failure: f}}
			})
			return err
		}
		for range 3 * breakAfter { // a target that is not there does not count
			if err := try(tool.TargetNotFound); err != nil {
				t.Fatal(err)
			}
		}
		for range breakAfter {
			if err := try(tool.ToolUnavailable); err != nil {
				t.Fatal(err)
			}
		}
		made = 0
		f := tool.AsFailed(try(""))
		if f.Failure != tool.ToolUnavailable || f.RetryAfter != breakFor || made != 0 {
			t.Errorf("after %d unavailable attempts: %+v, %d made", breakAfter, f, made)
		}
		if _, err := b.guard("browser", func() Report { return Report{} }); err != nil {
			t.Errorf("another toolset is left alone too: %v", err)
		}
		time.Sleep(2 * breakFor)                          // of the bubble's clock
		if err := try(tool.ToolUnavailable); err != nil { // one tries, and it is still down
			t.Fatal(err)
		}
		if err := try(""); err == nil {
			t.Error("a failed try does not leave it alone again")
		}
		time.Sleep(2 * breakFor) // of the bubble's clock
		for range 2 {
			if err := try(""); err != nil {
				t.Errorf("it is back, and: %v", err)
			}
		}
	})
}
