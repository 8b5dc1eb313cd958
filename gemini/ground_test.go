package gemini

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"image"
	"image/jpeg"
	"math"
	"reflect"
	"strings"
	"sync"
	"testing"

	"toolsvc/executors/browser/vision"
	"toolsvc/gemini/geminitest"
	"toolsvc/tool"
)

func TestParseMarks(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		want       []mark
		err        string
	}{
		{"a box, y first", `{"candidates":[{"label":"Pay now","box_2d":[100,200,300,600],"confidence":0.9,"within":"Cart","near":"Total"}]}`,
			[]mark{{x0: 200, y0: 100, x1: 600, y1: 300, label: "Pay now", within: "Cart", near: "Total", confidence: 0.9}}, ""},
		{"a point, y first", `[{"point":[250,750],"label":" Pay\n now "}]`, []mark{{x0: 750, y0: 250, x1: 750, y1: 250, label: "Pay now", confidence: unscored}}, ""},
		{"computer use, x first", `{"x":750,"y":250}`, []mark{{x0: 750, y0: 250, x1: 750, y1: 250, confidence: unscored}}, ""},
		{"a box by another name", `[{"box":[0,0,1000,1000],"confidence":1}]`, []mark{{x1: 1000, y1: 1000, confidence: 1}}, ""},
		{"a box and a point in it", `[{"box_2d":[100,200,300,600],"point":[200,400],"confidence":1}]`, []mark{{x0: 200, y0: 100, x1: 600, y1: 300, confidence: 1}}, ""},
		{"fractions", `[{"box_2d":[0.5,1.5,2.5,3.5],"confidence":0}]`, []mark{{x0: 1.5, y0: 0.5, x1: 3.5, y1: 2.5}}, ""},
		{"in a fence", "```json\n[{\"x\":1,\"y\":2}]\n```", []mark{{x0: 1, y0: 2, x1: 1, y1: 2, confidence: unscored}}, ""},
		{"none", `{"candidates":[]}`, nil, ""},
		{"none, as a list", ` [] `, nil, ""},
		{"out of range", `[{"x":1,"y":2},{"x":1280,"y":2}]`, nil, "place 2 has the coordinate 1280"},
		{"below range", `[{"point":[-1,2]}]`, nil, "coordinate -1"},
		{"no area", `[{"box_2d":[100,200,100,600]}]`, nil, "without area"},
		{"upside down", `[{"box_2d":[300,200,100,600]}]`, nil, "without area"},
		{"three coordinates", `[{"box_2d":[1,2,3]}]`, nil, "wrong number"},
		{"half a point", `[{"x":1}]`, nil, "no coordinates"},
		{"no coordinates", `{}`, nil, "no coordinates"},
		{"a point outside of its box", `[{"box_2d":[100,200,300,600],"x":700,"y":200}]`, nil, "outside of its box"},
		{"confidence of 90", `[{"x":1,"y":2,"confidence":90}]`, nil, "confidence of 90"},
		{"the same field twice", `[{"x":1,"y":2,"x":900}]`, nil, "cannot be read"},
		{"texts for numbers", `[{"x":"1","y":"2"}]`, nil, "cannot be read"},
		{"words", `It is at the bottom.`, nil, "not JSON"},
		{"too many", "[" + strings.TrimSuffix(strings.Repeat(`{"x":1,"y":2},`, maxPlaces+1), ",") + "]", nil, "51 places"},
	} {
		got, err := parseMarks(c.text)
		if c.err != "" && (err == nil || !strings.Contains(err.Error(), c.err)) || c.err == "" && (err != nil || !reflect.DeepEqual(got, c.want)) {
			t.Errorf("%s: %+v, %v", c.name, got, err)
		}
	}
}

