package ocr

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"image"
	"math"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"

	"toolsvc/executors/browser/vision"
	"toolsvc/executors/browser/vision/pixdiff"
)

// Options set a Grounder up. The zero value is a good choice.
type Options struct {
	// Engines bounds how many engines exist at a time, 40 MB each. Zero means as many as there
	// are processors, at most four.
	Engines int
	// Floor is the confidence below which a candidate is not returned. Zero means DefaultFloor.
	Floor float64
	// Data is the folder that holds the traineddata files. Empty means TESSDATA_PREFIX and the
	// usual places.
	Data string
	// Program is the tesseract program, for machines without libtesseract. Empty means
	// "tesseract" in the PATH.
	Program string
	// ProgramOnly leaves libtesseract alone.
	ProgramOnly bool
}

// DefaultFloor is a confidence that misread and hardly readable labels do not reach.
const DefaultFloor = 0.6

// Grounder finds targets by the text on them. It is safe for use by several goroutines.
type Grounder struct {
	options Options
	sheets  *recent[[sha256.Size]byte, *sheet]

	mu     sync.Mutex
	reader *reader
	data   string
	closed bool
}

var _ vision.Grounder = (*Grounder)(nil)

// knownSheets bounds how many pictures are kept analysed: locating, comparing and reading usually
// ask about the same one.
const knownSheets = 4

// New makes a grounder. It loads nothing: what it needs is looked for when it is first used, and
// again whenever it was missing.
func New(o Options) *Grounder {
	if o.Engines <= 0 {
		o.Engines = min(4, runtime.GOMAXPROCS(0))
	}
	if o.Floor == 0 {
		o.Floor = DefaultFloor
	}
	if o.Program == "" {
		o.Program = "tesseract"
	}
	return &Grounder{options: o, sheets: newRecent[[sha256.Size]byte, *sheet](knownSheets)}
}

// Name is "ocr".
func (g *Grounder) Name() string { return "ocr" }

// Available is nil if tesseract and its English data are installed. Otherwise the error wraps
// vision.ErrUnavailable and says how to install them.
func (g *Grounder) Available() error {
	_, _, err := g.ready()
	return err
}

// Engine says how text is read, for diagnosis: "libtesseract" or the path of the program.
func (g *Grounder) Engine() (string, error) {
	r, _, err := g.ready()
	if err != nil {
		return "", err
	}
	return r.pool.opener.kind(), nil
}

// Close frees the engines. A closed grounder fails.
func (g *Grounder) Close() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.closed = true
	if g.reader != nil {
		g.reader.pool.close()
	}
	return nil
}

// ready finds the data and the engine.
func (g *Grounder) ready() (r *reader, data string, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed {
		return nil, "", errClosed
	}
	if g.reader != nil {
		return g.reader, g.data, nil
	}
	folders := []string{g.options.Data}
	if g.options.Data == "" {
		folders = dataFolders(os.Getenv("TESSDATA_PREFIX"))
	}
	data, err = findData(folders)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w; %s", vision.ErrUnavailable, err, installHint)
	}
	o, err := g.findEngine(data)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %w; %s", vision.ErrUnavailable, err, installHint)
	}
	g.reader, g.data = newReader(newPool(o, g.options.Engines)), data
	return g.reader, g.data, nil
}

// findEngine prefers the library over the program.
func (g *Grounder) findEngine(data string) (opener, error) {
	var missing error
	if !g.options.ProgramOnly {
		a, err := loadLibrary()
		if err == nil {
			return &library{api: a, data: data}, nil
		}
		missing = err
	}
	path, err := exec.LookPath(g.options.Program)
	if err != nil {
		return nil, errors.Join(missing, fmt.Errorf("find the program: %w", err))
	}
	return &program{path: path, data: data}, nil
}

