package main

import (
	_ "embed"
	"fmt"
	"strings"
)

//go:embed pages.txt
var pagesText string

//go:embed pairs.txt
var pairsText string

// Truth is what became of the element that is asked for.
type truth string

const (
	// there: it is there, marked in the page.
	there truth = "right"
	// gone: it was removed; anything that is clicked is wrong.
	gone truth = "gone"
	// open: several are equally likely to be it; anything that is clicked is wrong.
	open truth = "ask"
)

// pair is a page before and after a redesign, and an element of it that is asked for by its name and by its selector, both as they were
// before.
type pair struct {
	name, before, after string
	targets             map[string]map[string]any
	truth               truth
	selector            string
}

// ways are the ways to ask.
var ways = []string{"name", "selector"}

// parse reads the embedded pages.
func parse() ([]pair, error) {
	pages := map[string]string{}
	err := sections(pagesText, func(head []string, body string) error {
		pages[head[0]] = body
		return nil
	})
	if err != nil {
		return nil, err
	}
	var out []pair
	err = sections(pairsText, func(head []string, body string) error {
		if len(head) != 5 {
			return fmt.Errorf("%q: five parts are wanted", head)
		}
		p := pair{name: head[0], before: pages[head[1]], after: strings.ReplaceAll(body, " @", " data-truth=right"), selector: head[3], truth: truth(head[4])}
		if p.before == "" {
			return fmt.Errorf("%s: there is no page %s", p.name, head[1])
		}
		if marked := strings.Count(p.after, "data-truth=right"); (p.truth == there) != (marked == 1) || marked > 1 {
			return fmt.Errorf("%s: %d elements are marked", p.name, marked)
		}
		described := map[string]any{}
		for i, s := range strings.Split(head[2], ",") {
			k, v, ok := strings.Cut(s, "=")
			if !ok {
				k, v = []string{"name", "role"}[i], s
			}
			described[k] = v
		}
		p.targets = map[string]map[string]any{"name": described, "selector": {"selector": p.selector}}
		out = append(out, p)
		return nil
	})
	return out, err
}

// sections calls f with every part of a text that begins with a line "== a | b | c".
func sections(text string, f func(head []string, body string) error) error {
	for _, s := range strings.Split("\n"+text, "\n== ")[1:] {
		line, body, _ := strings.Cut(s, "\n")
		head := strings.Split(line, " | ")
		if err := f(head, body); err != nil {
			return err
		}
	}
	return nil
}
