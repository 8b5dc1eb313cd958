// Command fakegemini serves a script as the Gemini API would answer it, on loopback, until it is interrupted:
//
//	go run ./gemini/geminitest/fakegemini script.yaml
//	toolsvc serve --gemini-url http://127.0.0.1:8931
//
// It prints its URL to standard output, and what it refuses to standard error when it ends.
package main

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"toolsvc/gemini/geminitest"
)

func main() {
	addr := flag.String("addr", "127.0.0.1:8931", "address to listen on; port 0 for any free one")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: fakegemini [-addr host:port] script.yaml")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, *addr, flag.Arg(0), os.Stdout, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "fakegemini:", err)
		os.Exit(1)
	}
}

// run serves the script until ctx ends.
func run(ctx context.Context, addr, path string, out, log io.Writer) error {
	script, err := geminitest.Load(path)
	if err != nil {
		return err
	}
	s, err := geminitest.Serve(addr, script)
	if err != nil {
		return err
	}
	defer s.Close()
	fmt.Fprintln(out, s.URL())
	<-ctx.Done()
	fmt.Fprintf(log, "%d requests\n", len(s.Requests()))
	for _, why := range s.Refused() {
		fmt.Fprintln(log, "refused:", why)
	}
	return nil
}
