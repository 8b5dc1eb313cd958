package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/url"
	"strings"
	"time"
)

// ErrNoCounterpart: an action of the computer-use vocabulary that no tool can carry out.
var ErrNoCounterpart = errors.New("there is no tool for this action")

// View is the visible part of a page, in CSS pixels.
type View struct{ Width, Height float64 }

// ComputerStep is what an action of the computer-use vocabulary means in ours: one call of a tool, or a wait.
type ComputerStep struct {
	// Tool is the tool to call, "" for a wait.
	Tool string          `json:"tool,omitempty"`
	Args json.RawMessage `json:"args,omitempty"`
	// Wait is how long to wait, as a durable timer; above 0 only when Tool is "".
	Wait time.Duration `json:"wait,omitempty"`
	// Confirm, when not "", is why a person has to approve the step first: the model's own safety decision demands it. When it is approved,
	// the response to the model has to say so: [Acknowledged].
	Confirm string `json:"confirm,omitempty"`
}

// maxComputerWait bounds a wait that the model asks for.
const maxComputerWait = 60 * time.Second

// ComputerUse maps one action of Gemini's computer-use tool to a step, for a page of the given size. It knows the names of Gemini 3.5
// (click, double_click, right_click, middle_click, move, type, drag_and_drop, scroll, press_key, hotkey, wait, navigate, go_back,
// go_forward, take_screenshot) and those of the models before it (click_at, hover_at, type_text_at, scroll_document, scroll_at,
// key_combination, wait_5_seconds, search, open_web_browser), as documented under "Supported actions" of the computer-use guide.
//
// Coordinates are thousandths of the page, x first by name; they become a target that is found by vision ([PointTarget]), so that the
// gate and the hit test apply to it. What is typed without a place goes into whatever has the focus. An action without a counterpart
// (holding a key or a button) wraps [ErrNoCounterpart]; one with impossible arguments is an error too. Nothing is done in either case.
func ComputerUse(call FunctionCall, view View) (ComputerStep, error) {
	var a computerArgs
	if err := json.Unmarshal(call.Args, &a); err != nil {
		return ComputerStep{}, fmt.Errorf("the arguments of %s cannot be read", clip(call.Name, 60))
	}
	if !(view.Width > 0 && view.Height > 0) {
		return ComputerStep{}, errors.New("the size of the page is not known")
	}
	step, err := a.step(call.Name, view)
	if err != nil {
		return ComputerStep{}, fmt.Errorf("%s: %w", clip(call.Name, 60), err)
	}
	if step.Confirm, err = a.confirm(call.Name); err != nil {
		return ComputerStep{}, fmt.Errorf("%s: %w", clip(call.Name, 60), err)
	}
	return step, nil
}

// computerArgs are the arguments of all actions.
type computerArgs struct {
	X            *float64 `json:"x"`
	Y            *float64 `json:"y"`
	StartX       *float64 `json:"start_x"`
	StartY       *float64 `json:"start_y"`
	EndX         *float64 `json:"end_x"`
	EndY         *float64 `json:"end_y"`
	DestinationX *float64 `json:"destination_x"`
	DestinationY *float64 `json:"destination_y"`

	Text       *string `json:"text"`
	PressEnter *bool   `json:"press_enter"`
	Clear      *bool   `json:"clear_before_typing"`
	Direction  string  `json:"direction"`
	Pixels     *int    `json:"magnitude_in_pixels"`
	Magnitude  *int    `json:"magnitude"`
	Key        string  `json:"key"`
	Keys       keyList `json:"keys"`

	Seconds *float64 `json:"seconds"`
	URL     string   `json:"url"`
	Intent  string   `json:"intent"`
	Safety  *struct {
		Decision    string `json:"decision"`
		Explanation string `json:"explanation"`
	} `json:"safety_decision"`
}

// keyList is a list of keys, or a combination in one text: "control+a".
type keyList []string

// UnmarshalJSON reads either form.
func (k *keyList) UnmarshalJSON(b []byte) error {
	var one string
	if json.Unmarshal(b, &one) == nil {
		*k = splitKeys(one)
		return nil
	}
	return json.Unmarshal(b, (*[]string)(k))
}

// splitKeys divides a combination at its plus signs; a last one is the key itself.
func splitKeys(s string) []string {
	if s == "+" {
		return []string{"+"}
	}
	if head, ok := strings.CutSuffix(s, "++"); ok {
		return append(strings.Split(head, "+"), "+")
	}
	return strings.Split(s, "+")
}

// maxIntent is how long an intent may be in our tools, in characters.
const maxIntent = 300

