package main

import (
	"strings"
	"testing"

	"toolsvc/tool"
)

func TestPairs(t *testing.T) {
	t.Parallel()
	pairs, err := parse()
	if err != nil {
		t.Fatal(err)
	}
	seen, kinds := map[string]bool{}, map[truth]int{}
	for _, p := range pairs {
		if seen[p.name] {
			t.Errorf("%s is there twice", p.name)
		}
		seen[p.name] = true
		kinds[p.truth]++
		for _, way := range ways {
			if len(p.targets[way]) == 0 {
				t.Errorf("%s cannot be asked for by %s", p.name, way)
			}
		}
		if strings.Contains(p.after, "@>") {
			t.Errorf("%s: a mark was not understood", p.name)
		}
	}
	if len(pairs) < 60 || kinds[there] < 53 || kinds[gone] < 10 || kinds[open] == 0 || len(kinds) != 3 {
		t.Errorf("%d pairs: %v", len(pairs), kinds)
	}
}

func TestJudge(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		truth   truth
		hits    []string
		failure tool.Failure
		want    ending
	}{
		{there, []string{"right"}, "", endRight},
		{there, []string{"wrong"}, "", endWrong},
		{there, []string{"right", "right"}, "", endWrong},
		{there, []string{"right"}, tool.VerificationFailed, endOther},
		{there, nil, "", endOther},
		{there, nil, tool.AmbiguousTarget, endAmbiguous},
		{there, nil, tool.TargetNotFound, endNotFound},
		{gone, []string{"wrong"}, "", endWrong},
		{gone, nil, tool.TargetNotFound, endNotFound},
		{open, nil, tool.AmbiguousTarget, endAmbiguous},
		{open, nil, tool.Timeout, endOther},
	} {
		if got := judge(c.truth, c.hits, c.failure); got != c.want {
			t.Errorf("%s, %v, %s: %s, want %s", c.truth, c.hits, c.failure, got, c.want)
		}
	}
}
