package match

import "testing"

func TestName(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted, has string
		want        Rank
	}{
		{"Play", "Play", Exact},
		{"Play", " Play\n ", Exact},
		{"Play now", "Play   now", Exact},
		{"play", "PLAY", Folded},
		{"Ｐｌａｙ", "Play", Folded},
		{"Play", "Play!", Part},
		{"E-mail", "E-mail *", Part},
		{"E-mail", "E-mail:", Part},
		{"Inbox", "Inbox (3)", Part},
		{"Next", "Next →", Part},
		{"Accept all", "Accept all cookies", Part},
		{"Delete", "Delete all", None},
		{"Delete", "Undelete", None},
		{"Save", "Save draft", None},
		{"Sign in", "Sign in with Google", None},
		{"Play", "Display", None},
		{"Play", "", None},
		{"", "Play", None},
		{"Add", "Add.", Part},
		{"Open v1", "Open v1.2", None},
		{"Room 1", "Room 1-2", None},
		{"Order 12", "Order 123", None},
		{"2", "Page 1.2", None},
		{"Room 1", "Room 1: 3", Part},
		{"C", "C++", None},
		{"C", "C#", None},
		{"Veröffentlichen", "Ver\u00adöffent\u00adlichen", Exact},
		{"Save", "\u200eSa\u2060ve\u200f", Exact},
		{"Savedraft", "Save\u200ddraft", Folded},
		{"재생", "재생", Exact},
		{"재생", "재생 목록", None},
	} {
		if got := Name(c.wanted, c.has); got != c.want {
			t.Errorf("Name(%q, %q) = %d, want %d", c.wanted, c.has, got, c.want)
		}
	}
}

func TestPlace(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		wanted, has string
		want        Rank
	}{
		{"Now playing", "Now playing", Exact},
		{"now playing", "Now playing", Folded},
		{"Now playing panel", "Now playing", Part},
		{"the Album dialog", "Album", Part},
		{"Album", "Album list", Part},
		{"Album", "Radio", None},
	} {
		if got := Place(c.wanted, c.has); got != c.want {
			t.Errorf("Place(%q, %q) = %d, want %d", c.wanted, c.has, got, c.want)
		}
	}
}

func button(name string, within ...string) Candidate {
	return Candidate{Names: []string{name}, Role: "button", Within: within, Interactive: true, Clickable: true, Visible: true}
}

