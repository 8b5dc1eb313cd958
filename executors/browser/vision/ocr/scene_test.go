package ocr

import (
	_ "embed"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"toolsvc/executors/browser/vision"
)

//go:embed testdata/draw.js
var drawScript string

// op is a shape or a text to draw, see testdata/draw.js.
type op struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	W      float64 `json:"w"`
	H      float64 `json:"h"`
	Radius float64 `json:"radius,omitempty"`
	Fill   string  `json:"fill,omitempty"`
	Stroke string  `json:"stroke,omitempty"`
	Text   string  `json:"text,omitempty"`
	Font   string  `json:"font,omitempty"`
	Align  string  `json:"align,omitempty"`
	Path   string  `json:"path,omitempty"`
}

// picture collects what to draw on a page.
type picture struct {
	w, h int
	ops  []op
}

func newPicture(w, h int, ground string) *picture {
	return &picture{w, h, []op{{W: float64(w), H: float64(h), Fill: ground}}}
}

func (p *picture) box(x, y, w, h float64, fill, stroke string) vision.Rect {
	p.ops = append(p.ops, op{X: x, Y: y, W: w, H: h, Radius: 6, Fill: fill, Stroke: stroke})
	return vision.Rect{X: x, Y: y, W: w, H: h}
}

// text writes with its middle at height y.
func (p *picture) text(s string, x, y float64, font, ink string) {
	p.ops = append(p.ops, op{Text: s, X: x, Y: y, Font: font, Fill: ink})
}

// button draws a button and returns where.
func (p *picture) button(label string, x, y float64) vision.Rect {
	return p.buttonOf(label, x, y, float64(24+8*len(label)), "#1a73e8", "#ffffff")
}

func (p *picture) buttonOf(label string, x, y, w float64, face, ink string) vision.Rect {
	r := p.box(x, y, w, 30, face, "")
	p.ops = append(p.ops, op{Text: label, X: x + w/2, Y: y + 15, Font: "14px sans-serif", Fill: ink, Align: "center"})
	return r
}

func (p *picture) shoot(t testing.TB, scale float64) vision.Screenshot {
	t.Helper()
	ops, err := json.Marshal(p.ops)
	if err != nil {
		t.Fatal(err)
	}
	var none []any
	return shoot(t, p.w, p.h, scale, fmt.Sprintf("%s\ndraw(%d, %d, %s)", drawScript, p.w, p.h, ops), &none)
}

const (
	heading = "bold 18px sans-serif"
	label   = "14px sans-serif"
)

// expectation is a query and the places that must be found, all of them and no other.
type expectation struct {
	query vision.Query
	at    []vision.Rect
}

func check(t *testing.T, p *picture, wants []expectation) {
	t.Helper()
	for _, scale := range []float64{1, 2} {
		shot := p.shoot(t, scale)
		if dir := os.Getenv("OCR_KEEP"); dir != "" {
			os.WriteFile(fmt.Sprintf("%s/%s-%v.png", dir, strings.ReplaceAll(t.Name(), "/", "-"), scale), shot.PNG, 0o644)
		}
		for _, want := range wants {
			found, err := sharedGrounder(t).Locate(t.Context(), shot, want.query)
			if err != nil {
				t.Fatalf("%+v at %vx: %v", want.query, scale, err)
			}
			missing := len(want.at)
			for _, place := range want.at {
				for _, c := range found {
					if x, y := c.Box.Center(); place.Contains(x, y) {
						missing--
						break
					}
				}
			}
			if missing > 0 || len(found) != len(want.at) {
				t.Errorf("%+v at %vx: found %+v, want %+v", want.query, scale, found, want.at)
			}
			if len(want.at) > 1 && !vision.Ambiguous(found) {
				t.Errorf("%+v at %vx: %+v are not reported as ambiguous", want.query, scale, found)
			}
		}
	}
}

func TestPanels(t *testing.T) {
	titles := []string{"Billing", "Shipping", "Profile", "Security"}
	for name, paint := range map[string]func(p *picture, x, y float64){
		"on cards":      func(p *picture, x, y float64) { p.box(x, y, 520, 240, "#ffffff", "#d0d7de") },
		"outlined":      func(p *picture, x, y float64) { p.box(x, y, 520, 240, "", "#8c959f") },
		"with bars":     func(p *picture, x, y float64) { p.box(x, y+8, 520, 34, "#d8e2f0", "") },
		"headings only": func(*picture, float64, float64) {},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPicture(1280, 640, "#eef1f5")
			var all, wants = []vision.Rect{}, []expectation{}
			for i, title := range titles {
				x, y := 60+float64(i%2)*600, 40+float64(i/2)*290
				paint(p, x, y)
				p.text(title, x+20, y+25, heading, "#24292f")
				p.text("Changes take effect at once.", x+20, y+80, label, "#57606a")
				save := p.button("Save", x+300, y+190)
				p.button("Cancel", x+400, y+190)
				all = append(all, save)
				wants = append(wants, expectation{vision.Query{Name: "Save", Within: title}, []vision.Rect{save}})
			}
			wants = append(wants,
				expectation{vision.Query{Name: "Save"}, all},
				expectation{vision.Query{Name: "Save", Within: "Notifications"}, nil},
				expectation{vision.Query{Name: "Delete", Within: "Billing"}, nil})
			check(t, p, wants)
		})
	}
}