// finder is a model with eyes: it finds the red button in the picture that it was sent, and tells where it is in one of the conventions.
func finder(t *testing.T, convention string) geminitest.Turn {
	return geminitest.Turn{If: geminitest.All(geminitest.WithImage(), geminitest.WantsField("candidates")), Times: geminitest.Always, Handle: func(r *geminitest.Request) geminitest.Reply {
		m, _, err := image.Decode(bytes.NewReader(r.Images()[0].Data))
		if err != nil {
			t.Error(err)
			return geminitest.Empty()
		}
		var red image.Rectangle
		b := m.Bounds()
		for y := b.Min.Y; y < b.Max.Y; y++ {
			for x := b.Min.X; x < b.Max.X; x++ {
				if r, g, _, _ := m.At(x, y).RGBA(); r > 0x8000 && g < 0x8000 {
					red = red.Union(image.Rect(x, y, x+1, y+1))
				}
			}
		}
		if red.Empty() {
			return geminitest.JSON(`{"candidates":[]}`)
		}
		x0, x1 := red.Min.X*1000/b.Dx(), red.Max.X*1000/b.Dx()
		y0, y1 := red.Min.Y*1000/b.Dy(), red.Max.Y*1000/b.Dy()
		switch convention {
		case "point":
			return geminitest.JSON(fmt.Sprintf(`[{"label":"Pay","point":[%d,%d],"confidence":0.8}]`, (y0+y1)/2, (x0+x1)/2))
		case "xy":
			return geminitest.JSON(fmt.Sprintf(`{"x":%d,"y":%d}`, (x0+x1)/2, (y0+y1)/2))
		}
		return geminitest.JSON(fmt.Sprintf(`{"candidates":[{"label":"Pay","within":"Cart","near":"","box_2d":[%d,%d,%d,%d],"confidence":0.9}]}`, y0, x0, y1, x1))
	}}
}

// The place that comes back is the place on the page in CSS pixels, for every convention, pixel ratio, scale and region.
func TestLocateFindsThePlace(t *testing.T) {
	t.Parallel()
	jpegOf := func(b []byte) []byte {
		m, _, err := image.Decode(bytes.NewReader(b))
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := jpeg.Encode(&out, m, nil); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	small := screen(t, 800, 600, image.Rect(600, 100, 700, 140))
	large := screen(t, 2560, 1600, image.Rect(2000, 300, 2200, 380))
	for _, c := range []struct {
		name       string
		convention string
		picture    Picture
		region     Box
		x, y       float64 // the centre
		sent       image.Point
	}{
		{"a box", "box", Picture{Data: small}, Box{}, 650, 120, image.Pt(800, 600)},
		{"a point", "point", Picture{Data: small}, Box{}, 650, 120, image.Pt(800, 600)},
		{"computer use", "xy", Picture{Data: small}, Box{}, 650, 120, image.Pt(800, 600)},
		{"a JPEG", "box", Picture{Data: jpegOf(small)}, Box{}, 650, 120, image.Pt(800, 600)},
		{"two device pixels each, scaled down", "box", Picture{Data: large, Scale: 2}, Box{}, 1050, 170, image.Pt(1536, 960)},
		{"a size of its own", "box", Picture{Data: large, Width: 640, Height: 400}, Box{}, 525, 85, image.Pt(1536, 960)},
		{"a region", "box", Picture{Data: large, Scale: 2}, Box{1000, 100, 200, 100}, 1050, 170, image.Pt(400, 200)},
		{"a region beyond the edge", "xy", Picture{Data: large, Scale: 2}, Box{900, -50, 2000, 300}, 1050, 170, image.Pt(760, 500)},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, s := client(t, finder(t, c.convention))
			f, err := g.Grounder(GroundOptions{}).Locate(t.Context(), c.picture, Target{Name: "Pay", Region: c.region})
			if err != nil || len(f.Places) != 1 || f.Why != "" || f.Cached || f.Usage.Requests != 1 {
				t.Fatalf("%+v, %v", f, err)
			}
			p := f.Places[0].Box.Center()
			if math.Abs(p.X-c.x) > 3 || math.Abs(p.Y-c.y) > 3 {
				t.Errorf("at %v, want (%v, %v)", p, c.x, c.y)
			}
			size, _, _ := image.DecodeConfig(bytes.NewReader(s.Requests()[0].Images()[0].Data))
			if size.Width != c.sent.X || size.Height != c.sent.Y {
				t.Errorf("a picture of %d × %d was sent, want %v", size.Width, size.Height, c.sent)
			}
			if exact := c.convention != "xy"; f.Places[0].Exact != exact {
				t.Errorf("%+v", f.Places[0])
			}
		})
	}
}

