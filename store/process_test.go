package store_test

import (
	"bytes"
	"fmt"
	"strconv"
	"testing"

	"toolsvc/store"
)

func TestTwoProcessesAppendToTheSameRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const many = 120
	other := start(t, "append", dir, "other", many) // it may create the file while this process does
	s := open(t, dir)
	for n := range many {
		appendNotes(t, s, "r_one", fmt.Sprintf("own-%d", n))
	}
	lines := other.read(-1)
	other.wait()
	one, two := all(t, s, "r_one"), all(t, s, "r_two")
	if len(one)+len(two) != len(lines)+many {
		t.Errorf("%d events are stored, %d were appended", len(one)+len(two), len(lines)+many)
	}
	acknowledged(t, map[string][]store.Event{"r_one": one, "r_two": two}, lines)
}

// acknowledged checks that every event that a process was told to be stored is stored under that number.
func acknowledged(t *testing.T, runs map[string][]store.Event, lines [][]string) {
	t.Helper()
	for _, l := range lines {
		id, err := strconv.Atoi(l[1])
		if err != nil {
			t.Fatal(err)
		}
		if events := runs[l[0]]; id > len(events) || events[id-1].Key != l[2] {
			t.Fatalf("run %s: event %d (%s) was confirmed and is not there", l[0], id, l[2])
		}
	}
}

// A process that is killed at any moment loses no event that was confirmed, tears none, leaves no gap, and locks nobody out.
func TestKilledWriterLosesNothing(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	var confirmed [][]string
	for round := range 6 {
		p := start(t, "append", dir, fmt.Sprint("w", round), 0)
		confirmed = append(confirmed, p.read(20+7*round)...)
		confirmed = append(confirmed, p.kill()...)
		s := open(t, dir)
		appendNotes(t, s, "r_one", fmt.Sprint("own-", round))
		acknowledged(t, map[string][]store.Event{"r_one": all(t, s, "r_one"), "r_two": all(t, s, "r_two")}, confirmed)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

// Whatever was marked before a kill is found after it, with its evidence.
func TestJournalSurvivesAKill(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	for round := range 4 {
		name := fmt.Sprint("c", round)
		p := start(t, "mark", dir, name, 0)
		marked := append(p.read(10), p.kill()...)
		s := open(t, dir)
		for _, l := range marked {
			want := mark("r_one", l[0], 1)
			got, found, err := s.Dispatch(t.Context(), l[0], 1)
			if err != nil || !found || got.RunID != want.RunID || !got.At.Equal(want.At) || !bytes.Equal(got.Evidence, want.Evidence) {
				t.Fatalf("call %s: found %v, %v", l[0], found, err)
			}
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTwoProcessesClaimTheSameKeys(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	const many = 60
	a, b := start(t, "claim", dir, "c_a", many), start(t, "claim", dir, "c_b", many)
	as, bs := a.read(many), b.read(many)
	a.wait()
	b.wait()
	for i := range min(len(as), len(bs)) {
		owner, other := as[i][1], bs[i][1]
		if owner != other || (as[i][2] == "true") == (bs[i][2] == "true") || (as[i][2] == "true") != (owner == "c_a") {
			t.Errorf("key %s: one process heard %v, the other %v", as[i][0], as[i], bs[i])
		}
	}
}
