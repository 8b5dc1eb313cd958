package gym

import "toolsvc/tool"

// player is the first of the three published scenarios, a music player, with one fault at a time: the step and its
// expectations are always the same.
var player = []Case{
	playerCase("none", "", "Nothing is wrong."),
	playerCase("late", tool.TargetNotFound, "The controls are rendered 700 ms later."),
	playerCase("canvas", tool.TargetNotFound, "The button is painted on a canvas."),
	playerCase("aria-hidden", tool.TargetNotFound, "The button is hidden from the accessibility tree."),
	playerCase("div", tool.TargetNotFound, "The button is a div."),
	playerCase("image", tool.TargetNotFound, "The button is a picture without a text alternative."),
	playerCase("slow", tool.NotReady, "The controls come with an answer that takes 1.5 s."),
	playerCase("twin", tool.WrongTarget, "Another panel has buttons of the same name, and comes first."),
	playerCase("swallowed", tool.NoEffect, "The first click is lost."),
	playerCase("hydrating", tool.NoEffect, "The handler is attached 700 ms after loading."),
	playerCase("debounced", tool.NoEffect, "The handler acts 300 ms later, and a second click undoes the first."),
	playerCase("error", tool.VerificationFailed, "The first click opens an error dialog, the next one works."),
}

func playerCase(fault string, failure tool.Failure, about string) Case {
	return Case{
		Name: "player-" + fault, Path: "/c/player?fault=" + fault, About: about, Failure: failure, Want: once,
		Steps: steps(click(`{"name":"Play","role":"button","within":"Now playing"}`, playing, `page.media.exists(m, !m.paused)`)),
	}
}

// PlayerCases lists the variants of the player scenario, one for each fault, the first without any. A benchmark that injects failures at
// given rates draws one of the variants of a Failure at the rate of that Failure.
func PlayerCases() []Case { return append([]Case(nil), player...) }
