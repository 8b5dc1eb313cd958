package verification_test

import (
	"encoding/json"
	"testing"

	"toolsvc/tool"
	"toolsvc/verification"
)

func TestEffectClass(t *testing.T) {
	t.Parallel()
	typing := []tool.EffectRule{{When: `args.submit || args.append`, Class: tool.Reversible}}
	for _, c := range []struct {
		name  string
		class tool.EffectClass
		rules []tool.EffectRule
		args  string
		want  tool.EffectClass
		fails bool
	}{
		{"no rules", tool.Reversible, nil, `{}`, tool.Reversible, false},
		{"no rule matches", tool.Idempotent, typing, `{"submit":false,"append":false}`, tool.Idempotent, false},
		{"one matches", tool.Idempotent, typing, `{"submit":true,"append":false}`, tool.Reversible, false},
		{"the gravest wins", tool.ReadOnly, []tool.EffectRule{{When: `true`, Class: tool.Irreversible}, {When: `args.submit`, Class: tool.Reversible}}, `{"submit":true}`, tool.Irreversible, false},
		{"a rule makes nothing milder", tool.Reversible, []tool.EffectRule{{When: `true`, Class: tool.ReadOnly}}, `{}`, tool.Reversible, false},
		{"a string", tool.Idempotent, []tool.EffectRule{{When: `args.text.startsWith("DELETE")`, Class: tool.Irreversible}}, `{"text":"DELETE 1"}`, tool.Irreversible, false},
		{"an absent argument", tool.Idempotent, typing, `{}`, tool.Irreversible, true},
		{"an unknown argument", tool.Idempotent, []tool.EffectRule{{When: `args.sumbit`, Class: tool.Reversible}}, `{"submit":true}`, tool.Irreversible, true},
		{"evidence is not there yet", tool.Idempotent, []tool.EffectRule{{When: `page.ready`, Class: tool.Reversible}}, `{}`, tool.Irreversible, true},
		{"no condition", tool.Idempotent, []tool.EffectRule{{When: `args.text`, Class: tool.Reversible}}, `{"text":"x"}`, tool.Irreversible, true},
		{"no payload", tool.Idempotent, typing, `[`, tool.Irreversible, true},
		{"an unknown class", "harmless", nil, `{}`, tool.Irreversible, true},
		{"a rule of an unknown class", tool.ReadOnly, []tool.EffectRule{{When: `true`, Class: "harmless"}}, `{}`, tool.Irreversible, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			spec := fullSpec()
			spec.Effect, spec.EffectRules = c.class, c.rules
			got, err := verification.EffectClass(spec, json.RawMessage(c.args))
			if got != c.want || (err != nil) != c.fails {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}
