package design

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

// Target is what to act on. All fields but nth narrow the search; description is read by vision only.
var Target = Type("Target", func() {
	Description("What to act on. Give the name people see; add role, within or near when several things share it.")
	Attribute("name", String, "Accessible name or visible text", func() {
		MinLength(1)
		MaxLength(500)
		Example("Play")
	})
	Attribute("role", String, "ARIA role: button, link, textbox, checkbox, combobox, …", func() {
		Pattern(`^[a-z]+$`)
		MaxLength(40)
		Example("button")
	})
	Attribute("within", String, "Name of the panel, landmark, dialog, frame or section that holds it", func() {
		MinLength(1)
		MaxLength(500)
		Example("Now playing")
	})
	Attribute("near", String, "Text beside it", func() {
		MinLength(1)
		MaxLength(500)
		Example("Track 3")
	})
	Attribute("selector", String, "CSS selector", func() {
		MinLength(1)
		MaxLength(2000)
		Example("#play")
	})
	Attribute("ref", String, "Reference from the last snapshot", func() {
		Pattern(`^[a-z]?[0-9]*e[0-9]+$`)
		MaxLength(40)
		Example("e12")
	})
	Attribute("nth", Int, "Which of several equal matches, counted from 1 in document order", func() {
		Minimum(1)
		Maximum(10000)
	})
	Attribute("description", String, "What it looks like and where it is, for vision", func() {
		MinLength(1)
		MaxLength(1000)
		Example("the round green play button at the bottom")
	})
	AtLeastOne("name", "selector", "ref", "description")
})