func TestChoose(t *testing.T) {
	t.Parallel()
	heading := Candidate{Names: []string{"Settings"}, Role: "heading", Visible: true}
	link := Candidate{Names: []string{"Play"}, Role: "link", Interactive: true, Visible: true}
	hidden := button("Play")
	hidden.Visible = false
	near := func(c Candidate, rivals, distance int) Candidate { c.Rivals, c.Distance = rivals, distance; return c }
	exactly := func(c Candidate) Candidate { c.BesideExact = true; return c }
	for _, c := range []struct {
		name   string
		q      Query
		cs     []Candidate
		strict bool
		want   Choice
	}{
		{name: "one", q: Query{Name: "Play"}, cs: []Candidate{button("Pause"), button("Play")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "exact beats folded", q: Query{Name: "Play"}, cs: []Candidate{button("PLAY"), button("Play")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "exact beats punctuation", q: Query{Name: "Play"}, cs: []Candidate{button("Play."), button("Play")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "two in other case", q: Query{Name: "play"}, cs: []Candidate{button("PLAY"), button("Play")}, want: Choice{Verdict: Ambiguous, Equals: []int{0, 1}, Rank: Folded}},
		{name: "twins", q: Query{Name: "Play"}, cs: []Candidate{button("Play", "Album"), button("Play", "Radio")}, want: Choice{Verdict: Ambiguous, Equals: []int{0, 1}, Rank: Exact}},
		{name: "twins, within", q: Query{Name: "Play", Within: "Radio"}, cs: []Candidate{button("Play", "Album"), button("Play", "Radio")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "within is nowhere", q: Query{Name: "Play", Within: "Video"}, cs: []Candidate{button("Play", "Album")}, want: Choice{Lacking: "within"}},
		{name: "twins, nth", q: Query{Name: "Play", Nth: 2}, cs: []Candidate{button("Play"), button("Play")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "nth too high", q: Query{Name: "Play", Nth: 3}, cs: []Candidate{button("Play"), button("Play")}, want: Choice{Lacking: "nth"}},
		{name: "near", q: Query{Name: "Play", Near: "Track 3"}, cs: []Candidate{near(button("Play"), 2, 100), near(button("Play"), 1, 10)}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "near by distance", q: Query{Name: "Play", Near: "Track 3"}, cs: []Candidate{near(button("Play"), 2, 100), near(button("Play"), 2, 10)}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "near, equally", q: Query{Name: "Play", Near: "Track 3"}, cs: []Candidate{near(button("Play"), 2, 10), near(button("Play"), 2, 10)}, want: Choice{Verdict: Ambiguous, Equals: []int{0, 1}, Rank: Exact}},
		{name: "near exactly", q: Query{Name: "Play", Near: "Track 3"}, cs: []Candidate{near(button("Play"), 1, 10), exactly(near(button("Play"), 1, 30))}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "near is nowhere", q: Query{Name: "Play", Near: "Track 3"}, cs: []Candidate{button("Play")}, want: Choice{Lacking: "near"}},
		{name: "control before heading", q: Query{Name: "Settings"}, cs: []Candidate{heading, button("Settings")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "heading asked", q: Query{Name: "Settings", Role: "heading"}, cs: []Candidate{heading, button("Settings")}, want: Choice{Verdict: Found, Index: 0, Rank: Exact}},
		{name: "visible before hidden", q: Query{Name: "Play"}, cs: []Candidate{hidden, button("Play")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "kin role", q: Query{Name: "Play", Role: "button"}, cs: []Candidate{link}, want: Choice{Verdict: Found, Index: 0, Rank: Exact}},
		{name: "kin role, strictly", q: Query{Name: "Play", Role: "button"}, cs: []Candidate{link}, strict: true, want: Choice{Lacking: "role"}},
		{name: "role before kin", q: Query{Name: "Play", Role: "button"}, cs: []Candidate{link, button("Play")}, want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
		{name: "part, alone", q: Query{Name: "Accept all"}, cs: []Candidate{button("Accept all cookies")}, want: Choice{Verdict: Found, Index: 0, Rank: Part}},
		{name: "part, two", q: Query{Name: "Accept all"}, cs: []Candidate{button("Accept all cookies"), button("Accept all terms")}, want: Choice{Verdict: Ambiguous, Equals: []int{0, 1}, Rank: Part}},
		{name: "nothing", q: Query{Name: "Play"}, cs: []Candidate{button("Stop")}, want: Choice{Lacking: "name"}},
		{name: "selector, one", q: Query{Any: true}, cs: []Candidate{button("Stop")}, want: Choice{Verdict: Found, Index: 0, Rank: Exact}},
		{name: "selector, two", q: Query{Any: true}, cs: []Candidate{button("Stop"), button("Go")}, want: Choice{Verdict: Ambiguous, Equals: []int{0, 1}, Rank: Exact}},
		{name: "accessible name before other names", q: Query{Name: "Play"}, cs: []Candidate{{Names: []string{"Start", "Play"}, Role: "button", Interactive: true, Visible: true}, button("Play")},
			want: Choice{Verdict: Found, Index: 1, Rank: Exact}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Choose(c.q, c.cs, c.strict)
			if got.Verdict != c.want.Verdict || got.Index != c.want.Index || got.Lacking != c.want.Lacking || got.Rank != c.want.Rank || len(got.Equals) != len(c.want.Equals) {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

// A selector that nothing matches any more, or a reference of an element that is gone, names no candidate at all.
func TestNoCandidates(t *testing.T) {
	t.Parallel()
	if got := Choose(Query{Any: true}, nil, false); got.Verdict != NotFound {
		t.Errorf("%+v", got)
	}
}
