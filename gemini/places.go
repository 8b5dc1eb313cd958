package gemini

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"

	jsonv2 "github.com/go-json-experiment/json"
)

// maxPlaces bounds the places of one answer.
const maxPlaces = 50

// mark is one place in an answer, in thousandths of the picture.
type mark struct {
	x0, y0, x1, y1 float64 // a point has no extent
	label          string
	within, near   string
	confidence     float64
}

func (m mark) point() bool { return m.x0 == m.x1 && m.y0 == m.y1 }

// unscored is the confidence of a place that comes without one: the computer-use vocabulary has none.
const unscored = 0.5

// wireMark is a place in any of the conventions that Gemini's models use: boxes [ymin, xmin, ymax, xmax] and points [y, x] with y first,
// and {x, y} as the computer-use tool gives it.
type wireMark struct {
	Box2D      []float64 `json:"box_2d"`
	Box        []float64 `json:"box"`
	Point      []float64 `json:"point"`
	X          *float64  `json:"x"`
	Y          *float64  `json:"y"`
	Label      string    `json:"label"`
	Within     string    `json:"within"`
	Near       string    `json:"near"`
	Confidence *float64  `json:"confidence"`
}

// parseMarks reads an answer: {"candidates": […]}, a list, or a single place. One place that is out of range or contradicts itself makes
// the whole answer an error: a model that gets one wrong is not to be believed about the others.
func parseMarks(text string) ([]mark, error) {
	raw := []byte(unfence(text))
	var wire []wireMark
	var whole struct {
		Candidates *[]wireMark `json:"candidates"`
	}
	var one wireMark
	switch {
	case strings.HasPrefix(string(raw), "["):
		if err := jsonv2.Unmarshal(raw, &wire); err != nil {
			return nil, errors.New("its list of places cannot be read")
		}
	case jsonv2.Unmarshal(raw, &whole) != nil:
		return nil, errors.New("its answer is not JSON of the form that was asked for")
	case whole.Candidates != nil:
		wire = *whole.Candidates
	case jsonv2.Unmarshal(raw, &one) != nil:
		return nil, errors.New("its place cannot be read")
	default:
		wire = []wireMark{one}
	}
	if len(wire) > maxPlaces {
		return nil, fmt.Errorf("it gave %d places, which is no answer", len(wire))
	}
	var out []mark
	for i, w := range wire {
		m, err := w.mark()
		if err != nil {
			return nil, fmt.Errorf("its place %d %w", i+1, err)
		}
		out = append(out, m)
	}
	return out, nil
}

func (w wireMark) mark() (mark, error) {
	m := mark{label: strings.Join(strings.Fields(w.Label), " "), within: strings.TrimSpace(w.Within), near: strings.TrimSpace(w.Near), confidence: unscored}
	if w.Confidence != nil {
		m.confidence = *w.Confidence
	}
	if !(m.confidence >= 0 && m.confidence <= 1) {
		return m, fmt.Errorf("has a confidence of %v, which is not between 0 and 1", m.confidence)
	}
	box := w.Box2D
	if box == nil {
		box = w.Box
	}
	point := w.Point
	if point == nil && w.X != nil && w.Y != nil {
		point = []float64{*w.Y, *w.X}
	}
	for _, v := range slices.Concat(box, point) {
		if !(v >= 0 && v <= 1000) {
			return m, fmt.Errorf("has the coordinate %v, which is not between 0 and 1000", v)
		}
	}
	switch {
	case box == nil && point == nil:
		return m, errors.New("has no coordinates")
	case box != nil && len(box) != 4, point != nil && len(point) != 2:
		return m, errors.New("has the wrong number of coordinates")
	case box == nil:
		m.y0, m.x0, m.y1, m.x1 = point[0], point[1], point[0], point[1]
		return m, nil
	}
	m.y0, m.x0, m.y1, m.x1 = box[0], box[1], box[2], box[3]
	if m.y0 >= m.y1 || m.x0 >= m.x1 {
		return m, errors.New("is a box without area")
	}
	if point != nil && (point[0] < m.y0 || point[0] > m.y1 || point[1] < m.x0 || point[1] > m.x1) {
		return m, errors.New("has a point outside of its box")
	}
	return m, nil
}

// pointSide is the side of the box around a point, in CSS pixels.
const pointSide = 2

// place renders a mark in CSS pixels of the whole picture.
func (s sent) place(m mark, name string) Place {
	p := Place{Text: m.label, Confidence: m.confidence, Within: m.within, Near: m.near, Exact: name != "" && m.label == strings.Join(strings.Fields(name), " ")}
	a, b := s.onPicture(m.x0, m.y0), s.onPicture(m.x1, m.y1)
	p.Box = Box{a.X, a.Y, b.X - a.X, b.Y - a.Y}
	if m.point() {
		p.Box = Box{a.X - pointSide/2, a.Y - pointSide/2, pointSide, pointSide}
	}
	return p
}

// distinct leaves out places that are another one's again: those that overlap by most of their area. The first of them stays.
func distinct(places []Place) []Place {
	var out []Place
	for _, p := range places {
		if !slices.ContainsFunc(out, func(o Place) bool { return overlap(o.Box, p.Box) > 0.7 }) {
			out = append(out, p)
		}
	}
	return out
}

// overlap is the common area as a share of that of both together.
func overlap(a, b Box) float64 {
	w := math.Min(a.X+a.W, b.X+b.W) - math.Max(a.X, b.X)
	h := math.Min(a.Y+a.H, b.Y+b.H) - math.Max(a.Y, b.Y)
	if w <= 0 || h <= 0 {
		return 0
	}
	return w * h / (a.W*a.H + b.W*b.H - w*h)
}
