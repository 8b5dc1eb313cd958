// Package pipeline holds the document pipeline: a plan of three writers, the document that they start from, and models for
// gemini/geminitest that play the writers, well-behaved or not. README.md says how to run it; `make demo-pipeline` does.
//
// Nothing of the service imports it: its demo and the tests do.
package pipeline

import (
	"embed"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"

	"toolsvc/gemini/geminitest"
)

//go:embed plan.yaml start models
var files embed.FS

// Document is the document's path from the root of the workspace, as the plan and the models name it.
const Document = "article.md"

// Behaviour is how the model behaves, which plays the writers.
type Behaviour struct {
	// Name is what people call it.
	Name string
	// Models are the scripts, one a writer, in their order. A writer without one is not reached.
	Models []string
}

// Behaviours lists all of them. Those of three models end with the whole document, the others at concepts-writer.
var Behaviours = []Behaviour{
	{"well-behaved", []string{"overview", "concepts", "visualization"}},
	{"corrects-itself", []string{"overview", "concepts-corrects-itself", "visualization"}},
	{"believes-it-is-done", []string{"overview", "concepts-believes-it-is-done", "visualization"}},
	{"ignores-feedback", []string{"overview", "concepts-ignores-feedback"}},
	{"over-edits", []string{"overview", "concepts-over-edits"}},
	{"misses-log", []string{"overview", "concepts-misses-log"}},
	{"repeats-itself", []string{"overview", "concepts-repeats-itself"}},
	{"insists", []string{"overview", "concepts-insists"}},
}

// Named finds a behaviour.
func Named(name string) (Behaviour, error) {
	i := slices.IndexFunc(Behaviours, func(b Behaviour) bool { return b.Name == name })
	if i < 0 {
		var names []string
		for _, b := range Behaviours {
			names = append(names, b.Name)
		}
		return Behaviour{}, fmt.Errorf("there is no behaviour %q; there are %v", name, names)
	}
	return Behaviours[i], nil
}

// Turns reads scripts and puts them one after the other.
func Turns(models ...string) ([]geminitest.Turn, error) {
	var turns []geminitest.Turn
	for _, m := range models {
		text, err := files.ReadFile(path.Join("models", m+".yaml"))
		if err != nil {
			return nil, fmt.Errorf("read the model %s: %w", m, err)
		}
		script, err := geminitest.Parse(text)
		if err != nil {
			return nil, fmt.Errorf("read the model %s: %w", m, err)
		}
		turns = append(turns, script.Turns...)
	}
	return turns, nil
}

// Plan opens the plan.
func Plan() (fs.File, error) { return files.Open("plan.yaml") }

// CopyStart puts the document and its sources into an empty folder.
func CopyStart(dir string) error {
	start, err := fs.Sub(files, "start")
	if err != nil {
		return err
	}
	return os.CopyFS(dir, start)
}
