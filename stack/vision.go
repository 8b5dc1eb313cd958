package stack

import (
	"context"

	"toolsvc/executors/browser/vision"
	"toolsvc/gemini"
)

// seer finds things in pictures by reading the words in them, and by the model what that does not find. Words that are read exactly need
// no model; where the model fails, what was read stands.
type seer struct {
	words vision.Grounder
	model *gemini.Grounder
}

func newSeer(words vision.Grounder, c *gemini.Client, callers *callersModel) vision.Grounder {
	switch {
	case c == nil && callers != nil:
		return callerEyes{words, callers}
	case c == nil:
		return words
	}
	return seer{words: words, model: c.Grounder(gemini.GroundOptions{})}
}

func (s seer) Name() string { return s.model.Name() }

// Available implements vision.Grounder: the model is there, whatever else is missing.
func (s seer) Available() error { return nil }

func (s seer) Locate(ctx context.Context, p vision.Screenshot, q vision.Query) ([]vision.Candidate, error) {
	var read []vision.Candidate
	if q.Name != "" && s.words.Available() == nil {
		var err error
		if read, err = s.words.Locate(ctx, p, q); err == nil && len(read) > 0 && read[0].Exact && !vision.Ambiguous(read) {
			return read, nil
		}
	}
	f, err := s.model.Locate(gemini.WithRun(ctx, vision.RunOf(ctx)), gemini.Picture{Data: p.PNG, Scale: p.Scale},
		gemini.Target{Name: q.Name, Role: q.Role, Within: q.Within, Near: q.Near, Description: q.Description, Region: gemini.Box(q.Region)})
	if err != nil {
		if s.words.Available() == nil {
			return read, nil
		}
		return nil, err
	}
	var found []vision.Candidate
	for _, pl := range f.Places {
		found = append(found, vision.Candidate{Box: vision.Rect(pl.Box), Text: pl.Text, Confidence: pl.Confidence, Exact: pl.Exact, Within: pl.Within, Near: pl.Near})
	}
	return found, nil
}

func (s seer) Read(ctx context.Context, p vision.Screenshot, region vision.Rect) (string, error) {
	if s.words.Available() == nil {
		return s.words.Read(ctx, p, region)
	}
	return s.model.Read(gemini.WithRun(ctx, vision.RunOf(ctx)), gemini.Picture{Data: p.PNG, Scale: p.Scale}, gemini.Box(region))
}
