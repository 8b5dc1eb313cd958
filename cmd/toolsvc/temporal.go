package main

import (
	"context"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"toolsvc/temporalclient"
	"toolsvc/temporalserver"
)

// temporalCmd is what has to do with Temporal alone.
type temporalCmd struct {
	Serve temporalServeCmd `cmd:"" help:"Serve the embedded Temporal and its UI as a process of its own, for several toolsvc on this machine."`
	Setup temporalSetupCmd `cmd:"" help:"Ready a real cluster: create the namespace and the search attributes, as far as they are missing."`
}

// temporalServeCmd serves Temporal only.
type temporalServeCmd struct {
	Port   int `help:"Port of the frontend; 0 keeps the last one, or takes a free one." default:"7233"`
	UIPort int `name:"ui-port" help:"Port of the UI; 0 keeps the last one, -1 switches it off." default:"0"`
}

func (c *temporalServeCmd) Run(ctx context.Context, common *Common, std streams) error {
	srv, err := temporalserver.Start(ctx, temporalserver.Options{StateDir: filepath.Join(common.StateDir, "temporal"), FrontendPort: c.Port, UIPort: c.UIPort,
		Namespace: common.Namespace, SearchAttributes: temporalclient.SearchAttributes(), Logger: slog.New(slog.NewTextHandler(std.err, nil))})
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	fmt.Fprintf(std.err, "Temporal  %s\n", srv.Address())
	if srv.UIURL() != "" {
		fmt.Fprintf(std.err, "UI        %s\n", srv.UIURL())
	}
	fmt.Fprintln(std.err, "Ready. Ctrl-C ends it.")
	var failed error
	select {
	case failed = <-srv.Failed():
	case <-ctx.Done():
	}
	if err := srv.Stop(); err != nil {
		return &exit{exitInfrastructure, err}
	}
	if failed != nil {
		return &exit{exitInfrastructure, failed}
	}
	return nil
}

// temporalSetupCmd readies a cluster.
type temporalSetupCmd struct {
	Retention time.Duration `help:"How long a new namespace keeps closed runs." default:"168h"`
}

func (c *temporalSetupCmd) Run(ctx context.Context, common *Common, std streams) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p, err := temporalclient.Setup(ctx, temporalclient.Options{Address: common.TemporalAddress, Namespace: common.Namespace}, c.Retention)
	if err != nil {
		return &exit{exitInfrastructure, err}
	}
	did := "was there"
	if p.Created {
		did = "was created"
	}
	_, err = fmt.Fprintf(std.out, "Temporal at %s: the namespace %s %s, and has toolsvc's search attributes.\n", p.Address, p.Namespace, did)
	return err
}
