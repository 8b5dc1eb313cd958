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

// Download is a file that an action brought.
var Download = Type("Download", func() {
	Description("A file that the page had the browser save.")
	Attribute("name", String, "Name that the server suggested")
	Attribute("url", String, "Address it came from")
	Attribute("bytes", Int, "Size")
	Attribute("artifact", String, "Content digest of the stored file; absent when it was not kept", func() {
		Pattern(`^sha256:[0-9a-f]{64}$`)
	})
	Attribute("problem", String, "Why it was not kept: too large, cancelled, no store")
	Required("name", "url", "bytes")
})

// AnsweredDialog is a JavaScript dialog and how it was answered.
var AnsweredDialog = Type("AnsweredDialog", func() {
	Description("A dialog of the browser (alert, confirm, prompt, beforeunload), which was answered at once.")
	Attribute("type", String, "alert, confirm, prompt or beforeunload")
	Attribute("message", String, "What it said")
	Attribute("accepted", Boolean, "Whether it was answered with OK; alerts always are, others only when browser.dialog said so")
	Required("type", "message", "accepted")
})

// FormField is one field of a form and what it shall hold.
var FormField = Type("FormField", func() {
	Attribute("target", Target)
	Attribute("value", String, "Text of a field, label or value of an option, true or false for a box; the name of the choice for a group of radio buttons", func() {
		MaxLength(10000)
	})
	Required("target", "value")
})

// FilledField says what became of one field.
var FilledField = Type("FilledField", func() {
	Attribute("field", String, "The field, in words")
	Attribute("value", String, "What it holds now, read back; a password's is not shown")
	Attribute("ok", Boolean, "Whether it holds what it shall")
	Attribute("problem", String, "Why not")
	Required("field", "ok")
})

// BrowserTab is one tab of the run.
var BrowserTab = Type("BrowserTab", func() {
	Attribute("index", Int, "Number of the tab, from 0, in the order of opening")
	Attribute("title", String, "Title of its page")
	Attribute("url", String, "Address of its page")
	Attribute("current", Boolean, "Whether calls act on it")
	Required("index", "title", "url", "current")
})

// ConsoleMessage is one message of the page's console.
var ConsoleMessage = Type("ConsoleMessage", func() {
	Attribute("level", String, "Severity", func() { Enum("error", "warning", "info", "debug") })
	Attribute("text", String, "What it says, at most 2,000 characters of it")
	Attribute("location", String, "Address and line of the script")
	Required("level", "text")
})

