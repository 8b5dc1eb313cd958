package main

import (
	"io"

	"github.com/alecthomas/kong"
	mangokong "github.com/alecthomas/mango-kong"
	kongcompletion "github.com/jotaen/kong-completion"
	"github.com/muesli/roff"
	"github.com/posener/complete"

	"toolsvc/gen/toolsets"
)

// manCmd writes the manual page.
type manCmd struct{}

func (manCmd) Help() string {
	return "toolsvc man | man -l -    shows it; toolsvc man > /usr/local/share/man/man1/toolsvc.1    installs it."
}

func (manCmd) Run(k *kong.Context, std streams) error {
	_, err := io.WriteString(std.out, mangokong.NewManPage(1, k.Model).Build(roff.NewDocument()))
	return err
}

// completes answers the shell, and ends the process, when the shell asks what a command line that is being typed can go on with.
func completes(parser *kong.Kong) {
	kongcompletion.Register(parser,
		kongcompletion.WithPredictor("tool", complete.PredictFunc(func(complete.Args) (ids []string) {
			for _, id := range toolsets.Registry().IDs() {
				ids = append(ids, string(id))
			}
			return ids
		})),
		kongcompletion.WithPredictor("plan", complete.PredictOr(complete.PredictFiles("*.yaml"), complete.PredictFiles("*.yml"), complete.PredictFiles("*.json"))))
}
