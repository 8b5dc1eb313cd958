package document

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"toolsvc/executors/document/files"
	"toolsvc/executors/document/textfile"
	"toolsvc/tool"
)

// edit replaces what lies between two offsets. What is written has up to three parts: what the caller asked for, and what separates it from what
// is around it.
type edit struct {
	start, end        int
	lead, text, trail string
}

func (e edit) all() string { return e.lead + e.text + e.trail }

// change is what a call makes of a file.
type change struct {
	before *model
	edits  []edit // in order, not overlapping
	after  *textfile.Text
	data   []byte
	digest string
	// shown are the places that a reading call shows; it has no edits.
	shown []edit

	heading                 string // of write_section: the path
	level                   int
	sectionCreated          bool
	commented               bool
	language                string
	missing                 []string
	replacedWhole, creating bool
}

// makeChange applies edits to a file that is there.
func makeChange(m *model, edits ...edit) (*change, error) {
	list := make([]textfile.Edit, len(edits))
	for i, e := range edits {
		if err := storable(e.all(), e.start); err != nil {
			return nil, err
		}
		list[i] = textfile.Edit{Start: e.start, End: e.end, Text: e.all()}
	}
	after, err := m.text.Apply(list)
	if err != nil {
		return nil, tool.Failf(tool.Internal, "edit %s: %w", m.file.Path, err)
	}
	return finishChange(&change{before: m, edits: edits, after: after})
}

// finishChange makes the bytes, and makes sure that they are read again as what was meant.
func finishChange(c *change) (*change, error) {
	c.data = c.after.Bytes()
	c.digest = tool.Digest(c.data)
	back, err := textfile.Decode(c.data)
	if err != nil || back.LF != c.after.LF || back.Encoding != c.after.Encoding || back.BOM != c.after.BOM {
		return nil, tool.Failf(tool.PreconditionFailed, "With this text %s would not be read again as what was written, so nothing was written.", c.before.file.Path)
	}
	return c, nil
}

func storable(text string, at int) error {
	if err := textfile.Storable(text); err != nil {
		return tool.Failf(tool.PreconditionFailed, "The text cannot be written: %w.", err)
	}
	if at == 0 && strings.HasPrefix(text, "\uFEFF") {
		return tool.Failf(tool.PreconditionFailed, "The text begins with a byte-order mark. Leave it out: a file that has one keeps it.")
	}
	return nil
}

// span is a place in a text, in bytes. focus is what was asked for, without what separates it.
type span struct{ start, end, focusStart, focusEnd int }

// spansBefore are the edited places in the text from before, spansAfter in the text from after.
func (c *change) spansBefore() []span {
	var out []span
	for _, e := range append(c.edits, c.shown...) {
		out = append(out, span{e.start, e.end, e.start, e.end})
	}
	return out
}

func (c *change) spansAfter() []span {
	var out []span
	shift := 0
	for _, e := range c.edits {
		s := e.start + shift
		f := s + len(e.lead)
		out = append(out, span{s, s + len(e.all()), f, f + len(e.text)})
		shift += len(e.all()) - (e.end - e.start)
	}
	for _, e := range c.shown {
		out = append(out, span{e.start, e.end, e.start, e.end})
	}
	return out
}

// within cuts spans to a text that may be shorter than what they were made for: another program may have changed it.
func within(spans []span, length int) []span {
	out := make([]span, len(spans))
	at := 0
	for i, s := range spans {
		s.start = min(max(s.start, at), length)
		s.end = min(max(s.end, s.start), length)
		s.focusStart = min(max(s.focusStart, s.start), s.end)
		s.focusEnd = min(max(s.focusEnd, s.focusStart), s.end)
		at = s.end
		out[i] = s
	}
	return out
}

// restDigest is the digest of everything outside of the spans, as it stands in the file, and of the place of each.
func restDigest(t *textfile.Text, spans []span) string {
	h := sha256.New()
	at := 0
	for _, s := range spans {
		h.Write([]byte(t.Raw(at, s.start)))
		h.Write([]byte{0})
		at = s.end
	}
	h.Write([]byte(t.Raw(at, len(t.LF))))
	return "sha256:" + hex.EncodeToString(h.Sum(nil))
}

// textDigest is the digest of a text whatever its line endings are, and without the line breaks around it; conditions call it text_digest.
func textDigest(s string) string {
	return tool.Digest([]byte(strings.Trim(textfile.Normalize(s), "\n")))
}

// unchanged reports that nothing has to be written.
func (c *change) unchanged() bool { return c.before.file.Exists && c.before.file.Digest == c.digest }

// content is what the file is to become.
func (c *change) content(o Options) files.Content {
	return files.Content{Data: c.data, Mode: o.FileMode}
}