// NetworkRequest is one request of the page.
var NetworkRequest = Type("NetworkRequest", func() {
	Attribute("method", String, "GET, POST, …")
	Attribute("url", String, "Address")
	Attribute("status", Int, "HTTP status; 0 while there is no answer, or when there was none")
	Attribute("type", String, "document, fetch, xhr, script, image, …")
	Attribute("duration_ms", Int, "From the request to the end of the answer, in milliseconds; absent while it is under way")
	Attribute("problem", String, "Why there was no answer")
	Required("method", "url", "status", "type")
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

	Tool("back", "Go back to the previous page of the tab's history and wait until it is ready.", func() {
		history()
		Effect(Reversible)
		Postcondition("moved", `effect.changed`, "another entry of the history is open")
		TimeLimit("60s")
	})

	Tool("forward", "Go forward to the next page of the tab's history and wait until it is ready.", func() {
		history()
		Effect(Reversible)
		Postcondition("moved", `effect.changed`, "another entry of the history is open")
		TimeLimit("60s")
	})

	Tool("reload", "Load the current page anew. Refused for a page that is the answer to a form sent by POST, because that would send it again.", func() {
		history()
		Effect(Idempotent)
		TimeLimit("60s")
	})

	Tool("snapshot", "Read the page as a compact tree of roles, names, states and refs. A ref can be used as target.ref.", func() {
		Args(func() {
			Attribute("target", Target, "Only the part of the page inside this element")
			Attribute("max_chars", Int, "Cut the tree after this many characters", func() {
				Minimum(200)
				Maximum(200000)
				Default(20000)
			})
			Attribute("only_changes", Boolean, "Only what differs from the run's last snapshot of the same part: lines that came (+) and went (-), with what holds them", func() { Default(false) })
			Example(Val{})
		})
		Return(func() {
			Attribute("url", String, "Address of the page")
			Attribute("title", String, "Title of the page")
			Attribute("snapshot", String, "The tree, one element a line; or what changed in it")
			Attribute("truncated", Boolean, "Whether the tree was cut")
			Attribute("changes", Boolean, "Whether it holds the changes only; false where there was nothing to compare with")
			Required("url", "title", "snapshot", "truncated", "changes")
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

	Tool("double_click", "Double-click an element: found and checked as for a click.", func() {
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
			Example(Val{"target": Val{"name": "report.txt", "role": "listitem"}})
		})
		Return(func() {
			acted()
		})
		Effect(Reversible)
		Sources(AX, CDP, Vision)
		Postcondition("delivered", `effect.delivered`, "the double click reached the target")
		Postcondition("something_changed", `effect.changed`, "the page reacted")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which element should be double-clicked?")
		Rollback("Dismisses a dialog that the double click opened. Refused when a request other than GET, HEAD or OPTIONS was sent, or the page was left.")
	})

	Tool("hover", "Point the mouse at an element, and leave it there: menus and tips that open on hover stay open for the next call.", func() {
		Args(func() {
			Attribute("target", Target)
			Required("target")
			Example(Val{"target": Val{"name": "Products", "role": "menuitem"}})
		})
		Return(func() {
			acted()
		})
		Effect(Idempotent)
		Sources(AX, CDP, Vision)
		Postcondition("delivered", `effect.delivered`, "the pointer is over the target")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("What should be pointed at?")
	})

	Tool("drag", "Drag an element onto another one, or by a distance. Works for HTML drag and drop and for pages that follow the pointer.", func() {
		Args(func() {
			Attribute("from", Target, "What to drag")
			Attribute("to", Target, "Where to drop it: its centre")
			Attribute("by_x", Int, "Without to: how far to the right, in CSS pixels; negative is to the left", func() {
				Minimum(-20000)
				Maximum(20000)
			})
			Attribute("by_y", Int, "Without to: how far down, in CSS pixels; negative is up", func() {
				Minimum(-20000)
				Maximum(20000)
			})
			Required("from")
			AtLeastOne("to", "by_x", "by_y")
			Example(Val{"from": Val{"name": "Write the report"}, "to": Val{"name": "Done", "role": "list"}})
		})
		Return(func() {
			acted()
		})
		Effect(Reversible)
		Sources(AX, CDP)
		Postcondition("delivered", `effect.delivered`, "the element was taken and dropped")
		Postcondition("something_changed", `effect.changed`, "the page reacted")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("What should be dragged, and where to?")
		Rollback("Dismisses a dialog that the drop opened. What was moved is not moved back.")
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
		Postcondition("text_in_field", `args.submit || target.entered || !target.concealed && (args.append ? target.value.endsWith(args.text) : target.value == args.text)`, "the field holds the text")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Into which field, and which text?")
		Rollback("Restores the field's earlier value and dismisses a dialog that appeared.")
	})

	Tool("clear", "Empty a field, and read it back.", func() {
		Args(func() {
			Attribute("target", Target)
			Required("target")
			Example(Val{"target": Val{"name": "Search", "role": "searchbox"}})
		})
		Return(func() {
			acted()
			Attribute("empty", Boolean, "Whether the field is empty now")
			Required("empty")
		})
		Effect(Idempotent)
		Sources(AX, CDP)
		Postcondition("field_empty", `result.empty`, "the field is empty")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which field should be emptied?")
		Rollback("Restores the field's earlier value and dismisses a dialog that appeared. Refused for a password, which was never read.")
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
		Postcondition("option_selected", `target.entered || args.values.all(v, v in target.selected || v in target.selected_labels)`, "the options are selected")
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

	Tool("uncheck", "Untick a checkbox or switch; one that is not ticked is left alone.", func() {
		Args(func() {
			Attribute("target", Target)
			Required("target")
			Example(Val{"target": Val{"name": "Send me the newsletter", "role": "checkbox"}})
		})
		Return(func() {
			acted()
			Attribute("checked", Boolean, "Whether it is ticked now")
			Required("checked")
		})
		Effect(Idempotent)
		Sources(AX, CDP, Vision)
		Postcondition("unticked", `target.exists && !target.checked`, "the box is not ticked")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("30s")
		Ask("Which box should be unticked?")
		Rollback("Ticks the box that the attempt unticked.")
	})

	Tool("upload", "Choose files of the workspace for a file field, a button that opens a file chooser, or an area that takes dropped files.", func() {
		Args(func() {
			Attribute("target", Target)
			Attribute("paths", ArrayOf(String, func() {
				MinLength(1)
				MaxLength(4096)
			}), "Paths of the files, relative to the workspace", func() {
				MinLength(1)
				MaxLength(20)
			})
			Required("target", "paths")
			Example(Val{"target": Val{"name": "Profile picture"}, "paths": []string{"pictures/ada.png"}})
		})
		Return(func() {
			acted()
			Attribute("files", ArrayOf(String), "Names of the files that the page was given")
			Required("files")
		})
		Effect(Reversible)
		Sources(AX, CDP)
		Postcondition("files_taken", `size(result.files) == size(args.paths)`, "the page was given the files")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("60s")
		Ask("Which files should be uploaded, and where?")
		Rollback("Takes the files out of the field again. Refused when a request other than GET, HEAD or OPTIONS was sent.")
	})

	Tool("scroll", "Bring an element into view; or scroll the page, or the part of it that holds the target, in a direction; or scroll on until something appears (long and virtualised lists).", func() {
		Args(func() {
			Attribute("target", Target, "Without direction and until: what to bring into view. With them: what to scroll, or something in it; the page without one")
			Attribute("direction", String, "Where to", func() { Enum("up", "down", "left", "right") })
			Attribute("amount", Int, "How far, in CSS pixels; most of the visible part without it", func() {
				Minimum(1)
				Maximum(100000)
			})
			Attribute("until", Target, "Scroll on until this can be seen, first in the direction, then from the other end")
			AtLeastOne("target", "direction", "until")
			Example(Val{"until": Val{"name": "Zebra finch", "role": "listitem"}, "target": Val{"name": "Birds", "role": "list"}})
		})
		Return(func() {
			acted()
			Attribute("scrolled_x", Int, "How far to the right it was scrolled, in CSS pixels")
			Attribute("scrolled_y", Int, "How far down it was scrolled, in CSS pixels")
			Attribute("at_end", Boolean, "Whether it cannot be scrolled further that way")
			Attribute("in_view", Boolean, "Whether the target, or what was scrolled for, can be seen; true where nothing was")
			Required("scrolled_x", "scrolled_y", "at_end", "in_view")
		})
		Effect(Idempotent)
		EffectWhen(Reversible, `has(args.direction) && !has(args.until)`)
		Sources(AX, CDP)
		Postcondition("in_view", `result.in_view`, "what was scrolled for is in view")
		Postcondition("scrolled", `has(args.until) || !has(args.direction) || result.scrolled_x != 0 || result.scrolled_y != 0 || result.at_end`, "it was scrolled, or was at its end")
		TimeLimit("60s")
		Ask("What should be scrolled, or scrolled to?")
		Rollback("Scrolls back to where it was.")
	})

	Tool("fill_form", "Fill in several fields at once: text, options, boxes, radio buttons, sliders, dates. Each is read back.", func() {
		Args(func() {
			Attribute("fields", ArrayOf(FormField), "The fields, in the order of filling", func() {
				MinLength(1)
				MaxLength(50)
			})
			Required("fields")
			Example(Val{"fields": []Val{
				{"target": Val{"name": "E-mail", "role": "textbox"}, "value": "ada@example.com"},
				{"target": Val{"name": "Country", "role": "combobox"}, "value": "Japan"},
				{"target": Val{"name": "I accept the terms", "role": "checkbox"}, "value": "true"},
			}})
		})
		Return(func() {
			acted()
			Attribute("fields", ArrayOf(FilledField), "What became of each field, in the order of the call")
			Required("fields")
		})
		Effect(Idempotent)
		Sources(AX, CDP)
		Postcondition("fields_filled", `size(result.fields) == size(args.fields) && result.fields.all(f, f.ok)`, "every field holds what it shall")
		Postcondition("no_new_error", `page.errors.all(e, e in before.page.errors)`, "no error appeared")
		TimeLimit("120s")
		Ask("Which fields should be filled in, and with what?")
		Rollback("Restores the earlier values of the fields, the last one first. Refused when a request other than GET, HEAD or OPTIONS was sent.")
	})

	Tool("dialog", "Say how the dialogs (confirm, prompt, beforeunload) of the next action are to be answered; without it they are dismissed. Also lists the latest dialogs.", func() {
		Args(func() {
			Attribute("accept", Boolean, "Answer with OK; false dismisses")
			Attribute("prompt_text", String, "Text to put into a prompt", func() {
				MaxLength(10000)
			})
			Attribute("message_contains", String, "Only dialogs that say this; all without it", func() {
				MinLength(1)
				MaxLength(2000)
			})
			Required("accept")
			Example(Val{"accept": true, "message_contains": "Delete the playlist"})
		})
		Return(func() {
			Attribute("armed", Boolean, "Whether the answer is ready for the next action")
			Attribute("latest", ArrayOf(AnsweredDialog), "The latest dialogs of the tab, at most 20, and how they were answered")
			Required("armed", "latest")
		})
		Effect(Idempotent)
		Sources(System)
		Postcondition("answer_ready", `result.armed`, "the answer is ready")
		TimeLimit("10s")
		Ask("Should the dialog be accepted?")
	})

	Tool("tabs", "List the tabs of the run, open one, switch to one, or close one. What a page opens in a new tab or window is listed here.", func() {
		Args(func() {
			Attribute("action", String, "What to do", func() {
				Enum("list", "new", "select", "close")
				Default("list")
			})
			Attribute("index", Int, "Which tab, by its number in the list, from 0; for select and close. close without it closes the current one", func() {
				Minimum(0)
				Maximum(1000)
			})
			Attribute("url", String, "Absolute http or https address for a new tab", func() {
				Format(FormatURI)
				MaxLength(4096)
			})
			Example(Val{"action": "select", "index": 1})
		})
		Return(func() {
			Attribute("tabs", ArrayOf(BrowserTab), "The tabs afterwards, in the order of opening")
			Required("tabs")
		})
		Effect(Idempotent)
		EffectWhen(Reversible, `args.action == 'new' || args.action == 'close'`)
		Sources(System)
		Postcondition("one_is_current", `result.tabs.exists_one(t, t.current)`, "one tab is the current one")
		Postcondition("selected", `args.action != 'select' || result.tabs.exists(t, t.current && t.index == args.index)`, "the chosen tab is the current one")
		TimeLimit("60s")
		Ask("Which tab?")
	})

	Tool("console", "Read the messages of the page's console, the latest last.", func() {
		Args(func() {
			Attribute("level", String, "The least severe level that is wanted", func() {
				Enum("error", "warning", "info", "debug")
				Default("info")
			})
			Attribute("limit", Int, "At most so many, the latest", func() {
				Minimum(1)
				Maximum(500)
				Default(100)
			})
			Example(Val{"level": "error"})
		})
		Return(func() {
			Attribute("messages", ArrayOf(ConsoleMessage), "The messages since the page was opened in this tab")
			Attribute("truncated", Boolean, "Whether there were more")
			Required("messages", "truncated")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("console_read", `has(result.messages)`, "the console was read")
		TimeLimit("10s")
	})

	Tool("network", "List the requests of the page, with their answers' status, the latest last.", func() {
		Args(func() {
			Attribute("url_contains", String, "Only addresses that hold this", func() {
				MinLength(1)
				MaxLength(2000)
			})
			Attribute("method", String, "Only this method", func() {
				Pattern(`^[A-Z]{1,20}$`)
			})
			Attribute("failed", Boolean, "Only those without an answer, or with a status of 400 or more", func() { Default(false) })
			Attribute("limit", Int, "At most so many, the latest", func() {
				Minimum(1)
				Maximum(500)
				Default(100)
			})
			Example(Val{"url_contains": "/api/", "method": "POST"})
		})
		Return(func() {
			Attribute("requests", ArrayOf(NetworkRequest), "The requests")
			Attribute("truncated", Boolean, "Whether there were more")
			Required("requests", "truncated")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("requests_read", `has(result.requests)`, "the requests were read")
		TimeLimit("10s")
	})

	Tool("evaluate", "Run a JavaScript function in the page and read what it returns. What it does to the page is observed like any action.", func() {
		Args(func() {
			Attribute("function", String, "() => { … } or (element) => { … } with a target; may be async", func() {
				MinLength(1)
				MaxLength(100000)
			})
			Attribute("target", Target, "Element that is passed to the function")
			Attribute("timeout_ms", Int, "How long it may take, in milliseconds", func() {
				Minimum(10)
				Maximum(60000)
				Default(10000)
			})
			Required("function")
			Example(Val{"function": "() => document.links.length"})
		})
		Return(func() {
			Attribute("value", String, "What it returned, as JSON text, at most 100,000 characters of it; undefined is null")
			Attribute("truncated", Boolean, "Whether it was cut")
			Attribute("changed", Boolean, "Whether anything changed")
			Required("value", "truncated", "changed")
		})
		Effect(Reversible)
		Sources(AX, CDP)
		Postcondition("value_returned", `has(result.value)`, "the function returned")
		TimeLimit("90s")
		Ask("Which function should be run?")
		Rollback("Dismisses a dialog that the function opened. What it changed otherwise is not taken back.")
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
	Attribute("opened_tabs", ArrayOf(String), "Addresses of tabs and windows that it opened; browser.tabs switches to them")
	Attribute("downloads", ArrayOf(Download), "Files that it had the browser save")
	Attribute("dialogs", ArrayOf(AnsweredDialog), "Dialogs that came up, and how they were answered")
	Required("url", "title", "acted_on", "changed")
}

// history is what back, forward and reload have in common.
func history() {
	Args(func() {
		Example(Val{})
	})
	Return(func() {
		Attribute("url", String, "Address afterwards")
		Attribute("title", String, "Title afterwards")
		Attribute("status", Int, "HTTP status of the document; 0 when it came from a cache or has none")
		Attribute("dialogs", ArrayOf(AnsweredDialog), "Dialogs that came up, and how they were answered")
		Required("url", "title", "status")
	})
	Sources(System)
	Postcondition("page_ready", `page.ready`, "the page finished loading")
	Postcondition("no_http_error", `result.status < 400`, "the server answered without an error")
}