func (a computerArgs) step(name string, view View) (ComputerStep, error) {
	call := func(tool string, args map[string]any) (ComputerStep, error) {
		if intent := []rune(strings.TrimSpace(a.Intent)); len(intent) > 0 {
			args["intent"] = string(intent[:min(len(intent), maxIntent)])
		}
		b, err := json.Marshal(args)
		return ComputerStep{Tool: tool, Args: b}, err
	}
	at := func(tool string, x, y *float64, args map[string]any) (ComputerStep, error) {
		p, err := view.point(x, y)
		if err != nil {
			return ComputerStep{}, err
		}
		args["target"] = pointArg(p)
		return call(tool, args)
	}
	switch name {
	case "click", "click_at":
		return at("browser.click", a.X, a.Y, map[string]any{})
	case "double_click":
		return at("browser.double_click", a.X, a.Y, map[string]any{})
	case "right_click":
		return at("browser.click", a.X, a.Y, map[string]any{"button": "right"})
	case "middle_click":
		return at("browser.click", a.X, a.Y, map[string]any{"button": "middle"})
	case "move", "hover_at":
		return at("browser.hover", a.X, a.Y, map[string]any{})
	case "type", "type_text_at":
		return a.typing(name, at, call)
	case "drag_and_drop":
		return a.dragging(view, call)
	case "scroll", "scroll_document", "scroll_at":
		return a.scrolling(name, view, call)
	case "press_key", "hotkey", "key_combination":
		return a.pressing(name, call)
	case "wait", "wait_5_seconds":
		return a.waiting(name)
	case "navigate":
		if u, err := url.Parse(a.URL); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
			return ComputerStep{}, errors.New("its url is no absolute http or https address")
		}
		return call("browser.navigate", map[string]any{"url": a.URL})
	case "search":
		return call("browser.navigate", map[string]any{"url": "https://www.google.com/"})
	case "go_back":
		return call("browser.back", map[string]any{})
	case "go_forward":
		return call("browser.forward", map[string]any{})
	case "take_screenshot", "open_web_browser": // there is always a browser; the model wants to see it
		return call("browser.screenshot", map[string]any{})
	}
	return ComputerStep{}, ErrNoCounterpart
}

type callFunc = func(tool string, args map[string]any) (ComputerStep, error)

// typing: type writes at the caret; type_text_at clears the field first and presses Enter, unless told otherwise.
func (a computerArgs) typing(name string, at func(string, *float64, *float64, map[string]any) (ComputerStep, error), call callFunc) (ComputerStep, error) {
	if a.Text == nil {
		return ComputerStep{}, errors.New("it has no text")
	}
	older := name == "type_text_at"
	args := map[string]any{"text": *a.Text, "append": !or(a.Clear, older), "submit": or(a.PressEnter, older)}
	if older || a.X != nil || a.Y != nil {
		return at("browser.type", a.X, a.Y, args)
	}
	args["target"] = map[string]any{"selector": ":focus"}
	return call("browser.type", args)
}

func (a computerArgs) dragging(view View, call callFunc) (ComputerStep, error) {
	first := func(ps ...*float64) *float64 {
		for _, p := range ps {
			if p != nil {
				return p
			}
		}
		return nil
	}
	from, err := view.point(first(a.StartX, a.X), first(a.StartY, a.Y))
	if err != nil {
		return ComputerStep{}, err
	}
	to, err := view.point(first(a.EndX, a.DestinationX), first(a.EndY, a.DestinationY))
	if err != nil {
		return ComputerStep{}, err
	}
	return call("browser.drag", map[string]any{"from": pointArg(from), "to": pointArg(to)})
}

// scrolling: a distance is in pixels (scroll), in thousandths of the page (scroll_at), or not said.
func (a computerArgs) scrolling(name string, view View, call callFunc) (ComputerStep, error) {
	side := view.Height
	switch a.Direction {
	case "up", "down":
	case "left", "right":
		side = view.Width
	default:
		return ComputerStep{}, fmt.Errorf("its direction %q is none", clip(a.Direction, 20))
	}
	args := map[string]any{"direction": a.Direction}
	amount := 0
	switch name {
	case "scroll":
		amount = 300 // the documented default
		if a.Pixels != nil {
			amount = *a.Pixels
		}
	case "scroll_at":
		thousandths := 800 // the documented default
		if a.Magnitude != nil {
			thousandths = *a.Magnitude
		}
		amount = int(math.Round(float64(thousandths) / 1000 * side))
	}
	if name != "scroll_document" {
		if amount < 1 || amount > 100_000 {
			return ComputerStep{}, fmt.Errorf("its distance of %d is not between 1 and 100000 pixels", amount)
		}
		args["amount"] = amount
		if a.X != nil || a.Y != nil {
			p, err := view.point(a.X, a.Y)
			if err != nil {
				return ComputerStep{}, err
			}
			args["target"] = pointArg(p)
		}
	}
	return call("browser.scroll", args)
}

