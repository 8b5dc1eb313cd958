package gym

import "toolsvc/tool"

// The builders below keep the catalogue readable; targets are JSON, as a caller writes them.

func click(target string, expect ...string) Step {
	return Step{Tool: "browser.click", Args: `{"target":` + target + `}`, Expect: expect}
}

func check(target string, expect ...string) Step {
	return Step{Tool: "browser.check", Args: `{"target":` + target + `}`, Expect: expect}
}

func typeText(target, text string, expect ...string) Step {
	return Step{Tool: "browser.type", Args: `{"target":` + target + `,"text":"` + text + `"}`, Expect: expect}
}

func choose(target, value string, expect ...string) Step {
	return Step{Tool: "browser.select", Args: `{"target":` + target + `,"values":["` + value + `"]}`, Expect: expect}
}

func steps(s ...Step) []Step { return s }

func exactly(n int) Bounds { return Bounds{n, n} }

// once: the step succeeds, and the wanted effect happened exactly once, alone.
var once = Want{Success: true, Goal: exactly(1), Effects: exactly(1)}

// untouched: the step ends as f, and nothing whatever happened.
func untouched(f tool.Failure) Want { return Want{Failure: f} }

const (
	playButton = `{"name":"Play","role":"button"}`
	playing    = `page.text.contains("Playing Harbor Lights")`
)
