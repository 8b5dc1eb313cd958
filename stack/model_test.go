package stack

import (
	"bytes"
	"fmt"
	"image"
	_ "image/jpeg"
	_ "image/png"
	"testing"

	"toolsvc/gemini/geminitest"
	"toolsvc/planner"
	"toolsvc/tool"
)

// blue finds the blue button in the picture that it is shown, as the model would.
func blue(t *testing.T) geminitest.Turn {
	return geminitest.Turn{If: geminitest.All(geminitest.WithImage(), geminitest.WantsField("candidates")), Handle: func(r *geminitest.Request) geminitest.Reply {
		found, err := blueBoxes(r.Images()[0].Data)
		if err != nil {
			t.Error(err)
			return geminitest.Empty()
		}
		return geminitest.JSON(found)
	}}
}

// blueBoxes is the answer of a model that is asked for the blue button: the bounds of what is blue in the picture, in thousandths of its size.
func blueBoxes(picture []byte) (string, error) {
	m, _, err := image.Decode(bytes.NewReader(picture))
	if err != nil {
		return "", err
	}
	var found image.Rectangle
	b := m.Bounds()
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			if r, g, bl, _ := m.At(x, y).RGBA(); r < 0x3800 && g > 0x4c00 && g < 0x7000 && bl > 0xe800 {
				found = found.Union(image.Rect(x, y, x+1, y+1))
			}
		}
	}
	if found.Empty() {
		return `{"candidates":[]}`, nil
	}
	at := func(v, size int) int { return v * 1000 / size }
	return fmt.Sprintf(`{"candidates":[{"label":"","within":"","near":"","box_2d":[%d,%d,%d,%d],"confidence":0.9}]}`,
		at(found.Min.Y, b.Dy()), at(found.Min.X, b.Dx()), at(found.Max.Y, b.Dy()), at(found.Max.X, b.Dx())), nil
}

func thinks(verdict string, met bool) geminitest.Turn {
	return geminitest.Turn{If: geminitest.All(geminitest.WithImage(), geminitest.WantsField("verdict")),
		Reply: geminitest.JSON(map[string]any{"changes": "the button", "expectation_met": met, "verdict": verdict, "confidence": 0.9, "explanation": "The button now says Stop."})}
}

// Each asks in other words, because an answer about the same picture is remembered.
//
// A button that no words describe is found by the model in the picture, clicked, and what it came to is judged by conditions and model
// together: where they agree it is verified; where the model is sure of the contrary it is never called a success, and not repeated.
func TestModelSeesAndVerifies(t *testing.T) {
	for name, c := range map[string]struct {
		verdict string
		met, ok bool
		code    tool.Failure
	}{
		"agrees":       {"success", true, true, ""},
		"contradicts":  {"failure", false, false, tool.VerificationUncertain},
		"does not say": {"uncertain", false, true, ""},
	} {
		t.Run(name, func(t *testing.T) {
			model.Add(thinks("success", true), blue(t), thinks(c.verdict, c.met)) // the first is asked about the page that opened
			st := finish(t, planner.Input{Title: "Seen", Policy: tool.Policy{Verify: tool.VerifyAlways}}, open(t, "/c/canvas?silent=1"),
				request(t, "browser.click", map[string]any{"target": map[string]any{"description": "the blue button below the title, " + name}, "intent": "Play the record."}))
			res := st.Steps[1].Result
			v := res.Verification
			if res.OK() != c.ok || v == nil || v.Opinion == nil || v.Opinion.Agrees != (c.verdict == "success") || !c.ok && res.Error.Code != c.code {
				t.Fatalf("%+v\n%+v\n%+v\nthe fake refused %v", res.Error, v, res.Attempts, model.Refused())
			}
			if last := res.Attempts[len(res.Attempts)-1]; last.Source != tool.SourceVision || !last.Phase.Dispatched() {
				t.Errorf("attempts %+v", res.Attempts)
			}
			if res.Telemetry.InputTokens == 0 || res.Telemetry.Model == "" {
				t.Errorf("telemetry %+v", res.Telemetry)
			}
			if unused := model.Unused(); len(unused) > 0 {
				t.Errorf("the model was not asked for %v", unused)
			}
		})
	}
}
