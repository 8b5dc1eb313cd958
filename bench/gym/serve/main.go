// Command serve serves the gym's pages, the demo's shop at /demo among them, for trying tools by hand:
//
//	go run ./bench/gym/serve
//
// The examples in docs/ use its default address. Ctrl-C ends it.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"toolsvc/bench/gym"
)

func main() {
	address := flag.String("address", "127.0.0.1:8090", "loopback address to listen on; port 0 is any free one")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	site, err := gym.Listen(*address)
	if err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
	fmt.Printf("Ready. The shop of the demo: %s/demo. All pages: %s/. Ctrl-C ends it.\n", site.URL, site.URL)
	<-ctx.Done()
	if err := site.Close(); err != nil {
		fmt.Fprintln(os.Stderr, "serve:", err)
		os.Exit(1)
	}
}
