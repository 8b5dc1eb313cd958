package main

import (
	"context"
	"errors"
	"fmt"
	"text/tabwriter"

	"toolsvc/executors/browser/memory"
	"toolsvc/store"
)

// memoryCmd shows and erases heal memory. It reads the store itself, so it needs no Temporal and no browser, and works beside a server.
type memoryCmd struct {
	List   memoryListCmd   `cmd:"" help:"List what is remembered, latest first."`
	Forget memoryForgetCmd `cmd:"" help:"Erase what is remembered. The runs of a server no longer use it from this moment on."`
}

// memoryFilter selects entries.
type memoryFilter struct {
	Origin   string `help:"Only of pages of this origin: https://shop.example." placeholder:"ORIGIN"`
	Page     string `help:"Only of pages of this pattern, as the list shows it." placeholder:"/path/*"`
	Contains string `help:"Only targets, or elements, whose description contains this." placeholder:"TEXT"`
}

func (f memoryFilter) filter() memory.Filter {
	return memory.Filter{Origin: f.Origin, Pattern: f.Page, Contains: f.Contains}
}

type memoryListCmd struct {
	memoryFilter
	JSON bool `name:"json" help:"As JSON, with everything that is remembered."`
}

func (c *memoryListCmd) Run(ctx context.Context, common *Common, std streams) error {
	return common.memory(ctx, func(m *memory.Memory) error {
		list, err := m.List(ctx, c.filter())
		if err != nil {
			return err
		}
		if c.JSON {
			if list == nil {
				list = []memory.Entry{}
			}
			return writeJSON(std.out, list)
		}
		t := tabwriter.NewWriter(std.out, 0, 0, 2, ' ', 0)
		for _, e := range list {
			how := "as described"
			if e.Relocated {
				how = "relocated"
			}
			if _, err := fmt.Fprintf(t, "%s%s\t%s\t%s %q\t%s\t%s\n", e.Origin, e.Pattern, e.Target, e.Element.Role, e.Element.Name, how, e.ConfirmedAt.Local().Format("2006-01-02 15:04")); err != nil {
				return err
			}
		}
		return t.Flush()
	})
}

type memoryForgetCmd struct {
	memoryFilter
	All bool `help:"Erase everything, when no filter is given."`
}

func (c *memoryForgetCmd) Run(ctx context.Context, common *Common, std streams) error {
	if (c.memoryFilter == memoryFilter{}) != c.All {
		return usage("say what to forget with --origin, --page or --contains, or --all for everything, not both")
	}
	return common.memory(ctx, func(m *memory.Memory) error {
		n, err := m.Erase(ctx, c.filter())
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(std.out, "%d forgotten\n", n)
		return err
	})
}

// memory opens the store of the state directory for its memory.
func (c *Common) memory(ctx context.Context, do func(*memory.Memory) error) (err error) {
	s, err := store.Open(ctx, c.StateDir, store.Options{URL: c.Store, BucketURL: c.Artifacts})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	return do(memory.New(s, nil))
}
