package design

import (
	. "goa.design/goa/v3/dsl"

	. "toolsvc/toolset/dsl"
)

var _ = Toolset("terminal", func() {
	Description("Runs commands and interactive programs in the workspace, on real processes. Every call ends with what the process did: exit status, output, screen, and whether it waits for an answer.")

	Tool("run", "Run one command to its end, without a terminal, and take its exit status and output. Processes that it leaves behind are ended.", func() {
		Args(func() {
			Attribute("command", String, "Shell text, run by bash -c (by sh -c where there is no bash)", func() {
				MinLength(1)
				MaxLength(100000)
				Example("go vet ./...")
			})
			Attribute("cwd", String, "Directory to run in, inside the workspace", func() {
				MinLength(1)
				MaxLength(4096)
				Default(".")
				Example("services/api")
			})
			environment()
			Attribute("stdin", String, "What the command reads from its standard input; nothing without it", func() {
				MaxLength(1000000)
			})
			Attribute("secret_stdin", String, "The same, for a secret: it is never shown, and masked in the output", func() {
				MaxLength(100000)
				Secret()
			})
			Attribute("timeout_ms", Int, "How long it may take, in milliseconds; then it is ended with all processes that it started", func() {
				Minimum(100)
				Maximum(1800000)
				Default(60000)
			})
			Attribute("expected_exit_codes", ArrayOf(Int, func() {
				Minimum(0)
				Maximum(255)
			}), "The exit codes that count as success", func() {
				MinLength(1)
				MaxLength(32)
				Default([]int{0})
			})
			Required("command")
			Example(Val{"command": "go vet ./...", "timeout_ms": 120000})
		})
		Return(func() {
			Attribute("exit_code", Int, "Exit code; 128 and the signal's number when a signal ended it")
			Attribute("signal", String, "Name of the signal that ended it, such as SIGSEGV")
			Attribute("stdout", String, "What it wrote to standard output: beginning and end when it was long")
			Attribute("stderr", String, "What it wrote to standard error: beginning and end when it was long")
			Attribute("stdout_omitted_bytes", Int, "How many bytes of standard output are left out between beginning and end")
			Attribute("stderr_omitted_bytes", Int, "How many bytes of standard error are left out between beginning and end")
			Attribute("left_behind", Int, "How many processes it left behind; they were ended")
			Attribute("duration_ms", Int, "How long it took, in milliseconds")
			Required("exit_code", "stdout", "stderr", "stdout_omitted_bytes", "stderr_omitted_bytes", "left_behind", "duration_ms")
		})
		Effect(Reversible)
		Sources(System)
		Postcondition("exit_code_expected", `exit_code in args.expected_exit_codes`, "the command ended with an expected exit code")
		TimeLimit("31m")
		Ask("Which command should be run?")
		Rollback("Undoes nothing by itself: what a command changed outside of the workspace cannot be undone.")
	})

	Tool("open", "Open an interactive terminal session in the workspace, with a shell or another program. One of that name that is open already is kept as it is.", func() {
		Args(func() {
			sessionName()
			Attribute("command", String, "Shell text of the program to run instead of an interactive shell", func() {
				MinLength(1)
				MaxLength(100000)
				Example("python3")
			})
			Attribute("cwd", String, "Directory to start in, inside the workspace", func() {
				MinLength(1)
				MaxLength(4096)
				Default(".")
			})
			environment()
			Attribute("rows", Int, "Height of the screen in lines", func() {
				Minimum(5)
				Maximum(200)
				Default(24)
			})
			Attribute("cols", Int, "Width of the screen in characters", func() {
				Minimum(20)
				Maximum(400)
				Default(120)
			})
			Attribute("wait_for", String, "Text to wait for on the screen", func() {
				MinLength(1)
				MaxLength(2000)
			})
			patience()
			Example(Val{})
		})
		Return(func() {
			shown()
			Attribute("reused", Boolean, "Whether the session was open already")
			Required("reused")
		})
		Effect(Idempotent)
		EffectWhen(Reversible, `has(args.command)`)
		Sources(System)
		Postcondition("open", `terminal.alive`, "the session is open")
		Postcondition("text_appeared", `!has(args.wait_for) || result.found`, "the text that was waited for appeared")
		TimeLimit("11m")
		Rollback("Ends the session that was opened. What its program did meanwhile cannot be undone.")
	})

	Tool("type", "Type text into a session, perhaps press Enter, and wait until its command has ended, the text waited for appears, or it waits for an answer.", func() {
		Args(func() {
			sessionName()
			Attribute("text", String, "The text", func() {
				MinLength(1)
				MaxLength(100000)
				Example("go vet ./...")
			})
			Attribute("secret", String, "The text, when it is a secret: it is never shown, and masked on the screen", func() {
				MinLength(1)
				MaxLength(4000)
				Secret()
			})
			Attribute("submit", Boolean, "Press Enter afterwards", func() { Default(false) })
			Attribute("wait_for", String, "Text to wait for in what follows", func() {
				MinLength(1)
				MaxLength(2000)
			})
			patience()
			AtLeastOne("text", "secret")
			Example(Val{"text": "go vet ./...", "submit": true})
		})
		Return(func() { shown() })
		Effect(Reversible)
		Sources(Hotkey)
		Postcondition("delivered", `effect.delivered`, "the terminal took the text")
		Postcondition("text_appeared", `!has(args.wait_for) || result.found`, "the text that was waited for appeared")
		TimeLimit("11m")
		Ask("Which text should be typed?")
		Rollback("Erases text that was typed at a shell's prompt and not submitted. What was submitted cannot be undone.")
	})

	Tool("press", "Press keys in a session: Enter, Control+c, ArrowUp, q, …", func() {
		Args(func() {
			sessionName()
			Attribute("key", String, "Key or combination: Enter, Escape, Tab, Control+c, Alt+b, ArrowUp, F1, a", func() {
				Pattern(`^((Alt|Control|Shift)\+)*([A-Za-z0-9]+|[!-/:-@\[-` + "`" + `{-~])$`)
				MaxLength(60)
			})
			Attribute("times", Int, "How often", func() {
				Minimum(1)
				Maximum(1000)
				Default(1)
			})
			Attribute("wait_for", String, "Text to wait for in what follows", func() {
				MinLength(1)
				MaxLength(2000)
			})
			patience()
			Required("key")
			Example(Val{"key": "Enter"})
		})
		Return(func() { shown() })
		Effect(Reversible)
		Sources(Hotkey)
		Postcondition("delivered", `effect.delivered`, "the terminal took the key")
		Postcondition("text_appeared", `!has(args.wait_for) || result.found`, "the text that was waited for appeared")
		TimeLimit("11m")
		Ask("Which key should be pressed?")
		Rollback("Undoes nothing: what a program made of a key cannot be taken back.")
	})

	Tool("read", "Read the screen of a session, and as much of what has scrolled off it as wanted.", func() {
		Args(func() {
			sessionName()
			Attribute("scrollback", Int, "How many lines above the screen to read as well", func() {
				Minimum(0)
				Maximum(5000)
				Default(0)
			})
			Attribute("wait_for", String, "Text to wait for on the screen", func() {
				MinLength(1)
				MaxLength(2000)
			})
			patience()
			Example(Val{})
		})
		Return(func() {
			shown()
			Attribute("scrollback", String, "The lines above the screen, the oldest first")
			Attribute("scrollback_lines", Int, "How many lines above the screen there are")
			Required("scrollback_lines")
		})
		Effect(ReadOnly)
		Sources(System)
		Postcondition("screen_read", `has(result.screen)`, "the screen was read")
		Postcondition("text_appeared", `!has(args.wait_for) || result.found`, "the text that was waited for is there")
		TimeLimit("11m")
	})

	Tool("close", "Close a session and end all processes in it. One that is closed already, or was never opened, is closed.", func() {
		Args(func() {
			sessionName()
			Example(Val{})
		})
		Return(func() {
			Attribute("exit_code", Int, "Exit code of the session's program; 128 and the signal's number when a signal ended it")
			Attribute("ended", Int, "How many processes were ended")
			Required("ended")
		})
		Effect(Idempotent)
		Sources(System)
		Postcondition("closed", `!terminal.alive`, "the session is closed")
		TimeLimit("30s")
	})
})

