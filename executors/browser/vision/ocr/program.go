package ocr

import (
	"bytes"
	"context"
	"fmt"
	"image"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"
)

// program runs the tesseract program, one process for all lines of a call. It is the
// fallback where libtesseract cannot be loaded: every call pays for the start of a process and for
// loading the language.
type program struct {
	path string
	data string // folder with the traineddata files
}

func (p *program) kind() string { return "the program " + p.path }

func (p *program) open(languages string) (engine, error) {
	return &programEngine{program: *p, languages: languages}, nil
}

type programEngine struct {
	program
	languages string
}

func (e *programEngine) close() {}

func (e *programEngine) read(ctx context.Context, lines []*image.Gray) ([][]word, error) {
	if len(lines) == 0 {
		return nil, ctx.Err()
	}
	c := exec.CommandContext(ctx, e.path, "stdin", "stdout",
		"--tessdata-dir", e.data, "-l", e.languages, "--psm", strconv.Itoa(singleLine), "--dpi", strconv.Itoa(resolution),
		"-c", "tessedit_create_tsv=1", "-c", "tessedit_do_invert=0", "-c", "debug_file="+os.DevNull)
	c.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
	c.Stdin = bytes.NewReader(tiff(lines))
	c.WaitDelay = time.Second
	var complaint bytes.Buffer
	c.Stderr = &complaint
	out, err := c.Output()
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	if err != nil {
		return nil, fmt.Errorf("%s could not read %d lines: %w: %s", e.path, len(lines), err, clip(complaint.String()))
	}
	return parseTSV(string(out), len(lines)), nil
}

// clip shortens what a program complained about.
func clip(s string) string {
	s = strings.TrimSpace(s)
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}
