package page

import "testing"

func TestParseKey(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		in        string
		key, text string
		modifiers Modifiers
	}{
		{"Enter", "Enter", "\r", 0},
		{"Escape", "Escape", "", 0},
		{"a", "a", "a", 0},
		{"A", "A", "A", 8}, // a capital letter is typed with Shift
		{"+", "+", "+", 8},
		{"Control++", "+", "", 10},
		{"Control+a", "a", "", 2},
		{"Control+Shift+Tab", "Tab", "", 10},
		{"Alt+ArrowLeft", "ArrowLeft", "", 1},
		{"Space", " ", " ", 0},
		{"F5", "F5", "", 0},
	} {
		k, err := ParseKey(c.in)
		if err != nil {
			t.Errorf("%s: %v", c.in, err)
			continue
		}
		text := ""
		for _, ev := range k.events {
			text += ev.Text
		}
		if k.events[0].Key != c.key || text != c.text || Modifiers(k.events[0].Modifiers) != c.modifiers {
			t.Errorf("%s: key %q text %q modifiers %d", c.in, k.events[0].Key, text, k.events[0].Modifiers)
		}
	}
	for _, bad := range []string{"NoSuchKey", "Control+NoSuchKey", ""} {
		if _, err := ParseKey(bad); err == nil {
			t.Errorf("%q is taken for a key", bad)
		}
	}
}

func TestRequestsOfThePagesOwn(t *testing.T) {
	t.Parallel()
	// Positions in the log: what comes before the mark, what after it.
	for _, c := range []struct {
		name          string
		before, after []string
		old           bool
		want          int
		sure          bool
	}{
		{"a reaction", nil, []string{"POST /orders"}, false, 1, true},
		{"reading, on a page that has shown its habits", nil, []string{"GET /orders"}, true, 1, true},
		{"reading, on a young page", nil, []string{"GET /orders"}, false, 1, false},
		{"a poll", []string{"GET /poll", "GET /poll"}, []string{"GET /poll"}, true, 0, false},
		{"a poll that has just begun", nil, []string{"GET /poll", "GET /poll", "GET /poll"}, false, 0, false},
		{"seen once before", []string{"GET /list"}, []string{"GET /list"}, true, 1, false},
		{"a reaction amid a poll", []string{"GET /poll", "GET /poll"}, []string{"GET /poll", "POST /orders"}, true, 1, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got, sure := logged(c.before, c.after, c.old)
			if got != c.want || sure != c.sure {
				t.Errorf("%d requests, sure %t; want %d, %t", got, sure, c.want, c.sure)
			}
		})
	}
}
