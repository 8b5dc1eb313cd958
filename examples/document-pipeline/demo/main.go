// Command demo runs the document pipeline in a temporary workspace, with a scripted model in the place of Gemini:
//
//	make build && go run ./examples/document-pipeline/demo
//	go run ./examples/document-pipeline/demo -behaviour over-edits -lang ko
//
// It starts bin/toolsvc as anybody would, so that what it shows is what there is. Its exit status is that of toolsvc.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"toolsvc/examples/document-pipeline"
	"toolsvc/gemini/geminitest"
)

func main() {
	behaviour := flag.String("behaviour", "corrects-itself", "how the model behaves: a name from pipeline.Behaviours")
	program := flag.String("toolsvc", filepath.Join("bin", "toolsvc"), "the program")
	lang := flag.String("lang", "en", "language of the narration: en, ko or ja")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := run(ctx, *behaviour, *program, *lang)
	if ended := new(exec.ExitError); errors.As(err, &ended) {
		os.Exit(max(1, ended.ExitCode()))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "demo:", err)
		os.Exit(2)
	}
}

// run plays one behaviour. What it leaves is the temporary folder, whose place it prints.
func run(ctx context.Context, behaviour, program, lang string) error {
	b, err := pipeline.Named(behaviour)
	if err != nil {
		return err
	}
	turns, err := pipeline.Turns(b.Models...)
	if err != nil {
		return err
	}
	model, err := geminitest.Serve("127.0.0.1:0", &geminitest.Script{Turns: turns})
	if err != nil {
		return err
	}
	defer model.Close()
	dir, err := os.MkdirTemp("", "toolsvc-pipeline-")
	if err != nil {
		return err
	}
	workspace, state, plan := filepath.Join(dir, "workspace"), filepath.Join(dir, "state"), filepath.Join(dir, "plan.yaml")
	if err := pipeline.CopyStart(workspace); err != nil {
		return err
	}
	if err := copyPlan(plan); err != nil {
		return err
	}
	fmt.Printf("A scripted model (%s) plays three writers, in %s.\n\n", b.Name, workspace)
	cmd := exec.CommandContext(ctx, program, "--state-dir", state, "--workspace", workspace, "--gemini-url", model.URL(), "--lang", lang, "run", plan)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // so that it cancels its run, and says so
	cmd.Env = append(os.Environ(), "GEMINI_API_KEY=scripted")
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err = cmd.Run()
	for _, why := range slices.Compact(model.Refused()) {
		fmt.Fprintln(os.Stderr, "demo: the scripted model refused a request:", why)
	}
	fmt.Printf("\nThe document:            %s\nThe run, stage by stage: %s --state-dir %s serve\n", filepath.Join(workspace, pipeline.Document), program, state)
	return err
}

func copyPlan(to string) error {
	in, err := pipeline.Plan()
	if err != nil {
		return err
	}
	defer in.Close() //nolint:errcheck // it was only read
	out, err := os.Create(to)
	if err != nil {
		return err
	}
	_, err = out.ReadFrom(in)
	return errors.Join(err, out.Close())
}
