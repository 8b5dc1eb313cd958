//go:build linux

package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"strings"
	"syscall"
	"time"

	"toolsvc/bench/gym"
)

type options struct {
	bin, only, svg       string
	most, soak, every, n int
	each                 time.Duration
}

func main() {
	var o options
	flag.StringVar(&o.bin, "bin", "", "toolsvc that was built before; built now when empty")
	flag.StringVar(&o.only, "only", "", "only this series: step, edit, command or click")
	flag.IntVar(&o.most, "most", 512, "clients at the most")
	flag.DurationVar(&o.each, "each", 6*time.Second, "how long each number of clients works")
	flag.IntVar(&o.n, "n", 20, "clicks whose time is taken apart")
	flag.StringVar(&o.svg, "svg", "", "file for a drawing of the curves")
	flag.IntVar(&o.soak, "soak", 0, "instead: so many runs on one server")
	flag.IntVar(&o.every, "every", 250, "look at the footprint every so many runs of a soak")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	good, err := run(ctx, o, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "load:", err)
		os.Exit(4)
	}
	if !good {
		os.Exit(1)
	}
}

// run measures and prints; good tells that nothing failed and that a soak was flat.
func run(ctx context.Context, o options, out io.Writer) (good bool, err error) {
	site, err := gym.Start()
	if err != nil {
		return false, err
	}
	defer site.Close() //nolint:errcheck // it served what it had to
	s, err := startServer(ctx, o.bin)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, s.stop()) }()
	fmt.Fprintf(out, "%d cores, %s, load average at the start: %s\n", runtime.NumCPU(), runtime.Version(), loadAverage())
	if o.soak > 0 {
		return soak(ctx, s, site, o.soak, max(1, o.every), out)
	}
	levels, err := curves(ctx, s, site, o.only, o.most, o.each, out)
	if err != nil {
		return false, err
	}
	if o.only == "" || o.only == "click" {
		if err := cost(ctx, s, site, o.n, out); err != nil {
			return false, err
		}
	}
	good = true
	for _, l := range levels {
		good = good && len(l.Failed) == 0
	}
	if o.svg != "" {
		err = os.WriteFile(o.svg, []byte(draw(levels)), 0o644)
	}
	return good, err
}

// loadAverage is how busy the machine was in the last minute: figures of a busy one say little.
func loadAverage() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	return strings.Fields(string(text))[0]
}