// Nothing is guessed and nothing is chosen among equals.
func TestLocateJudges(t *testing.T) {
	t.Parallel()
	box := func(label string, y int, confidence float64) string {
		return fmt.Sprintf(`{"label":%q,"within":"","near":"","box_2d":[%d,100,%d,200],"confidence":%v}`, label, y, y+50, confidence)
	}
	for _, c := range []struct {
		name      string
		places    []string
		labels    []string
		ambiguous bool
		why       string
	}{
		{"one", []string{box("Pay", 100, 0.9)}, []string{"Pay"}, false, ""},
		{"none", nil, nil, false, "does not see it"},
		{"only unsure ones", []string{box("Pay", 100, 0.4), box("Pay", 300, 0.3)}, nil, false, "sees 2 places that might be meant"},
		{"the unsure one is left out", []string{box("Pay", 100, 0.3), box("Pay", 300, 0.9)}, []string{"Pay"}, false, ""},
		{"twins", []string{box("Pay", 100, 0.9), box("Pay", 300, 0.85)}, []string{"Pay", "Pay"}, true, "equally well"},
		{"one is better", []string{box("Pay", 100, 0.7), box("Pay", 300, 0.95)}, []string{"Pay", "Pay"}, false, ""},
		{"the exact name goes first", []string{box("Pay later", 100, 0.95), box("Pay", 300, 0.8)}, []string{"Pay", "Pay later"}, false, ""},
		{"letter case counts", []string{box("PAY", 100, 0.9), box("Pay", 300, 0.9)}, []string{"Pay", "PAY"}, false, ""},
		{"the same place twice", []string{box("Pay", 100, 0.9), box("Pay", 103, 0.88)}, []string{"Pay"}, false, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			g, _ := client(t, reply(geminitest.JSON(`{"candidates":[`+strings.Join(c.places, ",")+`]}`)))
			f, err := g.Grounder(GroundOptions{}).Locate(t.Context(), Picture{Data: screen(t, 100, 100, image.Rectangle{})}, Target{Name: "Pay"})
			var labels []string
			for _, p := range f.Places {
				labels = append(labels, p.Text)
			}
			if err != nil || !reflect.DeepEqual(labels, c.labels) || f.Ambiguous() != c.ambiguous || (f.Why == "") != (c.why == "") || !strings.Contains(f.Why, c.why) {
				t.Errorf("%+v, %v", f, err)
			}
		})
	}
}

func TestLocateErrors(t *testing.T) {
	t.Parallel()
	picture := Picture{Data: screen(t, 100, 100, image.Rectangle{})}
	for _, c := range []struct {
		name    string
		turns   []geminitest.Turn
		picture Picture
		region  Box
		want    tool.Failure
		is      error
	}{
		{"no picture", nil, Picture{}, Box{}, tool.InvalidArguments, ErrRejected},
		{"damaged", nil, Picture{Data: picture.Data[:40]}, Box{}, tool.InvalidArguments, ErrRejected},
		{"a region elsewhere", nil, picture, Box{500, 500, 10, 10}, tool.InvalidArguments, ErrRejected},
		{"out of range", []geminitest.Turn{reply(geminitest.JSON(`[{"x":1001,"y":1}]`))}, picture, Box{}, tool.MalformedResponse, ErrMalformed},
		{"refused", []geminitest.Turn{reply(geminitest.Finish("SAFETY", ""))}, picture, Box{}, tool.PolicyDenied, ErrRefused},
	} {
		g, _ := client(t, c.turns...)
		f, err := g.Grounder(GroundOptions{}).Locate(t.Context(), c.picture, Target{Name: "Pay", Region: c.region})
		if tool.AsFailed(err).Failure != c.want || !errors.Is(err, c.is) || len(f.Places) > 0 {
			t.Errorf("%s: %+v, %v", c.name, f, err)
		}
	}
	g, _ := client(t)
	if f, err := g.Grounder(GroundOptions{}).Locate(t.Context(), picture, Target{Role: "button"}); err != nil || len(f.Places) != 0 || f.Why == "" {
		t.Errorf("nothing to look for: %+v, %v", f, err)
	}
}

