// Command toolsvc serves tools that repair, verify and heal, and runs plans of them.
//
// Exit status: 0 success, 1 a step failed, 2 bad usage or an invalid payload, 3 waiting for an answer, 4 infrastructure.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/alecthomas/kong"
	kongcompletion "github.com/jotaen/kong-completion"

	"toolsvc/executors/terminal"
)

// Exit statuses.
const (
	exitFailed         = 1
	exitUsage          = 2
	exitWaiting        = 3
	exitInfrastructure = 4
)

// exit is an error that carries an exit status. A nil err says that everything was already printed.
type exit struct {
	status int
	err    error
}

func (e *exit) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit status %d", e.status)
	}
	return e.err.Error()
}

func (e *exit) Unwrap() error { return e.err }

// usage marks an error as the caller's.
func usage(format string, args ...any) error {
	return &exit{exitUsage, fmt.Errorf(format, args...)}
}

// cli is the command line.
type cli struct {
	Common

	Serve    serveCmd    `cmd:"" help:"Serve all surfaces: HTTP and gRPC, with an embedded Temporal and its UI unless an address is given."`
	MCP      mcpCmd      `cmd:"" name:"mcp" help:"Serve MCP on standard input and output, for a client that starts this program."`
	Run      runCmd      `cmd:"" help:"Run a plan of steps, with narration. Exit status 0 only when every step is verified."`
	Call     callCmd     `cmd:"" help:"Make one call. Narration goes to standard error, the ToolResult to standard output."`
	Tools    toolsCmd    `cmd:"" help:"Show the catalogue of tools, or one tool."`
	Runs     runsCmd     `cmd:"" help:"List the latest runs."`
	Show     showCmd     `cmd:"" help:"Show one run: steps, attempts, verdicts."`
	Answer   answerCmd   `cmd:"" help:"Answer a question of a run, or show its open questions."`
	Pause    pauseCmd    `cmd:"" help:"Pause a run between two steps."`
	Resume   resumeCmd   `cmd:"" help:"Let a paused run go on."`
	Cancel   cancelCmd   `cmd:"" help:"Cancel a run."`
	Memory   memoryCmd   `cmd:"" help:"Show, or erase, what is remembered of elements of pages that were acted on with success."`
	Temporal temporalCmd `cmd:"" help:"Serve Temporal alone, or ready a real cluster."`
	Doctor   doctorCmd   `cmd:"" help:"Say what is there and what is missing, with the fix for each."`
	Demo     demoCmd     `cmd:"" help:"Run the main job on a local page full of failures."`

	Completion kongcompletion.Completion `cmd:"" help:"Say how bash, zsh or fish complete toolsvc's commands, flags and tools."`
	Man        manCmd                    `cmd:"" help:"Write the manual page, in roff."`
}

// streams are where a command reads and writes.
type streams struct {
	out, err io.Writer
}

func main() {
	terminal.Supervise() // commands have supervisors: this program, started anew
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], streams{os.Stdout, os.Stderr}))
}

// newParser reads command lines into c, and the rest from the environment and the configuration file, if there is one.
func newParser(c *cli, file *config, std streams, exited func(code int), more ...kong.Option) (*kong.Kong, error) {
	options := append([]kong.Option{
		kong.Name("toolsvc"),
		kong.Description("Tools for agents that repair, verify and heal."),
		kong.UsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true}),
		kong.Writers(std.out, std.err),
		kong.Exit(exited),
		kong.Vars{"state": defaultStateDir()},
		kong.Bind(std),
	}, more...)
	if file != nil {
		options = append(options, kong.Resolvers(file))
	}
	return kong.New(c, options...)
}

// run is main without the process around it.
func run(ctx context.Context, args []string, std streams) int {
	var c cli
	status := -1
	file, err := readConfig(args)
	if err != nil {
		fmt.Fprintln(std.err, "toolsvc:", err)
		return exitUsage
	}
	parser, err := newParser(&c, file, std, func(code int) { status = code }, kong.BindTo(ctx, (*context.Context)(nil))) // --help
	if err != nil {
		fmt.Fprintln(std.err, "toolsvc:", err)
		return exitInfrastructure
	}
	if file != nil { // before the values, so that all misspelt names are told at once
		if err := file.Validate(parser.Model); err != nil {
			fmt.Fprintln(std.err, "toolsvc:", err)
			return exitUsage
		}
	}
	completes(parser)
	k, err := parser.Parse(args)
	if status >= 0 {
		return status
	}
	if err := fromFile(err, file, args); err != nil {
		fmt.Fprintf(std.err, "toolsvc: %v\nRun \"toolsvc --help\" for the commands.\n", err)
		return exitUsage
	}
	err = k.Run(&c.Common)
	if status >= 0 {
		return status
	}
	var e *exit
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		if e.err != nil {
			fmt.Fprintln(std.err, "toolsvc:", e.err)
		}
		return e.status
	case errors.Is(err, context.Canceled) && ctx.Err() != nil:
		fmt.Fprintln(std.err, "toolsvc: interrupted")
		return exitFailed
	}
	fmt.Fprintln(std.err, "toolsvc:", err)
	return exitInfrastructure
}