// open analyses a screenshot, or a part of it with some room around it.
func (g *Grounder) open(ctx context.Context, shot vision.Screenshot, region vision.Rect) (*sheet, image.Point, error) {
	scale := shot.Scale
	if scale == 0 {
		scale = 1
	}
	if !(scale >= 0.1 && scale <= 10) {
		return nil, image.Point{}, fmt.Errorf("a screenshot with %v pixels per CSS pixel cannot be read: 0.1 to 10 are possible", shot.Scale)
	}
	part := pixels(region, scale)
	h := sha256.New()
	h.Write(shot.PNG)
	var head []byte
	for _, v := range []int{part.Min.X, part.Min.Y, part.Max.X, part.Max.Y, int(math.Round(scale * 1000))} {
		head = binary.LittleEndian.AppendUint64(head, uint64(v))
	}
	h.Write(head)
	var key [sha256.Size]byte
	h.Sum(key[:0])

	const room = 12 // CSS pixels around a region, in which the ground of its text can be seen
	margin := int(room * scale)
	outer := part.Inset(-margin)
	if known, ok := g.sheets.get(key); ok {
		return known, outerOrigin(outer, region), nil
	}
	m, err := pixdiff.Decode(shot.PNG)
	if err != nil {
		return nil, image.Point{}, fmt.Errorf("open the screenshot: %w", err)
	}
	if !region.Empty() {
		m = crop(m, outer)
		if m.Rect.Empty() {
			return nil, image.Point{}, fmt.Errorf("the region %v is outside of the screenshot", region)
		}
	}
	if err := ctx.Err(); err != nil {
		return nil, image.Point{}, err
	}
	s := analyse(m, scale)
	g.sheets.put(key, s)
	return s, outerOrigin(outer, region), nil
}

// outerOrigin is where the analysed part begins in the screenshot.
func outerOrigin(outer image.Rectangle, region vision.Rect) image.Point {
	if region.Empty() {
		return image.Point{}
	}
	return image.Pt(max(0, outer.Min.X), max(0, outer.Min.Y))
}

// crop copies a part of a picture, so that its first pixel is at the origin.
func crop(m *image.NRGBA, part image.Rectangle) *image.NRGBA {
	part = part.Intersect(m.Rect)
	out := image.NewNRGBA(image.Rect(0, 0, part.Dx(), part.Dy()))
	for y := range part.Dy() {
		from := m.PixOffset(part.Min.X, part.Min.Y+y)
		copy(out.Pix[y*out.Stride:], m.Pix[from:from+4*part.Dx()])
	}
	return out
}

// pixels turns CSS pixels into those of the screenshot. Wild values are cut off.
func pixels(r vision.Rect, scale float64) image.Rectangle {
	at := func(v float64) int { return int(math.Round(max(-1e6, min(1e6, v*scale)))) }
	return image.Rect(at(r.X), at(r.Y), at(r.X+r.W), at(r.Y+r.H))
}

// css turns pixels of the analysed part into CSS pixels of the screenshot.
func css(r image.Rectangle, origin image.Point, scale float64) vision.Rect {
	r = r.Add(origin)
	return vision.Rect{X: float64(r.Min.X) / scale, Y: float64(r.Min.Y) / scale, W: float64(r.Dx()) / scale, H: float64(r.Dy()) / scale}
}

// Read returns the text in a region (zero: everywhere), line by line. Labels on one line are separated
// by two spaces. What the engine could hardly read is left out.
func (g *Grounder) Read(ctx context.Context, shot vision.Screenshot, region vision.Rect) (string, error) {
	r, _, err := g.ready()
	if err != nil {
		return "", err
	}
	s, origin, err := g.open(ctx, shot, region)
	if err != nil {
		return "", fmt.Errorf("read text: %w", err)
	}
	wanted := pixels(region, s.scale).Sub(origin)
	var which []int
	for k := range s.strips {
		b := s.strips[k].box
		if region.Empty() || image.Pt((b.Min.X+b.Max.X)/2, (b.Min.Y+b.Max.Y)/2).In(wanted) {
			which = append(which, k)
		}
	}
	words, err := r.read(ctx, s, which, english, lineHeight)
	if err != nil {
		return "", fmt.Errorf("read text: %w", err)
	}
	var runs []run
	for n, k := range which {
		for _, r := range splitRuns(k, &s.strips[k], words[n]) {
			if readable(&r) {
				runs = append(runs, r)
			}
		}
	}
	return strings.Join(textLines(runs), "\n"), nil
}
