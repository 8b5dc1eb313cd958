package memory

import (
	"slices"
	"strings"
	"testing"

	"toolsvc/executors/browser/match"
)

// save is the element that was verified; each case says what is on the page now.
var save = Fingerprint{Role: "button", Name: "Save order", Tag: "button", Lang: "en", ID: "save-order", TestID: "save", Classes: []string{"btn", "green"},
	Path: []string{"div", "main"}, Within: []string{"Your order"}, Heading: "Your order", Before: "Total", After: "Cancel", Index: 1, Of: 4, W: 90, H: 30}

func with(f Fingerprint, change func(*Fingerprint)) Fingerprint { change(&f); return f }

func TestChoose(t *testing.T) {
	t.Parallel()
	bare := Fingerprint{Role: "button", Name: "Save order", Tag: "button", Path: []string{"div", "main"}}
	neighbour := with(save, func(f *Fingerprint) { f.Name, f.ID, f.TestID, f.Index = "Print invoice", "print", "print", 2 })
	row := func(name, row string) Fingerprint {
		return Fingerprint{Role: "button", Name: name, Tag: "button", Row: []string{row}, Path: []string{"listitem", "list"}}
	}
	for _, c := range []struct {
		name string
		want Fingerprint
		have []Fingerprint
		is   match.Verdict
		at   int
		eq   []int
	}{
		{name: "as it was", want: save, have: []Fingerprint{neighbour, save}, is: match.Found, at: 1},
		{name: "ids and classes renamed", want: save, have: []Fingerprint{neighbour, with(save, func(f *Fingerprint) { f.ID, f.TestID, f.Classes = "x", "", []string{"cta"} })}, is: match.Found, at: 1},
		{name: "reworded", want: save, have: []Fingerprint{neighbour, with(save, func(f *Fingerprint) { f.Name, f.ID = "Save this order now", "" })}, is: match.Found, at: 1},
		{name: "another tag of a kin role", want: save, have: []Fingerprint{with(save, func(f *Fingerprint) { f.Role, f.Tag = "link", "a" })}, is: match.Found},
		{name: "another kind of thing", want: save, have: []Fingerprint{with(save, func(f *Fingerprint) { f.Role = "textbox" })}},
		{name: "removed, and its neighbour in its place", want: save, have: []Fingerprint{with(neighbour, func(f *Fingerprint) { f.Index = 1 })}},
		{name: "contrary in its place, with its ids", want: save, have: []Fingerprint{with(save, func(f *Fingerprint) { f.Name = "Cancel order" })}},
		{name: "more than it in its place, with its ids", want: save, have: []Fingerprint{with(save, func(f *Fingerprint) { f.Name = "Save all orders" })}},
		{name: "another name, test id says what it is for", want: save, have: []Fingerprint{with(save, func(f *Fingerprint) { f.Name, f.Lang = "Sichere Bestellung", "de" })}, is: match.Found},
		{name: "another name, and an id that says nothing of it", want: Fingerprint{Role: "button", Name: "Approve", Tag: "button", ID: "first-action"},
			have: []Fingerprint{{Role: "button", Name: "Escalate", Tag: "button", ID: "first-action"}}, is: match.Ambiguous, eq: []int{0}},
		{name: "another name under a generated id", want: Fingerprint{Role: "button", Name: "Archive", Tag: "button", ID: "ext-12"},
			have: []Fingerprint{{Role: "button", Name: "Escalate", Tag: "button", ID: "ext-12"}}},
		{name: "twins", want: save, have: []Fingerprint{bare, bare}, is: match.Ambiguous, eq: []int{0, 1}},
		{name: "twins, one as it was", want: save, have: []Fingerprint{bare, save}, is: match.Found, at: 1},
		{name: "three, two of them near", want: save, have: []Fingerprint{neighbour, with(save, func(f *Fingerprint) { f.Before = "x" }), save}, is: match.Ambiguous, eq: []int{2, 1}},
		{name: "the same row elsewhere", want: row("Delete", "Budget"), have: []Fingerprint{row("Remove", "Lunch"), row("Remove", "Budget")}, is: match.Found, at: 1},
		{name: "its row is gone", want: row("Delete", "Budget"), have: []Fingerprint{row("Remove", "Lunch"), row("Remove", "Photos")}},
		{name: "its row, title and text exchanged", want: with(row("Delete", "Bob"), func(f *Fingerprint) { f.Row = []string{"Bob", "Budget"} }), have: []Fingerprint{row("Delete", "Lunch"), row("Remove", "Budget")}, is: match.Found, at: 1},
		{name: "another row with a text of its own in common", want: with(row("Delete", "Ann"), func(f *Fingerprint) { f.Row = []string{"Ann", "Owner"} }),
			have: []Fingerprint{with(row("Delete", "Dan"), func(f *Fingerprint) { f.Row = []string{"Dan", "Owner"} })}},
		{name: "track 3 is not track 2", want: row("Play", "Track 2"), have: []Fingerprint{row("Play", "Track 3")}},
		{name: "billing is not shipping", want: with(save, func(f *Fingerprint) { f.Heading = "Billing address" }), have: []Fingerprint{with(save, func(f *Fingerprint) { f.Heading = "Shipping address" })}},
		{name: "a link to the same place", want: Fingerprint{Role: "link", Name: "Forgot password?", Tag: "a", Href: "/forgot"},
			have: []Fingerprint{{Role: "link", Name: "Register", Tag: "a", Href: "/register"}, {Role: "link", Name: "Trouble?", Tag: "a", Href: "/forgot"}}, is: match.Found, at: 1},
		{name: "an empty page", want: save},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := Choose(c.want, c.have)
			if got.Verdict != c.is || got.Verdict == match.Found && got.Index != c.at || !slices.Equal(got.Equals, c.eq) {
				t.Errorf("got %+v, want %v at %d, equals %v", got, c.is, c.at, c.eq)
			}
		})
	}
}

// The order of the candidates decides nothing.
func TestChooseDoesNotDependOnOrder(t *testing.T) {
	t.Parallel()
	have := []Fingerprint{save, with(save, func(f *Fingerprint) { f.Name = "Save" }), with(save, func(f *Fingerprint) { f.ID, f.TestID = "", "" }), {Role: "button", Name: "Save order"}}
	one := Choose(save, have)
	back := slices.Clone(have)
	slices.Reverse(back)
	two := Choose(save, back)
	if one.Verdict != two.Verdict || one.Score != two.Score || one.Next != two.Next || len(one.Equals) != len(two.Equals) {
		t.Errorf("%+v and %+v", one, two)
	}
}

func TestClean(t *testing.T) {
	t.Parallel()
	f := Fingerprint{Name: "Card 4111 1111 1111 1111", Before: "Call +44 20 7946 0958", Row: []string{"Track 12"}, Classes: make([]string, 100), Heading: strings.Repeat("é", 200)}.Clean()
	if f.Name != "Card #" || strings.Contains(f.Before, "7946") || f.Row[0] != "Track 12" || len(f.Classes) != maxClasses || len([]rune(f.Heading)) != maxString {
		t.Errorf("%+v", f)
	}
}