func (a computerArgs) pressing(name string, call callFunc) (ComputerStep, error) {
	keys := []string(a.Keys)
	if name == "press_key" {
		keys = splitKeys(a.Key)
	}
	if len(keys) == 0 || len(keys) > 5 {
		return ComputerStep{}, errors.New("it has no keys, or more than five")
	}
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = keyName(strings.TrimSpace(k), len(keys) > 1)
		modifier := out[i] == "Alt" || out[i] == "Control" || out[i] == "Meta" || out[i] == "Shift"
		if out[i] == "" || modifier != (i < len(keys)-1) {
			return ComputerStep{}, errors.New("its keys are not modifiers and one key")
		}
	}
	return call("browser.press", map[string]any{"key": strings.Join(out, "+")})
}

// keyNames are the names that models use, in lower case, by how the browser calls the keys.
var keyNames = map[string]string{"enter": "Enter", "return": "Enter", "esc": "Escape", "escape": "Escape", "tab": "Tab", "space": "Space", "backspace": "Backspace",
	"delete": "Delete", "del": "Delete", "insert": "Insert", "home": "Home", "end": "End", "pageup": "PageUp", "page_up": "PageUp", "pagedown": "PageDown",
	"page_down": "PageDown", "up": "ArrowUp", "arrowup": "ArrowUp", "down": "ArrowDown", "arrowdown": "ArrowDown", "left": "ArrowLeft", "arrowleft": "ArrowLeft",
	"right": "ArrowRight", "arrowright": "ArrowRight", "ctrl": "Control", "control": "Control", "controlormeta": "Control", "alt": "Alt", "option": "Alt",
	"shift": "Shift", "meta": "Meta", "cmd": "Meta", "command": "Meta", "super": "Meta", "win": "Meta", "windows": "Meta"}

// keyName is a key as browser.press calls it. In a combination a letter is small, as it is written on no key.
func keyName(k string, combined bool) string {
	low := strings.ToLower(k)
	if n, ok := keyNames[low]; ok {
		return n
	}
	if len(low) > 1 && low[0] == 'f' && strings.Trim(low[1:], "0123456789") == "" {
		return strings.ToUpper(low)
	}
	if len(k) == 1 && combined {
		return low
	}
	return k
}

func (a computerArgs) waiting(name string) (ComputerStep, error) {
	seconds := 1.0 // the documented default
	if name == "wait_5_seconds" {
		seconds = 5
	}
	if a.Seconds != nil {
		seconds = *a.Seconds
	}
	if !(seconds > 0) {
		return ComputerStep{}, errors.New("its time is not above 0 seconds")
	}
	return ComputerStep{Wait: min(time.Duration(min(seconds, 1e6)*float64(time.Second)), maxComputerWait)}, nil
}

// confirm reads the safety decision. One that is not known is taken for a refusal.
func (a computerArgs) confirm(name string) (string, error) {
	if a.Safety == nil {
		return "", nil
	}
	why := strings.TrimSpace(a.Safety.Explanation)
	switch strings.ToLower(a.Safety.Decision) {
	case "", "regular", "allowed", "allow":
		return "", nil
	case "require_confirmation":
		if why == "" {
			why = fmt.Sprintf("The model's safety check wants a person to confirm %s.", name)
		}
		return clip(why, 1000), nil
	}
	return "", fmt.Errorf("the model's safety check does not allow it (%s)", clip(a.Safety.Decision, 60))
}

// Acknowledged adds to a response that a person has approved what the model's safety check wanted to be confirmed.
func Acknowledged(response json.RawMessage) (json.RawMessage, error) {
	m, err := object(response)
	if err != nil {
		return nil, err
	}
	m["safety_acknowledgement"] = "true"
	return json.Marshal(m)
}

// point turns thousandths into CSS pixels.
func (v View) point(x, y *float64) (Point, error) {
	if x == nil || y == nil {
		return Point{}, errors.New("it has no place")
	}
	if !(*x >= 0 && *x <= 1000 && *y >= 0 && *y <= 1000) {
		return Point{}, fmt.Errorf("its place (%v, %v) is not between 0 and 1000", *x, *y)
	}
	return Point{math.Min(math.Round(*x/1000*v.Width), v.Width-1), math.Min(math.Round(*y/1000*v.Height), v.Height-1)}, nil
}

func pointArg(p Point) map[string]any { return map[string]any{"description": PointTarget(p)} }

func or(b *bool, otherwise bool) bool {
	if b == nil {
		return otherwise
	}
	return *b
}
