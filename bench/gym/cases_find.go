package gym

import "toolsvc/tool"

// notFound: the target is not in the accessibility tree, or not yet.
var notFound = []Case{
	{Name: "late", Path: "/c/late?delay=700", About: "The player's controls are rendered 700 ms after the rest of the page.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "late-never", Path: "/c/late?never=1", About: "The player's controls never appear.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton, playing)), Want: untouched(tool.TargetNotFound)},
	{Name: "slow-network", Path: "/c/slow-network?delay=1200", About: "The track list is fetched, and the answer takes 1.2 s.",
		Failure: tool.NotReady, Steps: steps(click(`{"name":"Play Harbor Lights","role":"button"}`, playing)), Want: once},
	{Name: "not-ready", Path: "/c/not-ready?delay=900", About: "A link leads to a page that looks complete but is dead until its script arrives.",
		Failure: tool.NotReady, Want: once, Steps: steps(
			click(`{"name":"Open library","role":"link"}`, `page.title.contains("Library")`),
			click(playButton, playing))},
	{Name: "canvas", Path: "/c/canvas", About: "The button is painted on a canvas.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play","role":"button","description":"the blue Play button in the player"}`, playing)), Want: once},
	{Name: "canvas-silent", Path: "/c/canvas?silent=1", About: "The button is painted on a canvas, and so is the outcome: only pixels change.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play","role":"button","description":"the blue Play button in the player"}`, `effect.changed`)), Want: once},
	{Name: "canvas-hidpi", Path: "/c/canvas", PixelRatio: 2, About: "The button is painted on a canvas, shown at two device pixels a CSS pixel.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play","role":"button"}`, playing)), Want: once},
	{Name: "webgl", Path: "/c/webgl", About: "The button is a texture in a WebGL scene.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play","role":"button","description":"the green Play button on the dark stage"}`, playing)), Want: once},
	{Name: "image-button", Path: "/c/image-button", About: "The button is a picture without a text alternative; its label is drawn in the picture.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play","description":"the blue picture that says Play"}`, playing)), Want: once},
	{Name: "aria-hidden", Path: "/c/aria-hidden", About: "The button is hidden from the accessibility tree by mistake.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "bare-div", Path: "/c/bare-div", About: "The button is a div with a click handler: no role, no focus.",
		Failure: tool.TargetNotFound, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "svg-button", Path: "/c/svg-button", About: "The target is a labelled shape in a drawing that the accessibility tree leaves out.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Centre","within":"Seating plan"}`, `page.text.contains("Block Centre chosen")`)), Want: once},
}

// wrongTarget: something of that name exists, but it is another thing.
var wrongTarget = []Case{
	{Name: "twin", Path: "/c/twin", About: "Two panels have an equal Play button, and the wrong one comes first; the panel is given.",
		Failure: tool.WrongTarget, Steps: steps(click(`{"name":"Play","role":"button","within":"Now playing"}`, playing)), Want: once},
	{Name: "twin-ambiguous", Path: "/c/twin", About: "Two panels have an equal Play button, and nothing says which is meant.",
		Failure: tool.AmbiguousTarget, Steps: steps(click(playButton, playing)), Want: untouched(tool.AmbiguousTarget)},
	{Name: "twin-near", Path: "/c/twin-near", About: "Five rows have an equal button; the text beside it is given, and is also the beginning of another row's text.",
		Failure: tool.WrongTarget, Steps: steps(click(`{"name":"Play","role":"button","near":"Harbor Lights"}`,
			playing+` && !page.text.contains("Playing Harbor Lights (live)")`)), Want: once},
	{Name: "wrong-target", Path: "/c/wrong-target", About: "A drawer off the screen, a closed menu and an invisible panel have a button of the same name, and come first.",
		Failure: tool.WrongTarget, Steps: steps(click(playButton, playing)), Want: once},
	{Name: "wrong-field", Path: "/c/wrong-field", About: "Two components have a field of the same name, and the wrong one comes first; the component is given.",
		Failure: tool.WrongTarget, Steps: steps(typeText(`{"name":"Search","role":"textbox","within":"Playlist: Road trip"}`, "ferry", `page.text.contains("1 song")`)), Want: once},
	{Name: "wrong-label", Path: "/c/wrong-label", About: "The visible text says Save, the accessible name is an untranslated key.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Save","role":"button"}`, `page.text.contains("Saved just now")`)), Want: once},
	{Name: "crossed-labels", Path: "/c/crossed-labels", About: "Two buttons carry each other's visible text as accessible name: one is called Save, the other shows it.",
		Failure: tool.AmbiguousTarget, Steps: steps(click(`{"name":"Save","role":"button"}`, `page.text.contains("Saved just now")`)), Want: untouched(tool.AmbiguousTarget)},
	{Name: "near-names", Path: "/c/near-names", About: "Two buttons differ only by an ellipsis; the one without it comes first and acts at once.",
		Failure: tool.WrongTarget, Steps: steps(click(`{"name":"Export…","role":"button"}`, `page.text.contains("Export options")`)), Want: once},
	{Name: "uppercase", Path: "/c/uppercase", About: "The style sheet capitalises the label, which is broken over two lines in the source.",
		Failure: tool.TargetNotFound, Steps: steps(click(`{"name":"Play all","role":"button"}`, `page.text.contains("Playing the whole record")`)), Want: once},
}
