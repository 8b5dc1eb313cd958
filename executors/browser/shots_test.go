package browser

import (
	"bytes"
	"context"
	"errors"
	"image/jpeg"
	"math"
	"testing"
	"time"

	"toolsvc/tool"
)

// picturing makes an executor that takes pictures.
func picturing(t *testing.T, keep ArtifactStore) *Executor {
	t.Helper()
	x, err := New(Options{Ephemeral: true, Artifacts: keep, Screenshots: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		if err := x.Shutdown(ctx); err != nil {
			t.Error(err)
		}
	})
	return x
}

// TestPicturesOfAnAction: the evidence from before has a picture with the place of the click marked, the one from after another one. A busy
// machine may take one too late, which is no failure, so the action is done again then.
func TestPicturesOfAnAction(t *testing.T) {
	t.Parallel()
	p := openIn(t, picturing(t, store), `<body style="margin:0"><button style="position:absolute;left:100px;top:200px;width:80px;height:40px"
		onclick="document.body.style.background=(window.n=(window.n||0)+1)%2?'#06c':'#fff'">Play</button>`)
	var d done
	for range 20 {
		d = p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
		if err := d.att.Close(); err != nil {
			t.Fatal(err)
		}
		if len(d.before.Artifacts) == 1 && len(d.after.Artifacts) == 1 {
			break
		}
	}
	if len(d.before.Artifacts) != 1 || len(d.after.Artifacts) != 1 {
		t.Fatalf("%+v and %+v", d.before.Artifacts, d.after.Artifacts)
	}
	before, after := d.before.Artifacts[0], d.after.Artifacts[0]
	m := before.Mark
	if before.MediaType != "image/jpeg" || m == nil || math.Abs(m.X-140) > 1 || math.Abs(m.Y-220) > 1 || math.Abs(m.Left-100) > 1 || math.Abs(m.Width-80) > 1 {
		t.Errorf("%+v, mark %+v", before, m)
	}
	if after.Mark != nil || after.Digest == before.Digest {
		t.Errorf("%+v", after)
	}
	for _, a := range []tool.Artifact{before, after} {
		img, err := jpeg.Decode(bytes.NewReader(store.get(a.Digest)))
		if err != nil || img.Bounds().Dx() != 1280 || img.Bounds().Dy() != 800 {
			t.Errorf("%v, %v", img, err)
		}
	}
}

// TestNoPictureShowsASecret: a password that the page shows in plain, and a field that is made for one, are in no picture.
func TestNoPictureShowsASecret(t *testing.T) {
	t.Parallel()
	x := picturing(t, store)
	for name, body := range map[string]string{
		"revealed": `<label>Key <input type=password id=f value=hunter2></label><script>f.type='text'</script>`,
		"made for": `<label>Card <input autocomplete=cc-number value="4111 1111"></label>`,
		"by name":  `<label>PIN <input name=user_password value=hunter2></label>`,
	} {
		t.Run(name, func(t *testing.T) {
			p := openIn(t, x, body+counter)
			d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
			if len(d.before.Artifacts)+len(d.after.Artifacts) > 0 {
				t.Errorf("%+v, %+v", d.before.Artifacts, d.after.Artifacts)
			}
		})
	}
}

// TestLookingTakesNoPictures: pictures are of actions.
func TestLookingTakesNoPictures(t *testing.T) {
	t.Parallel()
	p := openIn(t, picturing(t, store), counter)
	d := p.do("read", map[string]any{}).must(t, tool.EffectNone)
	if len(d.before.Artifacts)+len(d.after.Artifacts) > 0 {
		t.Errorf("%+v, %+v", d.before.Artifacts, d.after.Artifacts)
	}
}

// full is a store that keeps nothing.
type full struct{}

func (full) Put(context.Context, string, []byte) (string, error) {
	return "", errors.New("no space left on device")
}

// TestPictureThatCannotBeKept: an action does not fail for want of a picture.
func TestPictureThatCannotBeKept(t *testing.T) {
	t.Parallel()
	p := openIn(t, picturing(t, full{}), counter)
	d := p.do("click", clickOn("Play")).must(t, tool.EffectConfirmed)
	if err := d.att.Close(); err != nil {
		t.Error(err)
	}
}