// The same question about the same picture is asked once, and the budget of a run is its own.
func TestLocateCachesAndCounts(t *testing.T) {
	t.Parallel()
	c, s := client(t, finder(t, "box"))
	g := c.Grounder(GroundOptions{CallsPerRun: 2})
	one, two := Picture{Data: screen(t, 100, 100, image.Rect(10, 10, 30, 20))}, Picture{Data: screen(t, 100, 100, image.Rect(50, 10, 70, 20))}
	locate := func(run string, p Picture, t2 Target) (Found, error) {
		return g.Locate(WithRun(t.Context(), run), p, t2)
	}
	first, err := locate("r_1", one, Target{Name: "Pay"})
	if err != nil {
		t.Fatal(err)
	}
	again, err := locate("r_2", one, Target{Name: "Pay"})
	if err != nil || !again.Cached || again.Usage != (Usage{}) || !reflect.DeepEqual(again.Places, first.Places) {
		t.Errorf("again: %+v, %v", again, err)
	}
	again.Places[0].Text = "changed"
	if third, _ := locate("r_2", one, Target{Name: "Pay"}); third.Places[0].Text == "changed" {
		t.Error("the kept answer can be changed from outside")
	}
	if f, err := locate("r_1", two, Target{Name: "Pay"}); err != nil || f.Cached || f.Places[0].Box == first.Places[0].Box {
		t.Errorf("another picture: %+v, %v", f, err)
	}
	if _, err := locate("r_1", one, Target{Name: "Pay", Near: "Total"}); tool.AsFailed(err).Failure != tool.ToolUnavailable || !errors.Is(err, ErrBudget) {
		t.Errorf("over the budget: %v", err)
	}
	if _, err := g.Read(WithRun(t.Context(), "r_1"), one, Box{}); !errors.Is(err, ErrBudget) {
		t.Errorf("reading over the budget: %v", err)
	}
	if f, err := locate("r_1", two, Target{Name: "Pay"}); err != nil || !f.Cached {
		t.Errorf("what is known costs nothing: %+v, %v", f, err)
	}
	if f, err := locate("r_3", one, Target{Name: "Pay", Near: "Total"}); err != nil || f.Cached {
		t.Errorf("another run: %+v, %v", f, err)
	}
	if n := len(s.Requests()); n != 3 {
		t.Errorf("%d requests", n)
	}
	if u := g.Spent("r_1"); u.Requests != 2 || u.InputTokens == 0 || g.Spent("r_9") != (Usage{}) {
		t.Errorf("spent %+v", u)
	}
}

// Tokens bound a run as calls do, also when the calls come at the same time.
func TestLocateTokenBudget(t *testing.T) {
	t.Parallel()
	c, s := client(t, geminitest.Turn{Times: geminitest.Always, Reply: geminitest.JSON(`{"candidates":[]}`).Tokens(900, 200, 0)})
	g := c.Grounder(GroundOptions{TokensPerRun: 2000, CallsPerRun: 5})
	picture := Picture{Data: screen(t, 100, 100, image.Rectangle{})}
	for i, ok := range []bool{true, true, false} {
		if _, err := g.Locate(WithRun(t.Context(), "r"), picture, Target{Name: fmt.Sprint(i)}); (err == nil) != ok {
			t.Errorf("call %d: %v", i, err)
		}
	}
	var wg sync.WaitGroup
	for i := range 20 {
		wg.Go(func() { _, _ = g.Locate(WithRun(t.Context(), "at once"), picture, Target{Name: fmt.Sprint(i)}) })
	}
	wg.Wait()
	if n := len(s.Requests()); n > 2+5 {
		t.Errorf("%d requests", n)
	}
}

