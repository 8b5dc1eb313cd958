package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolsvc/gen/toolsets"
	"toolsvc/tool"
)

func TestPageIsAsCommitted(t *testing.T) {
	t.Parallel()
	want, err := render(toolsets.Registry())
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(filepath.Join("..", "..", page))
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Errorf("%s is not what the registry says: run make gen", page)
	}
	for range 3 {
		if again, err := render(toolsets.Registry()); err != nil || !bytes.Equal(again, want) {
			t.Fatalf("the page changed although the registry did not (%v)", err)
		}
	}
}

// extra are the arguments that the plugin adds to every tool.
const extra = `"expect":{"type":"array","items":{"type":"string"}},"intent":{"type":"string"}`

func registry(t *testing.T, specs ...*tool.Spec) *tool.Registry {
	t.Helper()
	reg, err := tool.NewRegistry(specs)
	if err != nil {
		t.Fatal(err)
	}
	return reg
}

func TestEverythingOfASpecIsOnThePage(t *testing.T) {
	t.Parallel()
	lamp := &tool.Spec{ID: "lamp.switch_on", Description: "Switch a lamp | on.", Effect: tool.Reversible, EffectRules: []tool.EffectRule{{When: `args.a || args.b`, Class: tool.Irreversible}},
		Sources: []tool.Source{tool.SourceAX, tool.SourceSystem}, Preconditions: []tool.Condition{{Name: "is_off", Expression: "args.a", Message: "the lamp is off"}},
		Postconditions: []tool.Condition{{Name: "is_on", Expression: "result.on", Message: "the lamp is on"}}, Confirm: "Switch it?", Question: "Which lamp?", Rollback: "Switches it off.",
		TimeLimit: 1500 * time.Millisecond, Example: []byte(`{ "place": {"room":"Ada's"} }`),
		PayloadSchema: []byte(`{"$schema":"x","type":"object","properties":{
			"place":{"description":"Where it is","type":"object","properties":{"room":{"type":"string","minLength":1},"house":{"type":"string"}},"required":["room"],"additionalProperties":false,"anyOf":[{"required":["room"]},{"required":["house"]}]},
			"places":{"type":"array","maxItems":3,"items":{"type":"object","properties":{"room":{"type":"string","minLength":1},"house":{"type":"string"}},"required":["room"],"additionalProperties":false,"anyOf":[{"required":["room"]},{"required":["house"]}]}},
			"labels":{"type":"object","additionalProperties":{"type":"string","maxLength":5},"maxProperties":2},
			"level":{"type":"integer","minimum":1,"maximum":100,"default":50},
			"any":{}, ` + extra + `},"required":["place"],"additionalProperties":false}`),
		ResultSchema: []byte(`{"type":"object","properties":{"on":{"type":"boolean"},"since":{"type":"string","format":"date-time"}},"required":["on"],"additionalProperties":false}`)}
	text, err := render(registry(t, lamp))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`| [lamp.switch_on](#lampswitch_on) | ` + "`reversible`" + ` | Switch a lamp \| on. |`,
		"## lamp.switch_on\n",
		"| | `irreversible` when `args.a \\|\\| args.b` |",
		"| `irreversible` | is dispatched once", "| `reversible` | is repeated only",
		"| found by | accessibility tree (`ax`), then direct command (`system`) |",
		"| time limit | 1500 ms for one attempt |", "| rollback | Switches it off. |", "| approval | Switch it? |", "| question when fields are missing | Which lamp? |",
		"| `place` | [Place](#place) |  | required | Where it is |",
		"| `places` | list of [Place](#place) | at most 3 items |  |  |",
		"| `labels` | map to string | at most 2 entries; each at most 5 characters |  |  |",
		"| `level` | integer | 1 to 100 | `50` |  |",
		"| `any` | any |  |  |  |",
		"| `on` | boolean |  |  |", "| `since` | string; format `date-time` | not always there |  |",
		"**Checked before it**", "| `is_off` | `args.a` | the lamp is off |", "**Checked after it**", "| `is_on` | `result.on` | the lamp is on |",
		`toolsvc call lamp.switch_on '{"place":{"room":"Ada'\''s"}}'`,
		"### Place\n", "| `room` | string | not empty | required |  |", "At least one of `room` or `house`.",
	} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the page lacks %q", want)
		}
	}
	if strings.Contains(string(text), "`read_only`") || strings.Count(string(text), "### Place") != 1 || strings.Count(string(text), "| `expect` |") != 1 {
		t.Errorf("something is on the page that should not be there, or is there twice:\n%s", text)
	}
}

