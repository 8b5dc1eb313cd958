package geminitest

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"gopkg.in/yaml.v3"
)

// maxScript bounds a script file.
const maxScript = 4 << 20

// Script is what a fake answers without a test.
type Script struct {
	// Model is the model that is listed; every other one is answered too.
	Model string
	// Repeat starts again from the first turn when all are used.
	Repeat bool
	Turns  []Turn
}

// file is the format of a script file:
//
//	model: gemini-3.8-flash
//	repeat: true
//	turns:
//	  - name: plan                      # for messages
//	    when:                           # all of them must hold; none means any request
//	      declares: browser_click       # a declared function
//	      answers: browser_click        # the last message answers a call of it
//	      says: some text               # in the conversation
//	      told: some text               # in the system instruction
//	      wants: verdict                # a field of the response schema
//	      image: true                   # with or without a picture
//	    times: 2                        # or "always"; once when absent
//	    reply:                          # one of text, json, calls, blocked, error, body, drop
//	      text: Done.
//	      calls:
//	        - {name: browser_click, args: {target: {name: Play}}}
//	      json: {verdict: success}
//	      finish: MAX_TOKENS
//	      blocked: SAFETY
//	      error: {status: 429, message: Slow down., retry_after: 2s}
//	      body: "no JSON"
//	      drop: true
type file struct {
	Model  string     `yaml:"model"`
	Repeat bool       `yaml:"repeat"`
	Turns  []fileTurn `yaml:"turns"`
}

type fileTurn struct {
	Name  string    `yaml:"name"`
	When  fileWhen  `yaml:"when"`
	Times fileTimes `yaml:"times"`
	Reply fileReply `yaml:"reply"`
}

type fileWhen struct {
	Declares string `yaml:"declares"`
	Answers  string `yaml:"answers"`
	Says     string `yaml:"says"`
	Told     string `yaml:"told"`
	Wants    string `yaml:"wants"`
	Image    *bool  `yaml:"image"`
}

type fileTimes int

// UnmarshalYAML reads a number of times, or "always".
func (t *fileTimes) UnmarshalYAML(n *yaml.Node) error {
	if n.Value == "always" {
		*t = Always
		return nil
	}
	var i int
	if err := n.Decode(&i); err != nil || i < 1 {
		return fmt.Errorf(`line %d: times is a number above 0, or "always"`, n.Line)
	}
	*t = fileTimes(i)
	return nil
}

type fileReply struct {
	Text    string     `yaml:"text"`
	JSON    yaml.Node  `yaml:"json"`
	Calls   []fileCall `yaml:"calls"`
	Finish  string     `yaml:"finish"`
	Blocked string     `yaml:"blocked"`
	Error   *fileError `yaml:"error"`
	Body    *string    `yaml:"body"`
	Drop    bool       `yaml:"drop"`
}

type fileCall struct {
	Name string    `yaml:"name"`
	ID   *string   `yaml:"id"`
	Args yaml.Node `yaml:"args"`
}

type fileError struct {
	Status     int    `yaml:"status"`
	Message    string `yaml:"message"`
	RetryAfter string `yaml:"retry_after"`
}

// Load reads a script from a YAML or JSON file. Unknown fields, and turns that could not be answered, are errors that name their turn.
func Load(path string) (*Script, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("load the script: %w", err)
	}
	defer f.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(f, maxScript+1))
	if err != nil {
		return nil, fmt.Errorf("load the script %s: %w", path, err)
	}
	if len(b) > maxScript {
		return nil, fmt.Errorf("load the script %s: it is larger than %d bytes", path, maxScript)
	}
	s, err := Parse(b)
	if err != nil {
		return nil, fmt.Errorf("load the script %s: %w", path, err)
	}
	return s, nil
}

// Parse reads a script as [Load] does.
func Parse(text []byte) (*Script, error) {
	d := yaml.NewDecoder(bytes.NewReader(text))
	d.KnownFields(true)
	var f file
	if err := d.Decode(&f); err != nil {
		if errors.Is(err, io.EOF) {
			err = errors.New("it is empty")
		}
		return nil, err
	}
	s := &Script{Model: f.Model, Repeat: f.Repeat}
	if len(f.Turns) == 0 {
		return nil, errors.New("it has no turns")
	}
	for i, t := range f.Turns {
		reply, err := t.Reply.reply()
		if err != nil {
			return nil, fmt.Errorf("turn %d %s: %w", i+1, t.Name, err)
		}
		s.Turns = append(s.Turns, Turn{Name: t.Name, If: t.When.matcher(), Reply: reply, Times: int(t.Times)})
	}
	return s, nil
}

func (w fileWhen) matcher() Matcher {
	var ms []Matcher
	for _, c := range []struct {
		value string
		make  func(string) Matcher
	}{{w.Declares, Declares}, {w.Answers, Answers}, {w.Says, Says}, {w.Told, Told}, {w.Wants, WantsField}} {
		if c.value != "" {
			ms = append(ms, c.make(c.value))
		}
	}
	if w.Image != nil {
		m := WithImage()
		if !*w.Image {
			m = Not(m)
		}
		ms = append(ms, m)
	}
	return All(ms...)
}

func (f fileReply) reply() (Reply, error) {
	var replies []Reply
	var parts Reply
	if f.Text != "" {
		parts = parts.And(Text(f.Text))
	}
	if !f.JSON.IsZero() {
		b, err := asJSON(&f.JSON)
		if err != nil {
			return Reply{}, err
		}
		parts = parts.And(Text(string(b)))
	}
	for _, c := range f.Calls {
		if c.Name == "" {
			return Reply{}, errors.New("a call has no name")
		}
		args := json.RawMessage(`{}`)
		if !c.Args.IsZero() {
			var err error
			if args, err = asJSON(&c.Args); err != nil {
				return Reply{}, err
			}
		}
		if !isObject(args) {
			return Reply{}, fmt.Errorf("the arguments of %s are not an object", c.Name)
		}
		call := Call(c.Name, args)
		if c.ID != nil {
			call = call.WithID(*c.ID)
		}
		parts = parts.And(Calls(call))
	}
	if len(parts.Parts) > 0 || f.Finish != "" {
		parts.Finish = f.Finish
		replies = append(replies, parts)
	}
	if f.Blocked != "" {
		replies = append(replies, Blocked(f.Blocked))
	}
	if e := f.Error; e != nil {
		if e.Status < 400 || e.Status > 599 {
			return Reply{}, fmt.Errorf("an error's status is between 400 and 599, not %d", e.Status)
		}
		r := Fail(e.Status, e.Message)
		if e.RetryAfter != "" {
			d, err := time.ParseDuration(e.RetryAfter)
			if err != nil || d <= 0 {
				return Reply{}, fmt.Errorf("retry_after is a duration such as 2s, not %q", e.RetryAfter)
			}
			r = r.After(d)
		}
		replies = append(replies, r)
	}
	if f.Body != nil {
		replies = append(replies, Body(*f.Body))
	}
	if f.Drop {
		replies = append(replies, Drop())
	}
	if len(replies) != 1 {
		return Reply{}, fmt.Errorf("a reply is one of text, json and calls (with finish), or blocked, error, body, drop; this one is %d of them", len(replies))
	}
	return replies[0], nil
}

// asJSON renders a value of the script as JSON.
func asJSON(n *yaml.Node) (json.RawMessage, error) {
	var v any
	if err := n.Decode(&v); err != nil {
		return nil, err
	}
	b, err := json.Marshal(v)
	if err != nil {
		return nil, fmt.Errorf("line %d cannot be written as JSON: %w", n.Line, err)
	}
	return b, nil
}