// A text beside the target names its row, and does not keep the heading above both from holding it. Where a panel has several such rows,
// none of them is taken for the one.
func TestHeadingAboveANamedRow(t *testing.T) {
	p := newPicture(1280, 900, "#eef1f5")
	var wants []expectation
	for i, title := range []string{"Low Tide", "Night Ferry", "Slack Water"} {
		x, y := 60+float64(i%2)*600, 60+float64(i/2)*300
		p.box(x, y, 460, 230, "#ffffff", "#d0d7de")
		p.text(title, x+27, y+40, heading, "#1d2433")
		p.text("Mira Oh", x+120, y+100, heading, "#5b6478")
		open := p.button("Open", x+260, y+85)
		at := []vision.Rect{open}
		if title == "Slack Water" {
			p.text("Ada Park", x+120, y+170, heading, "#5b6478")
			p.button("Open", x+260, y+155)
			at = nil
		}
		wants = append(wants, expectation{vision.Query{Name: "Open", Within: title}, at})
	}
	wants = append(wants, expectation{vision.Query{Name: "Open", Within: "Harbor"}, nil})
	check(t, p, wants)
}

// The same where the panel is so pale that it is not seen: the only target belongs to the heading above it, and no other.
func TestHeadingAboveANamedRowOnAPalePanel(t *testing.T) {
	p := newPicture(1280, 600, "#f5f6f9")
	var open vision.Rect
	for i, title := range []string{"Low Tide", "Night Ferry"} {
		x := 60 + float64(i)*600
		p.box(x, 60, 460, 200, "#ffffff", "#e4e7ee")
		p.text(title, x+27, 100, heading, "#1d2433")
		p.text("Mira Oh", x+120, 160, heading, "#5b6478")
		if i == 0 {
			open = p.button("Open", x+260, 145)
		}
	}
	check(t, p, []expectation{
		{vision.Query{Name: "Open", Within: "Low Tide"}, []vision.Rect{open}},
		{vision.Query{Name: "Open", Within: "Night Ferry"}, nil},
	})
}

func TestHeadingWithoutTheTarget(t *testing.T) {
	p := newPicture(900, 600, "#ffffff")
	var wants []expectation
	for i, title := range []string{"Billing", "Shipping", "Security"} {
		y := 60 + float64(i)*160
		p.text(title, 40, y, heading, "#24292f")
		p.text("Ask before changes", 40, y+40, label, "#57606a")
		if title == "Shipping" {
			p.button("Export", 40, y+70)
			wants = append(wants, expectation{vision.Query{Name: "Save", Within: title}, nil})
			continue
		}
		save := p.button("Save", 40, y+70)
		wants = append(wants, expectation{vision.Query{Name: "Save", Within: title}, []vision.Rect{save}})
	}
	check(t, p, wants)
}

func TestTableRows(t *testing.T) {
	p := newPicture(1000, 400, "#ffffff")
	var wants []expectation
	var all []vision.Rect
	for i, name := range []string{"Alice Brown", "Bob Carter", "Carol Diaz", "Dan Evans"} {
		y := 40 + float64(i)*44
		p.text(name, 40, y+15, label, "#24292f")
		p.text([]string{"Owner", "Editor", "Editor", "Viewer"}[i], 300, y+15, label, "#57606a")
		p.button("Delete", 800, y)
		if name == "Carol Diaz" { // she cannot be edited
			wants = append(wants, expectation{vision.Query{Name: "Edit", Near: name}, nil})
			continue
		}
		edit := p.button("Edit", 700, y)
		all = append(all, edit)
		wants = append(wants,
			expectation{vision.Query{Name: "Edit", Near: name}, []vision.Rect{edit}},
			expectation{vision.Query{Name: "Edit", Within: name}, []vision.Rect{edit}})
	}
	wants = append(wants, expectation{vision.Query{Name: "Edit"}, all},
		expectation{vision.Query{Name: "Edit", Near: "Erin Fox"}, nil})
	check(t, p, wants)

	found, err := sharedGrounder(t).Locate(t.Context(), p.shoot(t, 1), vision.Query{Name: "Edit"})
	if err != nil || len(found) != 3 {
		t.Fatalf("found %+v, %v", found, err)
	}
	for i, name := range []string{"Alice Brown", "Bob Carter", "Dan Evans"} {
		if found[i].Within != name {
			t.Errorf("candidate %d is told apart by %q, want %q", i, found[i].Within, name)
		}
	}
}

