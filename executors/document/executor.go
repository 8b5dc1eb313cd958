package document

import (
	"context"
	"fmt"

	"toolsvc/executors/document/files"
	"toolsvc/tool"
)

// Executor works on the files of a workspace. It implements tool.Executor and tool.Reconciler; it keeps nothing for a run between its calls.
type Executor struct {
	opts   Options
	root   *files.Root
	seen   memory
	models models
}

var (
	_ tool.Executor   = (*Executor)(nil)
	_ tool.Reconciler = (*Executor)(nil)
	_ tool.Attempt    = (*attempt)(nil)
)

// New makes an executor for the files of a folder, which must be there.
func New(o Options) (*Executor, error) {
	o, err := o.withDefaults()
	if err != nil {
		return nil, err
	}
	root, err := files.Open(o.Root, o.MaxFile)
	if err != nil {
		return nil, fmt.Errorf("make the document executor: %w", err)
	}
	return &Executor{opts: o, root: root}, nil
}

// Shutdown gives the folder up.
func (x *Executor) Shutdown() error { return x.root.Close() }

// Applies implements tool.Executor: files are worked on directly.
func (x *Executor) Applies(_ *tool.Call, source tool.Source) bool { return source == tool.SourceSystem }

// Begin implements tool.Executor.
func (x *Executor) Begin(_ context.Context, call *tool.Call, plan tool.Plan) (tool.Attempt, error) {
	return x.begin(call, plan.Number)
}

func (x *Executor) begin(call *tool.Call, number int) (*attempt, error) {
	act, err := actionOf(call.Args)
	if err != nil {
		return nil, err
	}
	return &attempt{x: x, call: call, act: act, number: number}, nil
}

// Observe answers conditions that ask for documents by their paths, outside of any call: those of a stage, say. It is the value "documents" of
// evidence; a document that cannot be looked at, or does not fit any more, is not in it, which leaves conditions undecided.
func (x *Executor) Observe(ctx context.Context, needs tool.Needs) (map[string]any, error) {
	out := make(map[string]any, len(needs.Documents))
	room := maxEvidence
	for _, path := range needs.Documents {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		f, err := x.root.Read(path)
		if err != nil {
			continue
		}
		v, left := fit(x.values(x.models.of(f), needs), room)
		if left < 0 {
			continue
		}
		room = left
		out[path] = v
	}
	return out, nil
}
