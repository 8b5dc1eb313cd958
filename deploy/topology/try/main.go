// Command try starts the topology of several machines on this one, and keeps it until Ctrl-C: go run ./deploy/topology/try -program bin/toolsvc
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"toolsvc/deploy/topology"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "topology:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	var o topology.Options
	flag.StringVar(&o.Program, "program", "bin/toolsvc", "the toolsvc program")
	flag.IntVar(&o.Workers, "workers", 2, "how many toolsvc serve")
	flag.StringVar(&o.Proxy, "proxy", "127.0.0.1:7070", "address of the proxy")
	flag.IntVar(&o.TemporalUI, "temporal-ui", 0, "port of Temporal's UI; 0 for a free one, -1 for none")
	verbose := flag.Bool("v", false, "show what the processes write")
	flag.Parse()
	if *verbose {
		o.Log = os.Stderr
	}
	o.Args = []string{"--end-browser"}
	t, err := topology.Start(ctx, o)
	if err != nil {
		return err
	}
	fmt.Printf("Proxy     %s\n", t.URL)
	for _, w := range t.Workers {
		fmt.Printf("%-9s HTTP %s, gRPC %s, process %d\n", w.Label, w.URL, w.GRPC, w.PID())
	}
	fmt.Printf("Temporal  %s, UI %s, process %d\nState     %s\nReady. Ctrl-C ends everything and removes it.\n", t.Temporal.Said("Temporal"), t.Temporal.Said("UI"), t.Temporal.PID(), t.Dir)
	<-ctx.Done()
	return t.Stop()
}
