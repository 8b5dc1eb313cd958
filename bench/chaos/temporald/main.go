// Command temporald is a Temporal of its own process for package chaos, so that it can be cut off and killed by itself: the embedded one of
// toolsvc, without toolsvc.
//
//	temporald -dir DIR -port 7233
//
// It prints a line when it is ready, and ends with SIGTERM or an interrupt.
package main

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

func main() {
	dir := flag.String("dir", "", "directory of its database")
	port := flag.Int("port", 0, "port on loopback")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *dir, *port); err != nil {
		fmt.Fprintln(os.Stderr, "temporald:", err)
		os.Exit(1)
	}
}

func serve(ctx context.Context, dir string, port int) error {
	s, err := temporalserver.Start(ctx, temporalserver.Options{StateDir: dir, FrontendPort: port, UIPort: temporalserver.NoUI,
		SearchAttributes: temporalclient.SearchAttributes()})
	if err != nil {
		return err
	}
	fmt.Println("Ready at", s.Address())
	select {
	case <-ctx.Done():
		return s.Stop()
	case err := <-s.Failed():
		_ = s.Stop() // the first failure says more
		return err
	}
}
