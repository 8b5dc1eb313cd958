//go:build linux

package main

import (
	"bytes"
	"math/rand/v2"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"toolsvc/gemini/geminitest"
)

// model is a stand-in for Gemini on its real wire protocol that plans one command for a goal, and may be slow or fail.
type model struct {
	server *geminitest.Server
	// slowUntil and badUntil are in nanoseconds since 1970; hit counts the requests that met either.
	slowUntil, badUntil, hit atomic.Int64
}

func openModel() (*model, error) {
	m := &model{}
	var err error
	m.server, err = geminitest.Serve("127.0.0.1:0", &geminitest.Script{Turns: []geminitest.Turn{{Name: "chaos", Times: geminitest.Always, Handle: m.turn}}})
	return m, err
}

// goalText is a goal that turn understands.
func goalText(command string) string { return "Run this command, once: <<" + command + ">>" }

var goalCommand = regexp.MustCompile(`(?s)<<(.*)>>`)

// turn plans the command that the goal names, and says afterwards what came of it; it never makes a second call.
func (m *model) turn(r *geminitest.Request) geminitest.Reply {
	now := time.Now().UnixNano()
	if now < m.badUntil.Load() {
		m.hit.Add(1)
		return []geminitest.Reply{geminitest.Fail(http.StatusServiceUnavailable, "The model is overloaded."), geminitest.Body("no JSON"), geminitest.Drop(),
			geminitest.Empty(), geminitest.Fail(http.StatusTooManyRequests, "Slow down.").After(time.Second)}[rand.IntN(5)]
	}
	reply := m.answer(r)
	if now < m.slowUntil.Load() {
		m.hit.Add(1)
		late := make(chan struct{})
		time.AfterFunc(time.Duration(500+rand.IntN(1500))*time.Millisecond, func() { close(late) })
		reply = reply.Until(late)
	}
	return reply
}

func (m *model) answer(r *geminitest.Request) geminitest.Reply {
	if r.Function("terminal_run") == nil && len(r.FunctionNames()) == 0 {
		return geminitest.Empty() // it has no opinion on verdicts and pictures
	}
	for _, c := range r.Contents {
		for _, p := range c.Parts {
			if p.Response != nil {
				if bytes.Contains(p.Response.Response, []byte(`"status":"success"`)) {
					return geminitest.Text("It is done.")
				}
				return geminitest.Text("I could not do it.")
			}
		}
	}
	command := goalCommand.FindStringSubmatch(r.Text())
	if command == nil {
		return geminitest.Text("I do not understand the goal.")
	}
	return geminitest.Calls(geminitest.Call("terminal_run", map[string]any{"command": command[1]}))
}