func TestWholeLabels(t *testing.T) {
	p := newPicture(900, 500, "#fafafa")
	// A label that is wrapped in a narrow button.
	cart := p.box(40, 40, 90, 50, "#188038", "")
	p.ops = append(p.ops, op{Text: "Add to", X: 85, Y: 56, Font: label, Fill: "#ffffff", Align: "center"},
		op{Text: "cart", X: 85, Y: 74, Font: label, Fill: "#ffffff", Align: "center"})
	// A menu: one surface, one label a line.
	p.box(200, 40, 200, 150, "#ffffff", "#d0d7de")
	var menu []vision.Rect
	for i, entry := range []string{"Save", "Save as...", "Save all", "Close"} {
		y := 60 + float64(i)*34
		p.text(entry, 216, y, label, "#24292f")
		menu = append(menu, vision.Rect{X: 200, Y: y - 16, W: 200, H: 32})
	}
	// Tabs on the page itself.
	x := 40.0
	var tabs []vision.Rect
	for _, tab := range []string{"Home", "Home office", "Contact"} {
		p.text(tab, x, 250, label, "#24292f")
		w := float64(9 * len(tab))
		tabs = append(tabs, vision.Rect{X: x - 5, Y: 235, W: w, H: 30})
		x += w + 24
	}
	// Segments that touch.
	play := p.buttonOf("Play", 40, 300, 50, "#e8eaed", "#202124")
	playAll := p.buttonOf("Play all", 91, 300, 66, "#e8eaed", "#202124")
	// Icons before labels.
	search := p.box(40, 360, 110, 32, "#ffffff", "#9aa0a6")
	p.ops = append(p.ops, op{Path: "M60 368a7 7 0 1 0 0.1 0zM60 370.5a4.5 4.5 0 1 1 -0.1 0zM64 379l6 6l2 -2l-6 -6z", Fill: "#5f6368"})
	p.text("Search", 80, 376, label, "#202124")
	resume := p.box(200, 360, 120, 32, "#1a73e8", "")
	p.ops = append(p.ops, op{Path: "M216 368l12 8l-12 8z", Fill: "#ffffff"})
	p.text("Resume", 240, 376, label, "#ffffff")
	p.text("Unlike this and subscribe to all of it", 40, 450, label, "#24292f")

	check(t, p, []expectation{
		{vision.Query{Name: "Add to cart"}, []vision.Rect{cart}},
		{vision.Query{Name: "Add to"}, nil},
		{vision.Query{Name: "cart"}, nil},
		{vision.Query{Name: "Save"}, menu[:1]},
		{vision.Query{Name: "Save as"}, menu[1:2]},
		{vision.Query{Name: "Save as…"}, menu[1:2]},
		{vision.Query{Name: "SAVE ALL"}, menu[2:3]},
		{vision.Query{Name: "Home"}, tabs[:1]},
		{vision.Query{Name: "Home office"}, tabs[1:2]},
		{vision.Query{Name: "office"}, nil},
		{vision.Query{Name: "Play"}, []vision.Rect{play}},
		{vision.Query{Name: "Play all"}, []vision.Rect{playAll}},
		{vision.Query{Name: "all"}, nil},
		{vision.Query{Name: "Search"}, []vision.Rect{search}},
		{vision.Query{Name: "Resume"}, []vision.Rect{resume}},
		{vision.Query{Name: "Like"}, nil},
		{vision.Query{Name: "Unlike"}, nil},
		{vision.Query{Name: "subscribe"}, nil},
		{vision.Query{Name: "Save", Region: vision.Rect{X: 200, Y: 40, W: 200, H: 150}}, menu[:1]},
		{vision.Query{Name: "Save", Region: vision.Rect{X: 200, Y: 90, W: 200, H: 100}}, nil},
		{vision.Query{Description: "the grey Play button"}, []vision.Rect{play}},
		{vision.Query{Description: `the entry "Save all" of the menu`}, menu[2:3]},
		{vision.Query{Description: "the round green thing at the top"}, nil},
		{vision.Query{}, nil},
	})
}

