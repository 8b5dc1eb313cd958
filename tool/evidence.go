package tool

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// ElementQuery asks evidence for the element with this accessible name and role, as conditions do: element("Play", "button").
// An empty Role means any role.
type ElementQuery struct {
	Name string `json:"name"`
	Role string `json:"role,omitempty"`
}

// Needs says which costly parts of evidence the conditions of a call will read, so that only those are collected.
type Needs struct {
	Elements []ElementQuery `json:"elements,omitempty"`
	// Text asks for page.text, the visible text of the page.
	Text bool `json:"text,omitempty"`
	// Documents asks for files by their paths, as conditions do: document("README.md"). Their answers stand in the value "documents" of
	// the evidence, by path.
	Documents []string `json:"documents,omitempty"`
	// DocumentText asks for the text of documents and of their sections.
	DocumentText bool `json:"document_text,omitempty"`
	// Links asks whether the links of documents lead somewhere.
	Links bool `json:"links,omitempty"`
}

// Element is the answer to an ElementQuery: the state of the best match at the moment of observation.
type Element struct {
	Query ElementQuery `json:"query"`
	// State holds the fields that a condition can read: exists, visible, enabled, focused, checked, selected, expanded, value,
	// text, count (how many match). Fields that do not apply are absent.
	State map[string]any `json:"state"`
}

// Artifact is a stored piece of evidence, such as a screenshot.
type Artifact struct {
	Name      string `json:"name"`       // what it shows: "screenshot"
	MediaType string `json:"media_type"` // "image/png"
	Digest    string `json:"digest"`     // "sha256:…"
	// Mark says where on the picture the action is aimed; nil when it is aimed at nothing on it.
	Mark *Mark `json:"mark,omitempty"`
}

// Mark is a place on a picture, in pixels of the picture from its top left corner: the point that is acted on, and the box of the element,
// whose width and height are 0 when it is not known.
type Mark struct {
	X      float64 `json:"x"`
	Y      float64 `json:"y"`
	Left   float64 `json:"left"`
	Top    float64 `json:"top"`
	Width  float64 `json:"width"`
	Height float64 `json:"height"`
}

// Evidence is what was observed at one moment, as plain JSON values. A deterministic verdict depends on nothing else.
type Evidence struct {
	// Values are the variables of conditions, by name: page, target, effect, result, …
	Values    map[string]any `json:"values"`
	Elements  []Element      `json:"elements,omitempty"`
	Artifacts []Artifact     `json:"artifacts,omitempty"`
}

// Encode renders e as JSON with sorted keys, and returns it with its content digest ("sha256:…").
func (e *Evidence) Encode() (text []byte, digest string, err error) {
	text, err = json.Marshal(e) // encoding/json sorts the keys of maps
	if err != nil {
		return nil, "", fmt.Errorf("encode evidence: %w", err)
	}
	return text, Digest(text), nil
}

// Digest is the content digest of b: "sha256:" and 64 hexadecimal digits.
func Digest(b []byte) string {
	sum := sha256.Sum256(b)
	return "sha256:" + hex.EncodeToString(sum[:])
}