func TestRead(t *testing.T) {
	t.Parallel()
	c, s := client(t, reply(geminitest.JSON(`{"lines":["Total","12.00 €"]}`)), reply(geminitest.JSON(`{"lines":[]}`)), reply(geminitest.Text("Total")))
	g := c.Grounder(GroundOptions{})
	picture := Picture{Data: screen(t, 200, 100, image.Rectangle{}), Scale: 2}
	if text, err := g.Read(t.Context(), picture, Box{0, 0, 50, 20}); err != nil || text != "Total\n12.00 €" {
		t.Errorf("%q, %v", text, err)
	}
	if size, _, _ := image.DecodeConfig(bytes.NewReader(s.Requests()[0].Images()[0].Data)); size.Width != 100 || size.Height != 40 {
		t.Errorf("the region was sent as %+v", size)
	}
	if text, err := g.Read(t.Context(), picture, Box{}); err != nil || text != "" {
		t.Errorf("no text: %q, %v", text, err)
	}
	if _, err := g.Read(t.Context(), picture, Box{}); !errors.Is(err, ErrMalformed) {
		t.Errorf("words: %v", err)
	}
}

// A point that an action of the computer-use vocabulary names is found without the model.
func TestLocatePoint(t *testing.T) {
	t.Parallel()
	c, s := client(t)
	g := c.Grounder(GroundOptions{})
	picture := Picture{Data: screen(t, 200, 100, image.Rectangle{}), Scale: 2}
	f, err := g.Locate(t.Context(), picture, Target{Description: PointTarget(Point{80, 30})})
	if err != nil || len(f.Places) != 1 || f.Places[0].Box.Center() != (Point{80, 30}) || f.Places[0].Confidence != 1 {
		t.Errorf("%+v, %v", f, err)
	}
	if f, err := g.Locate(t.Context(), picture, Target{Description: PointTarget(Point{101, 30})}); err != nil || len(f.Places) != 0 || f.Why == "" {
		t.Errorf("outside: %+v, %v", f, err)
	}
	if n := len(s.Requests()); n != 0 {
		t.Errorf("%d requests", n)
	}
}

// seer is the adapter that makes a Grounder one of the browser's, as stack has to write it.
type seer struct{ g *Grounder }

var _ vision.Grounder = seer{}

func (s seer) Name() string     { return s.g.Name() }
func (s seer) Available() error { return nil }

func (s seer) Locate(ctx context.Context, p vision.Screenshot, q vision.Query) ([]vision.Candidate, error) {
	f, err := s.g.Locate(ctx, Picture{Data: p.PNG, Scale: p.Scale}, Target{Name: q.Name, Role: q.Role, Within: q.Within, Near: q.Near, Description: q.Description, Region: Box(q.Region)})
	if err != nil {
		return nil, err
	}
	var out []vision.Candidate
	for _, p := range f.Places {
		out = append(out, vision.Candidate{Box: vision.Rect(p.Box), Text: p.Text, Confidence: p.Confidence, Exact: p.Exact, Within: p.Within, Near: p.Near})
	}
	return out, nil
}

func (s seer) Read(ctx context.Context, p vision.Screenshot, region vision.Rect) (string, error) {
	return s.g.Read(ctx, Picture{Data: p.PNG, Scale: p.Scale}, Box(region))
}

// The browser's idea of ambiguity is ours.
func TestAsTheBrowsersGrounder(t *testing.T) {
	t.Parallel()
	c, _ := client(t, finder(t, "box"))
	cs, err := seer{c.Grounder(GroundOptions{})}.Locate(t.Context(), vision.Screenshot{PNG: screen(t, 200, 100, image.Rect(100, 20, 140, 40)), Scale: 2}, vision.Query{Name: "Pay"})
	if err != nil || len(cs) != 1 || !cs[0].Exact || cs[0].Within != "Cart" {
		t.Fatalf("%+v, %v", cs, err)
	}
	if x, y := cs[0].Box.Center(); math.Abs(x-60) > 1 || math.Abs(y-15) > 1 {
		t.Errorf("at (%v, %v)", x, y)
	}
	if vision.SameConfidence != SameConfidence {
		t.Errorf("equals are within %v here and %v there", SameConfidence, vision.SameConfidence)
	}
}