// What the page cannot say is an error, never left out.
func TestWhatCannotBeSaidIsRefused(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		payload string
		effect  tool.EffectClass
		source  tool.Source
		says    string
	}{
		"a keyword that is not known": {`{"type":"object","properties":{"a":{"type":"string","multipleOf":2},` + extra + `}}`, tool.ReadOnly, tool.SourceAX, "multipleOf"},
		"a type that holds itself":    {`{"type":"object","properties":{"a":{"$ref":"#/$defs/Node"},` + extra + `},"$defs":{"Node":{"type":"object"}}}`, tool.ReadOnly, tool.SourceAX, "holds itself"},
		"a tool without expect":       {`{"type":"object","properties":{"intent":{"type":"string"}}}`, tool.ReadOnly, tool.SourceAX, "does not take expect"},
		"a source without words":      {`{"type":"object","properties":{` + extra + `}}`, tool.ReadOnly, "smell", "smell"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := render(registry(t, &tool.Spec{ID: "x.y", Effect: c.effect, Sources: []tool.Source{c.source}, Example: []byte(`{}`),
				PayloadSchema: []byte(c.payload), ResultSchema: []byte(`{"type":"object"}`)}))
			if err == nil || !strings.Contains(err.Error(), c.says) || !strings.Contains(err.Error(), "x.y") {
				t.Errorf("got %v, want an error that names x.y and says %q", err, c.says)
			}
		})
	}
}

func TestConstraintsInWords(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"type":"string","minLength":1,"maxLength":500}`:                                                        "1 to 500 characters",
		`{"type":"string","minLength":1}`:                                                                        "not empty",
		`{"type":"string","minLength":3,"maxLength":3}`:                                                          "exactly 3 characters",
		`{"type":"string","maxLength":9}`:                                                                        "at most 9 characters",
		`{"type":"string","enum":["a","b|c",""]}`:                                                                "`a`, `b\\|c` or `\"\"`",
		"{\"type\":\"string\",\"pattern\":\"^[`]|x$\"}":                                                          "matches ``^[`]\\|x$``",
		`{"type":"string","format":"uri","writeOnly":true}`:                                                      "format `uri`; secret: never shown",
		`{"type":"string","contentEncoding":"base64"}`:                                                           "in base64",
		`{"type":"integer","minimum":-9223372036854775808,"maximum":9223372036854775807}`:                        "",
		`{"type":"integer","minimum":1,"maximum":9223372036854775807}`:                                           "at least 1",
		`{"type":"number","exclusiveMinimum":0,"maximum":1}`:                                                     "at most 1; more than 0",
		`{"type":"number","exclusiveMaximum":2.5}`:                                                               "less than 2.5",
		`{"type":"array","minItems":1,"items":{"type":"integer","enum":[1,2]}}`:                                  "at least 1 item; each `1` or `2`",
		`{"type":"object","minProperties":1,"maxProperties":2,"propertyNames":{"type":"string","pattern":"^a"}}`: "1 to 2 entries; names: matches `^a`",
	} {
		s, err := parse([]byte(text))
		if err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		if got, err := s.constraints(); err != nil || got != want {
			t.Errorf("%s\ngot  %s (%v)\nwant %s", text, got, err, want)
		}
	}
}