var _ = Toolset("browser", func() {
	Description("Acts on web pages in a real Chromium. Every action is grounded in the accessibility tree, the DOM or the picture, and verified on fresh evidence.")

	Tool("navigate", "Open an address in the current tab and wait until the page is ready.", func() {
		Args(func() {
			Attribute("url", String, "Absolute http or https address", func() {
				Format(FormatURI)
				MaxLength(4096)
			})
			Attribute("timeout_ms", Int, "How long to wait until the page is ready, in milliseconds", func() {
				Minimum(100)
				Maximum(120000)
				Default(30000)
			})
			Required("url")
			Example(Val{"url": "http://127.0.0.1:8080/shop"})
		})
		Return(func() {
			Attribute("url", String, "Address after redirects")
			Attribute("title", String, "Title of the page")
			Attribute("status", Int, "HTTP status of the document; 0 when it came from a cache or has none")
			Required("url", "title", "status")
		})
		Effect(Idempotent)
		Sources(System)
		Postcondition("page_ready", `page.ready`, "the page finished loading")
		Postcondition("no_http_error", `result.status < 400`, "the server answered without an error")
		TimeLimit("150s")
		Ask("Which address should be opened?")
	})

	Tool("snapshot", "Read the page as a compact tree of roles, names, states and refs. A ref can be used as target.ref.", func() {
		Args(func() {
			Attribute("target", Target, "Only the part of the page inside this element")
			Attribute("max_chars", Int, "Cut the tree after this many characters", func() {
				Minimum(200)
				Maximum(200000)
				Default(20000)
			})
			Example(Val{})
		})
		Return(func() {
			Attribute("url", String, "Address of the page")
			Attribute("title", String, "Title of the page")
			Attribute("snapshot", String, "The tree, one element a line")
			Attribute("truncated", Boolean, "Whether the tree was cut")
			Required("url", "title", "snapshot", "truncated")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("tree_read", `size(result.snapshot) > 0`, "the page has a tree")
		TimeLimit("20s")
	})

	Tool("read", "Read the visible text of the page or of one element.", func() {
		Args(func() {
			Attribute("target", Target, "The element to read; the whole page without one")
			Attribute("max_chars", Int, "Cut the text after this many characters", func() {
				Minimum(1)
				Maximum(200000)
				Default(20000)
			})
			Example(Val{"target": Val{"name": "Status", "role": "status"}})
		})
		Return(func() {
			Attribute("text", String, "The visible text")
			Attribute("value", String, "The value, of a field")
			Attribute("truncated", Boolean, "Whether the text was cut")
			Required("text", "truncated")
		})
		Effect(ReadOnly)
		Sources(AX, CDP, Vision)
		Postcondition("text_read", `has(result.text)`, "the text was read")
		TimeLimit("20s")
		Ask("What should be read?")
	})

	Tool("click", "Click an element: found by name, role and place, checked to be visible, still, enabled and uncovered, and verified afterwards.", func() {
		Args(func() {
			Attribute("target", Target)
			Attribute("button", String, "Mouse button", func() {
				Enum("left", "right", "middle")
				Default("left")
			})
			Attribute("modifiers", ArrayOf(String, func() { Enum("Alt", "Control", "Meta", "Shift") }), "Keys held down meanwhile", func() {
				MaxLength(4)
			})
			Required("target")
			Example(Val{"target": Val{"name": "Play", "role": "button", "within": "Now playing"}})
		})
		Return(func() {
			acted()
		})
		Effect(Reversible)
		Sources(AX, CDP, Vision)
		Postcondition("delivered", `effect.delivered`, "the click reached the target")
		Postcondition("something_changed", `effect.changed`, "the page reacted")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which element should be clicked?")
		Rollback("Dismisses a dialog that the click opened. Refused when a request other than GET, HEAD or OPTIONS was sent, or the page was left.")
	})

	Tool("type", "Put text into a field, replacing what is there, and read it back.", func() {
		Args(func() {
			Attribute("target", Target)
			Attribute("text", String, "The text", func() {
				MaxLength(100000)
			})
			Attribute("append", Boolean, "Keep what is there and type after it", func() { Default(false) })
			Attribute("submit", Boolean, "Press Enter afterwards", func() { Default(false) })
			Required("target", "text")
			Example(Val{"target": Val{"name": "E-mail", "role": "textbox"}, "text": "ada@example.com"})
		})
		Return(func() {
			acted()
			Attribute("value", String, "The field's value, read back; a password's is not shown")
		})
		Effect(Idempotent)
		EffectWhen(Reversible, `args.submit || args.append`)
		Sources(AX, CDP, Vision)
		Postcondition("text_in_field", `args.submit || (args.append ? target.value.endsWith(args.text) : target.value == args.text)`, "the field shows the text")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Into which field, and which text?")
		Rollback("Restores the field's earlier value and dismisses a dialog that appeared.")
	})

	Tool("press", "Press a key or a combination, in an element or in whatever has the focus.", func() {
		Args(func() {
			Attribute("key", String, "Key or combination: Enter, Escape, a, Control+a, Shift+Tab", func() {
				Pattern(`^((Alt|Control|Meta|Shift)\+)*([A-Za-z0-9]+|[!-/:-@\[-` + "`" + `{-~])$`)
				MaxLength(60)
			})
			Attribute("target", Target, "Focused first when given")
			Required("key")
			Example(Val{"key": "Enter"})
		})
		Return(func() {
			acted()
		})
		Effect(Reversible)
		Sources(AX, CDP, Vision)
		Postcondition("delivered", `effect.delivered`, "the key reached the page")
		Postcondition("something_changed", `effect.changed`, "the page reacted")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which key should be pressed?")
		Rollback("Dismisses a dialog that the key opened. What it did in a field is not taken back.")
	})

	Tool("select", "Choose options of a list by value or label.", func() {
		Args(func() {
			Attribute("target", Target)
			Attribute("values", ArrayOf(String, func() { MaxLength(1000) }), "Values or labels of the options; all others are deselected", func() {
				MinLength(1)
				MaxLength(100)
			})
			Required("target", "values")
			Example(Val{"target": Val{"name": "Country", "role": "combobox"}, "values": []string{"Japan"}})
		})
		Return(func() {
			acted()
			Attribute("selected", ArrayOf(String), "Labels of the selected options")
		})
		Effect(Idempotent)
		Sources(AX, CDP)
		Postcondition("option_selected", `args.values.all(v, v in target.selected || v in target.selected_labels)`, "the options are selected")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which option of which list?")
		Rollback("Restores the earlier selection.")
	})

	Tool("check", "Tick a checkbox, radio button or switch; one that is ticked already is left alone.", func() {
		Args(func() {
			Attribute("target", Target)
			Required("target")
			Example(Val{"target": Val{"name": "I accept the terms", "role": "checkbox"}})
		})
		Return(func() {
			acted()
			Attribute("checked", Boolean, "Whether it is ticked now")
			Required("checked")
		})
		Effect(Idempotent)
		Sources(AX, CDP, Vision)
		Postcondition("ticked", `target.checked == true`, "the box is ticked")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which box should be ticked?")
		Rollback("Unticks the box that the attempt ticked.")
	})

	Tool("wait_for", "Wait until a text or an element appears or is gone.", func() {
		Args(func() {
			Attribute("text", String, "Visible text to wait for", func() {
				MinLength(1)
				MaxLength(2000)
			})
			Attribute("text_gone", String, "Visible text to wait for until it is gone", func() {
				MinLength(1)
				MaxLength(2000)
			})
			Attribute("target", Target, "Element to wait for")
			Attribute("state", String, "What to wait for, of the target", func() {
				Enum("visible", "hidden", "enabled")
				Default("visible")
			})
			Attribute("timeout_ms", Int, "How long to wait, in milliseconds", func() {
				Minimum(0)
				Maximum(120000)
				Default(10000)
			})
			AtLeastOne("text", "text_gone", "target")
			Example(Val{"text": "Order placed"})
		})
		Return(func() {
			Attribute("satisfied", Boolean, "Whether it came true in time")
			Attribute("waited_ms", Int, "How long it took, in milliseconds")
			Required("satisfied", "waited_ms")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("came_true", `result.satisfied`, "what was waited for came true")
		TimeLimit("150s")
		Ask("What should be waited for?")
	})

	Tool("screenshot", "Take a picture of the page or of one element.", func() {
		Args(func() {
			Attribute("target", Target, "Only this element")
			Attribute("full_page", Boolean, "The whole page instead of the visible part", func() { Default(false) })
			Example(Val{"full_page": false})
		})
		Return(func() {
			Attribute("artifact", String, "Content digest of the stored PNG", func() {
				Pattern(`^sha256:[0-9a-f]{64}$`)
			})
			Attribute("width", Int, "Width in pixels")
			Attribute("height", Int, "Height in pixels")
			Required("artifact", "width", "height")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("picture_taken", `result.width > 0 && result.height > 0`, "there is a picture")
		TimeLimit("20s")
	})
})

// acted is what every action on an element returns.
func acted() {
	Attribute("url", String, "Address afterwards")
	Attribute("title", String, "Title afterwards")
	Attribute("acted_on", String, "The element, in words: button \"Play\" in \"Now playing\"")
	Attribute("changed", Boolean, "Whether anything changed")
	Required("url", "title", "acted_on", "changed")
}
