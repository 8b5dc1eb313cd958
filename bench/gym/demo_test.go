package gym_test

import (
	"encoding/json"
	"os"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"

	"toolsvc/bench/gym"
	browsertools "toolsvc/gen/toolsets/browser"
	"toolsvc/tool"
	"toolsvc/verification"
)

// plan is examples/demo/plan.yaml.
type plan struct {
	Name  string            `yaml:"name"`
	Names map[string]string `yaml:"names"`
	Vars  map[string]string `yaml:"vars"`
	Steps []struct {
		Name          string            `yaml:"name"`
		Names         map[string]string `yaml:"names"`
		Tool          tool.ID           `yaml:"tool"`
		Args          map[string]any    `yaml:"args"`
		Intent        string            `yaml:"intent"`
		Expect        []string          `yaml:"expect"`
		ExpectFailure tool.Failure      `yaml:"expect_failure"`
	} `yaml:"steps"`
}

func readPlan(t *testing.T) plan {
	t.Helper()
	text, err := os.ReadFile("../../examples/demo/plan.yaml")
	if err != nil {
		t.Fatal(err)
	}
	decoder := yaml.NewDecoder(strings.NewReader(string(text)))
	decoder.KnownFields(true)
	var p plan
	if err := decoder.Decode(&p); err != nil {
		t.Fatalf("read the plan: %v", err)
	}
	return p
}

// Every step of the catalogue and of the demo's plan is a valid call, and its expectations are valid conditions of its tool.
func TestStepsAreValidCalls(t *testing.T) {
	t.Parallel()
	specs := map[tool.ID]*tool.Spec{}
	for _, s := range browsertools.Specs() {
		specs[s.ID] = s
	}
	validate := func(where string, id tool.ID, args string, expect []string) {
		t.Helper()
		spec := specs[id]
		if spec == nil {
			t.Errorf("%s: there is no tool %s", where, id)
			return
		}
		if _, issues := spec.Decode([]byte(args)); len(issues) > 0 {
			t.Errorf("%s: %v", where, issues)
		}
		if _, issues := verification.Compile(spec, json.RawMessage(args), expect); len(issues) > 0 {
			t.Errorf("%s: %v", where, issues)
		}
	}
	for _, c := range everyCase() {
		for _, s := range c.Steps {
			validate(c.Name, s.Tool, s.Args, s.Expect)
		}
	}
	p := readPlan(t)
	for _, s := range p.Steps {
		args, err := json.Marshal(s.Args)
		if err != nil {
			t.Fatal(err)
		}
		text := string(args)
		for name, value := range p.Vars {
			text = strings.ReplaceAll(text, "${"+name+"}", value)
		}
		validate(s.Name, s.Tool, text, s.Expect)
		if s.Names["ko"] == "" || s.Names["ja"] == "" || s.Intent == "" {
			t.Errorf("%s: a title in each language and an intent are missing", s.Name)
		}
		if (len(s.Expect) > 0) == (s.ExpectFailure != "") {
			t.Errorf("%s: it needs expectations, or a failure to end in, and not both", s.Name)
		}
	}
}

// TestDemo goes through the plan by hand: each fault lands, each step can be done, and its expectations hold then and not before.
func TestDemo(t *testing.T) {
	t.Parallel()
	steps := readPlan(t).Steps
	p := openTab(t, gym.Case{Path: "/demo"}, false)
	booth := func(x, y float64) {
		var at [2]float64
		p.eval(`(() => { const r = $("booth").getBoundingClientRect(); return [r.x, r.y] })()`, &at)
		p.click(at[0]+x, at[1]+y)
	}
	inVoucher := func(selector string) (x, y float64) {
		var at [2]float64
		p.eval(`(() => { const f = $("voucher"), o = f.getBoundingClientRect(), r = f.contentDocument.querySelector("`+selector+`").getBoundingClientRect(); return [o.x + r.x + r.width / 2, o.y + r.y + r.height / 2] })()`, &at)
		return at[0], at[1]
	}
	actions := []func(){
		func() {},
		func() { p.clickOn(`$("order")`); p.noneSent() },
		func() {
			unseen("button", "Play")(p)
			booth(298, 141)
		},
		func() {
			p.clickOn(`$("arrivals")`)
			p.noted("click ignored")
			if !strings.Contains(p.text(), "Record of the day") {
				t.Fatal("the first click was not lost")
			}
			p.clickOn(`$("arrivals")`)
		},
		func() {
			unseen("button", "Add to cart")(p)
			p.until(`document.querySelectorAll(".offer button").length === 2`)
			same("button", "Add to cart", 2)(p)
			p.clickOn(`document.querySelectorAll(".offer button")[1]`)
		},
		func() { p.eval(`$("format").focus()`, nil); p.write("V") },
		func() {
			p.typeInto(`$("who")`, "Ada Park")
			p.until(`$("veil")`)
			p.clickOn(`$("close")`)
			p.typeInto(`$("who")`, "")
			p.typeInto(`$("who")`, "Ada Park")
		},
		func() { x, y := inVoucher("#code"); p.click(x, y); p.insert("TIDE10") },
		func() { x, y := inVoucher("#redeem"); p.click(x, y) },
		func() { p.clickOn(`$("terms")`) },
		func() {
			if over := p.over(`$("order")`); over != "accept" {
				t.Fatalf("the order button is covered by %q, wanted the banner's “Accept all”", over)
			}
			p.clickOn(`$("necessary")`)
			p.clickOn(`$("order")`)
		},
		func() { p.until(`document.querySelector("[aria-label='Order status']")`) },
	}
	if len(actions) != len(steps) {
		t.Fatalf("the plan has %d steps, this test %d", len(steps), len(actions))
	}
	for i, s := range steps {
		var mine []string
		for _, e := range s.Expect { // those about the page as a whole; the others are about the call's own target and result
			if !strings.Contains(e, "target.") && !strings.Contains(e, "result.") {
				mine = append(mine, e)
			}
		}
		if i > 0 && mine != nil && p.holds(mine, false) {
			t.Errorf("%s: the expectations hold before the step: %q", s.Name, mine)
		}
		actions[i]()
		if !p.eventually(mine) {
			t.Fatalf("%s: the expectations do not hold after the step: %q\n%s", s.Name, mine, p.text())
		}
	}
	if truth := p.truth(); truth.Goal != 1 || truth.Wrong != 0 {
		t.Errorf("truth after the flow: %+v", truth)
	}
	if books := server.Truth(p.session); books.Goal != 1 || books.Effects != 1 {
		t.Errorf("the shop's books: %+v", books)
	}
	if server.DemoOrders() != 1 {
		t.Errorf("the shop took %d orders in all", server.DemoOrders())
	}
	if !strings.Contains(p.text(), "Order H-2043: Low Tide Sessions, €20.00") {
		t.Errorf("the last page says: %s", p.text())
	}
	var size [2]int
	p.eval(`[document.documentElement.scrollWidth, document.documentElement.scrollHeight]`, &size)
	if size != [2]int{1280, 800} {
		t.Errorf("the shop takes %v pixels, wanted 1280 × 800 without scrolling", size)
	}
}

// text is the visible text of the page.
func (p *tab) text() (text string) {
	p.Helper()
	p.eval("document.body.innerText", &text)
	return text
}

// noneSent fails when an effect was recorded.
func (p *tab) noneSent() { p.Helper(); p.wants(0, 0, 0) }
