package tool

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"testing"
)

// chainOf lists the messages of a chain.
func chainOf(e *Error) (messages []string) {
	for ; e != nil; e = e.Cause {
		messages = append(messages, string(e.Code)+":"+e.Message)
	}
	return messages
}

func TestErrorsKeepTheirCauses(t *testing.T) {
	t.Parallel()
	failed := &Failed{Failure: Covered, Message: "a banner covers it", Cause: io.ErrUnexpectedEOF}
	for name, c := range map[string]struct {
		err  *Error
		want []string
	}{
		"message":  {NewError(NoEffect, "nothing happened"), []string{"no_effect:nothing happened"}},
		"format":   {Errorf(Timeout, "after %d s: %w", 5, io.EOF), []string{"timeout:after 5 s: EOF", ":EOF"}},
		"no cause": {Errorf(Timeout, "after %d s", 5), []string{"timeout:after 5 s"}},
		"cause":    {NewErrorWithCause(Internal, "cannot store it", fmt.Errorf("write: %w", io.ErrShortWrite)), []string{"internal:cannot store it", ":write: short write", ":short write"}},
		"failed":   {ErrorFrom(fmt.Errorf("click: %w", failed)), []string{":click: covered: a banner covers it", "covered:a banner covers it", ":unexpected EOF"}},
		"an Error inside": {ErrorFrom(fmt.Errorf("hop: %w", NewErrorWithCause(NoEffect, "inner", io.EOF))),
			[]string{":hop: inner", "no_effect:inner", ":EOF"}},
		"two causes": {Errorf(Internal, "%w, and then %w", io.EOF, io.ErrClosedPipe), []string{"internal:EOF, and then io: read/write on closed pipe", ":EOF"}},
		"joined":     {ErrorFrom(errors.Join(nil, failed, io.EOF)), []string{":covered: a banner covers it\nEOF", "covered:a banner covers it", ":unexpected EOF"}},
	} {
		if got := chainOf(c.err); !reflect.DeepEqual(got, c.want) {
			t.Errorf("%s:\n got %q\nwant %q", name, got, c.want)
		}
		text, err := json.Marshal(c.err)
		if err != nil {
			t.Fatal(err)
		}
		var again Error
		if err := json.Unmarshal(text, &again); err != nil || !reflect.DeepEqual(&again, c.err) {
			t.Errorf("%s: does not survive JSON: %s (%v)", name, text, err)
		}
		if c.err.Error() != c.err.Message {
			t.Errorf("%s: %q", name, c.err.Error())
		}
	}
	if ErrorFrom(nil) != nil {
		t.Error("an error from nothing")
	}
}

func TestErrorsAreSeenThroughHops(t *testing.T) {
	t.Parallel()
	inner := NewErrorWithCause(NoEffect, "the click did nothing", io.EOF)
	hop := NewErrorWithCause(Internal, "the sub-run failed", inner)
	var found *Error
	if !errors.As(errors.Unwrap(hop), &found) || found.Code != NoEffect {
		t.Errorf("%+v", found)
	}
	if errors.Unwrap(NewError(NoEffect, "x")) != nil {
		t.Error("a cause from nothing: a nil *Error in an error is not nil")
	}
}

func TestCauseChainsAreBounded(t *testing.T) {
	t.Parallel()
	err := io.EOF
	for i := range 100 {
		err = fmt.Errorf("%d: %w", i, err)
	}
	if n := len(chainOf(ErrorFrom(err))); n != maxCauses {
		t.Errorf("%d causes", n)
	}
	if n := len(chainOf(NewErrorWithCause(Internal, "top", err))); n != maxCauses+1 {
		t.Errorf("%d causes", n)
	}
}

func TestFailed(t *testing.T) {
	t.Parallel()
	f := Failf(Stale, "the element was replaced: %w", io.EOF)
	if f.Message != "the element was replaced: EOF" || !errors.Is(f, io.EOF) || f.Error() != "stale: the element was replaced: EOF" {
		t.Errorf("%+v", f)
	}
	if got := AsFailed(fmt.Errorf("attempt: %w", f)); got != f {
		t.Errorf("%+v", got)
	}
	if got := AsFailed(io.EOF); got.Failure != Internal || got.Message != "EOF" || !errors.Is(got, io.EOF) {
		t.Errorf("%+v", got)
	}
	for _, f := range Failures {
		if _, ok := adviceOf[f.Reason()]; !ok {
			t.Errorf("the failure %s leads to the reason %q, which does not exist", f, f.Reason())
		}
		if !f.Known() || NearestFailure(f) != f {
			t.Errorf("%s is not known", f)
		}
	}
	if Failure("no_efect").Known() || NearestFailure("no_efect") != NoEffect {
		t.Error("a misspelt failure")
	}
}