// sessionName is which session a tool works on.
func sessionName() {
	Attribute("session", String, "Name of the session, within the run", func() {
		Pattern(`^[a-z][a-z0-9_-]{0,31}$`)
		MaxLength(32)
		Default("main")
	})
}

// environment is what a process sees beside the service's own clean environment.
func environment() {
	for _, name := range []string{"env", "secret_env"} {
		text := "Environment variables beside the clean ones of the service"
		if name == "secret_env" {
			text = "Environment variables whose values are secrets: never shown, and masked in the output"
		}
		Attribute(name, MapOf(String, String, func() {
			Key(func() {
				Pattern(`^[A-Za-z_][A-Za-z0-9_]*$`)
				MaxLength(200)
			})
			Elem(func() {
				MaxLength(32000)
				if name == "secret_env" {
					Secret()
				}
			})
		}), text, func() { MaxLength(100) })
	}
}

// patience bounds the wait of a session's tool.
func patience() {
	Attribute("timeout_ms", Int, "How long to wait, in milliseconds, until a command has ended or the text appears; the session goes on afterwards", func() {
		Minimum(50)
		Maximum(600000)
		Default(10000)
	})
}

// shown is what every tool of a session tells of it.
func shown() {
	Attribute("screen", String, "The screen, line by line, without blank lines at its end")
	Attribute("output", String, "What was written since the action, as it reads on a screen; of a shell's command its output alone. Beginning and end when it was long")
	Attribute("output_omitted_bytes", Int, "How many bytes of it are left out between beginning and end")
	Attribute("cursor_row", Int, "Line of the cursor, counted from 1")
	Attribute("cursor_col", Int, "Column of the cursor, counted from 1")
	Attribute("prompt", String, "What the session is asking for", func() {
		Enum("none", "shell", "password", "yes_no", "pager", "input")
	})
	Attribute("prompt_text", String, "The line that asks")
	Attribute("waiting", Boolean, "Whether it waits for input")
	Attribute("running", Boolean, "Whether a command is still at work")
	Attribute("alive", Boolean, "Whether the session is open")
	Attribute("found", Boolean, "Whether the text that was waited for appeared; true when none was")
	Attribute("exit_code", Int, "Exit code of the command that ended since the action, or of the session's program when that has ended")
	Attribute("cwd", String, "Directory of the shell, when it tells")
	Attribute("program", String, "Name of the program in the foreground")
	Attribute("title", String, "Title that the program has set")
	Attribute("waited_ms", Int, "How long it took, in milliseconds")
	Required("screen", "output", "output_omitted_bytes", "cursor_row", "cursor_col", "prompt", "waiting", "running", "alive", "found", "waited_ms")
}
