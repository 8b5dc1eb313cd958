package document

import (
	gen "toolsvc/gen/toolsets/document"
	"toolsvc/tool"
)

// kind is what a call does.
type kind string

const (
	kindRead         kind = "read"
	kindOutline      kind = "outline"
	kindWrite        kind = "write"
	kindReplace      kind = "replace"
	kindInsert       kind = "insert"
	kindWriteSection kind = "write_section"
	kindComment      kind = "comment"
	kindDiff         kind = "diff"
)

// action is a call, whatever its tool.
type action struct {
	kind     kind
	path     string
	ifDigest *string
	// plan makes the change out of the file as it is; of a reading call one without edits.
	plan func(*model) (*change, error)
	args tool.Payload
}

// writes reports whether the call may change the file.
func (a action) writes() bool {
	return a.kind != kindRead && a.kind != kindOutline && a.kind != kindDiff
}

// actionOf reads a payload.
func actionOf(p tool.Payload) (action, error) {
	switch p := p.(type) {
	case *gen.ReadPayload:
		return action{kind: kindRead, path: p.Path, args: p, plan: func(m *model) (*change, error) { return planRead(m, p) }}, nil
	case *gen.OutlinePayload:
		return action{kind: kindOutline, path: p.Path, args: p, plan: planWhole}, nil
	case *gen.WritePayload:
		return action{kind: kindWrite, path: p.Path, ifDigest: p.IfDigest, args: p, plan: func(m *model) (*change, error) { return planWrite(m, p) }}, nil
	case *gen.ReplacePayload:
		return action{kind: kindReplace, path: p.Path, ifDigest: p.IfDigest, args: p, plan: func(m *model) (*change, error) { return planReplace(m, p) }}, nil
	case *gen.InsertPayload:
		return action{kind: kindInsert, path: p.Path, ifDigest: p.IfDigest, args: p, plan: func(m *model) (*change, error) { return planInsert(m, p) }}, nil
	case *gen.WriteSectionPayload:
		return action{kind: kindWriteSection, path: p.Path, ifDigest: p.IfDigest, args: p, plan: func(m *model) (*change, error) { return planWriteSection(m, p) }}, nil
	case *gen.CommentPayload:
		return action{kind: kindComment, path: p.Path, ifDigest: p.IfDigest, args: p, plan: func(m *model) (*change, error) { return planComment(m, p) }}, nil
	case *gen.DiffPayload:
		return action{kind: kindDiff, path: p.Path, args: p, plan: planWhole}, nil
	}
	return action{}, tool.Failf(tool.Internal, "the document executor does not know the payload %T", p)
}