func TestCaseIsSometimesTheOnlyDifference(t *testing.T) {
	p := newPicture(700, 200, "#202124")
	lower := p.buttonOf("Match case", 40, 40, 130, "#3c4043", "#e8eaed")
	upper := p.buttonOf("MATCH CASE", 200, 40, 140, "#3c4043", "#e8eaed")
	plus := p.buttonOf("Volume +", 40, 120, 130, "#3c4043", "#e8eaed")
	minus := p.buttonOf("Volume -", 200, 120, 130, "#3c4043", "#e8eaed")
	check(t, p, []expectation{
		{vision.Query{Name: "Match case"}, []vision.Rect{lower}},
		{vision.Query{Name: "MATCH CASE"}, []vision.Rect{upper}},
		{vision.Query{Name: "match case"}, []vision.Rect{lower, upper}},
		{vision.Query{Name: "Volume +"}, []vision.Rect{plus}},
		{vision.Query{Name: "Volume -"}, []vision.Rect{minus}},
		{vision.Query{Name: "Volume"}, nil},
	})
}

func TestManyKindsOfText(t *testing.T) {
	for name, colours := range map[string][3]string{ // page, ink, ink of disabled controls
		"light": {"#ffffff", "#1f2328", "#a0a0a0"},
		"dark":  {"#0d1117", "#e6edf3", "#5a6169"},
	} {
		t.Run(name, func(t *testing.T) {
			p := newPicture(1280, 800, colours[0])
			var wants []expectation
			at := func(name string, x, y, w, h float64) {
				wants = append(wants, expectation{vision.Query{Name: name}, []vision.Rect{{X: x, Y: y - h/2, W: w, H: h}}})
			}
			y := 30.0
			for _, c := range []struct {
				text, font string
				size       float64
			}{
				{"Terms of use", "11px sans-serif", 11}, {"Privacy", "italic 13px serif", 13}, {"Account settings", "28px sans-serif", 28},
				{"Welcome back", "bold 36px sans-serif", 36}, {"Information", "48px sans-serif", 48}, {"Plans and prices", "bold 48px serif", 48},
			} {
				p.text(c.text, 40, y+c.size/2, c.font, colours[1])
				at(c.text, 40, y+c.size/2, float64(len(c.text))*c.size*0.8, c.size)
				y += c.size + 28
			}
			p.text("Disabled for now", 40, y, label, colours[2])
			at("Disabled for now", 40, y, 160, 20)
			// Underlined, spaced capitals, a badge, a key hint, a tooltip's frame close to the text.
			p.text("Forgot password?", 40, y+50, label, "#2f81f7")
			p.box(40, y+58, 122, 1, "#2f81f7", "")
			at("Forgot password?", 40, y+50, 140, 20)
			p.text("S U B M I T", 300, y+50, label, colours[1])
			p.text("Inbox", 500, y+50, label, colours[1])
			p.box(545, y+40, 26, 20, "#cf222e", "")
			p.text("12", 550, y+50, "bold 12px sans-serif", "#ffffff")
			at("Inbox", 500, y+50, 44, 20)
			at("12", 545, y+50, 26, 20)
			p.text("Copy", 640, y+50, label, colours[1])
			p.text("Ctrl+C", 760, y+50, label, colours[2])
			at("Copy", 640, y+50, 50, 20)
			p.box(900, y+38, 64, 24, "", colours[1])
			p.text("Today", 911, y+50, label, colours[1])
			at("Today", 900, y+50, 64, 24)
			wants = append(wants, expectation{vision.Query{Name: "Forgot"}, nil}, expectation{vision.Query{Name: "Welcome"}, nil},
				expectation{vision.Query{Name: "password?"}, nil}, expectation{vision.Query{Name: "Ctrl"}, nil})
			check(t, p, wants)
		})
	}
}

func TestRead(t *testing.T) {
	p := newPicture(800, 400, "#ffffff")
	p.text("Order 1042", 40, 40, heading, "#24292f")
	p.text("2 items, 31.50 EUR", 40, 80, label, "#57606a")
	p.button("Pay now", 40, 110)
	p.button("Cancel order", 200, 110)
	p.box(0, 200, 800, 200, "#24292f", "")
	p.text("Delivered on Friday", 40, 240, label, "#ffffff")
	shot := p.shoot(t, 1)
	for _, c := range []struct {
		region vision.Rect
		want   string
	}{
		{vision.Rect{}, "Order 1042\n2 items, 31.50 EUR\nPay now  Cancel order\nDelivered on Friday"},
		{vision.Rect{X: 0, Y: 60, W: 800, H: 90}, "2 items, 31.50 EUR\nPay now  Cancel order"},
		{vision.Rect{X: 190, Y: 100, W: 200, H: 50}, "Cancel order"},
		{vision.Rect{X: 0, Y: 200, W: 800, H: 900}, "Delivered on Friday"},
		{vision.Rect{X: 0, Y: 300, W: 800, H: 100}, ""},
	} {
		got, err := sharedGrounder(t).Read(t.Context(), shot, c.region)
		if err != nil || got != c.want {
			t.Errorf("read %+v = %q, %v, want %q", c.region, got, err, c.want)
		}
	}
}
