package ocr

import (
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"toolsvc/executors/browser/vision"
)

// labels of real user interfaces, with those that one wrong letter, word or reading turns into another.
var labels = strings.Split(`Save|Save as|Save all|Cancel|Play|Pause|Like|Unlike|Delete|Delete all|Sign in|Sign up|Log in|Log out|Add to cart|Next|Previous|Undo|Redo|Open file|Settings|Mute|Unmute|Download report|Submit order|OK|Retry|Track 1|Track 2|Track 12|Share|Checkout now|Edit profile|Subscribe|Unsubscribe|Zoom in|Zoom out|Help|Import|Export|Enable|Disable|Clear|Clean|Block|Black|Send|Sent|Follow|Following|Reset|Close|Step 1 of 3|Buy 2 items`, "|")

// halves deals the labels to two sets, so that many of those that resemble one another are apart.
func halves() (here, absent []string) {
	for i, l := range labels {
		if i%2 == 0 {
			here = append(here, l)
		} else {
			absent = append(absent, l)
		}
	}
	return here, absent
}

type tally struct{ asked, hit, exact, absent, wrong int }

func (a *tally) add(b tally) {
	a.asked, a.hit, a.exact, a.absent, a.wrong = a.asked+b.asked, a.hit+b.hit, a.exact+b.exact, a.absent+b.absent, a.wrong+b.wrong
}

// ask locates all labels on a page that shows some of them.
func ask(t *testing.T, g *Grounder, shot vision.Screenshot, truth []drawn, absent []string) (score tally) {
	t.Helper()
	at := map[string]vision.Rect{}
	for _, d := range truth {
		at[d.Text] = d.box()
	}
	for _, text := range slices.Concat(absent, keys(truth)) {
		found, err := g.Locate(t.Context(), shot, vision.Query{Name: text})
		if err != nil {
			t.Fatalf("locate %q: %v", text, err)
		}
		box, shown := at[text]
		if shown {
			score.asked++
		} else {
			score.absent++
		}
		hit := len(found) > 0
		for _, c := range found {
			x, y := c.Box.Center()
			if !shown || !box.Contains(x, y) {
				score.wrong++
				hit = false
				t.Errorf("%q: wrong place %+v", text, c)
			}
		}
		switch {
		case hit:
			score.hit++
			if found[0].Exact {
				score.exact++
			}
		case shown:
			t.Logf("%q: not found", text)
		}
	}
	return score
}

func keys(truth []drawn) (texts []string) {
	for _, d := range truth {
		texts = append(texts, d.Text)
	}
	return texts
}

var fonts = []string{"SIZE sans-serif", "bold SIZE sans-serif", "SIZE serif", "500 SIZE 'Noto Sans CJK JP'", "SIZE monospace", "bold SIZE 'DejaVu Sans Condensed'"}

// everything runs all pictures of TestRecall; make test-ocr sets it.
var everything = flag.Bool("everything", false, "locate labels in every theme, size and scale")

// sampled picks two of a theme's pictures for every day, one at each scale: over the themes each size comes up twice at each scale, and each
// label is once shown and once absent in every theme.
func sampled(theme, size, scale int) bool {
	i, k := theme/2, theme%2
	return size == i && scale == k || size == (i+3)%6 && scale == 1-k
}

func TestRecall(t *testing.T) {
	g := sharedGrounder(t)
	plain := strings.Fields("light dark coloured pastel outline outlineDark faint")
	hard := strings.Fields("gradient photo noise rough wallpaper")
	here, absent := halves()
	totals := map[bool]*tally{false: {}, true: {}}
	for j, theme := range slices.Concat(plain, hard) {
		for i, size := range []int{12, 13, 14, 16, 20, 24} {
			for k, scale := range []float64{1, 2} {
				if !*everything && !sampled(j, i, k) {
					continue
				}
				t.Run(fmt.Sprintf("%s/%dpx/%vx", theme, size, scale), func(t *testing.T) {
					shown, others := here, absent
					if i%2 == 1 {
						shown, others = absent, here
					}
					shot, truth := canvas{Theme: theme, Size: size, Font: fonts[i], Labels: shown, Seed: size * 7}.shoot(t, scale)
					if dir := os.Getenv("OCR_KEEP"); dir != "" {
						os.WriteFile(fmt.Sprintf("%s/%s-%d-%v.png", dir, theme, size, scale), shot.PNG, 0o644)
					}
					score := ask(t, g, shot, truth, others)
					totals[slices.Contains(hard, theme)].add(score)
					if score.hit < score.asked || score.exact < score.hit {
						t.Logf("%d of %d found, %d letter for letter", score.hit, score.asked, score.exact)
					}
				})
			}
		}
	}
	t.Logf("plain %+v, hard %+v", *totals[false], *totals[true])
}
