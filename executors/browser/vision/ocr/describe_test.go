package ocr

import "testing"

func TestDescribe(t *testing.T) {
	t.Parallel()
	for description, want := range map[string]wording{
		"the round green play button at the bottom":             {name: "play"},
		"the Submit order button":                               {name: "Submit order"},
		"Press the next button":                                 {name: "next"},
		`the button that says "Save as"`:                        {name: "Save as"},
		"the “Save” button in the 'Billing' panel":              {name: "Save", within: "Billing"},
		`"Edit" next to "Alice Brown"`:                          {name: "Edit", near: "Alice Brown"},
		`the Delete button beside the text "Draft 2"`:           {name: "Delete", near: "Draft 2"},
		`the link «Fertig» under the heading "Konto"`:           {name: "Fertig", within: "Konto"},
		"「保存」ボタン":                                               {name: "保存"},
		`"Save" or "Cancel"`:                                    {}, // two things
		`next to "Alice"`:                                       {}, // no target
		"the big red round button":                              {}, // nothing to read
		"the picture of a cat":                                  {},
		"don't click the user's avatar":                         {},
		"a button":                                              {},
		"the extremely nice carefully described control button": {}, // no label
		"": {},
	} {
		if got := describe(description); got != want {
			t.Errorf("describe(%q) = %+v, want %+v", description, got, want)
		}
	}
}
