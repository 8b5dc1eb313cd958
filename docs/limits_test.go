package docs_test

import (
	"fmt"
	"go/ast"
	"go/constant"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"
)

// limit is a row of the table of limits. Its value is read from the source: a constant of the file by its name, or, where the bound is no
// constant, the number that the pattern catches.
type limit struct {
	what       string
	file, name string
	pattern    string
	unit       unit
}

type unit int

const (
	number unit = iota
	bytes
	duration
	minutes // a literal that counts minutes
)

var limits = []limit{
	{what: "a payload", file: "tool/request.go", name: "MaxPayload", unit: bytes},
	{what: "a result", file: "tool/decode.go", name: "MaxResult", unit: bytes},
	{what: "nesting of objects and arrays in a payload", file: "tool/decode.go", name: "MaxDepth"},
	{what: "issues that are reported of one payload", file: "tool/decode.go", name: "MaxIssues"},
	{what: "conditions in `expect`", file: "verification/limits.go", name: "MaxExpectations"},
	{what: "a plan's file", file: "planner/plan.go", name: "maxPlan", unit: bytes},
	{what: "steps of a plan", file: "planner/run.go", name: "MaxSteps"},
	{what: "calls that wait in a run", file: "planner/run.go", name: "MaxQueued"},
	{what: "a run that waits for calls ends without one after", file: "planner/run.go", name: "DefaultIdle", unit: duration},
	{what: "attempts at a step", file: "planner/heal.go", name: "MaxAttempts"},
	{what: "times that a step is taken up again after its worker died", file: "planner/heal.go", name: "maxLost"},
	{what: "a dead worker is noticed after", file: "planner/workflow.go", name: "heartbeatTimeout", unit: duration},
	{what: "fresh evidence is looked at again, before a verdict other than success, for", file: "planner/attempt.go", name: "patience", unit: duration},
	{what: "a rollback", file: "planner/attempt.go", name: "rollbackLimit", unit: duration},
	{what: "attempts at once in one worker", file: "planner/worker.go", pattern: `MaxConcurrentActivityExecutionSize:\s*(\d+)`},
	{what: "calls at once, over HTTP and gRPC together", file: "server/server.go", name: "DefaultMaxConcurrent"},
	{what: "the body of a request has to come within", file: "server/server.go", name: "bodyTimeout", unit: duration},
	{what: "a server that stops lets calls end, before they are handed over, for", file: "server/drain.go", name: "DefaultDrain", unit: duration},
	{what: "runs that have a browser tab at the same time", file: "executors/browser/options.go", pattern: `def\(&o\.MaxSessions, (\d+)\)`},
	{what: "a tab that is not used may be given up after", file: "executors/browser/options.go", pattern: `o\.IdleTimeout = (\d+) \* time\.Minute`, unit: minutes},
	{what: "a reaction to an action is waited for, where something listens, for", file: "executors/browser/effect.go", name: "patience", unit: duration},
	{what: "the answer to what an action made the page send to its server is waited for", file: "executors/browser/settle.go", name: "sendLimit", unit: duration},
	{what: "a page has to be ready before a target is looked for, within", file: "executors/browser/attempt.go", name: "readyLimit", unit: duration},
	{what: "a target has to come to rest within", file: "executors/browser/gate.go", name: "gateLimit", unit: duration},
	{what: "a file that document tools work on", file: "executors/document/options.go", name: "maxFile", unit: bytes},
	{what: "places that one call replaces in a document", file: "executors/document/options.go", name: "maxMatches"},
	{what: "files whose anchors are read to check the links of one document", file: "executors/document/options.go", name: "maxLinkedFiles"},
	{what: "contents of files that one process remembers for `document.diff`, beside what the store keeps", file: "executors/document/options.go", name: "maxRemembered", unit: bytes},
	{what: "what a service shows of its state, as evidence", file: "executors/service/values.go", name: "maxState", unit: bytes},
	{what: "what has to be free on the disk of the state directory, for anything new to be accepted", file: "store/room.go", name: "minRoom", unit: bytes},
	{what: "less than this free there counts as a full disk for what is under way", file: "store/room.go", name: "filledBelow", unit: bytes},
	{what: "an answer is not waited for any longer when the disk has been full for", file: "planner/room.go", name: "filledGrace", unit: duration},
	{what: "an event", file: "store/events.go", name: "MaxEventData", unit: bytes},
	{what: "an artifact", file: "store/artifacts.go", name: "MaxArtifact", unit: bytes},
	{what: "targets that are remembered of one origin", file: "store/memory.go", name: "MaxMemoriesPerScope"},
	{what: "targets that are remembered in all", file: "store/memory.go", name: "MaxMemories"},
	{what: "a target that was not acted on with success again is forgotten after", file: "executors/browser/memory/memory.go", name: "Expiry", unit: duration},
	{what: "elements of a page that are compared with what is remembered", file: "executors/browser/remember.go", name: "maxCompared"},
	{what: "old runs are looked for every", file: "store/retention/retention.go", name: "Every", unit: duration},
}

const limitsMark = "limits: go test ./docs -update"

// The table of limits on docs/operations.md says what the constants say.
func TestLimits(t *testing.T) {
	want := []string{"", "| | |", "|---|---|"}
	for _, l := range limits {
		v, err := l.value()
		if err != nil {
			t.Fatalf("%s: %v", l.what, err)
		}
		want = append(want, fmt.Sprintf("| %s | %s |", l.what, v))
	}
	p := pages(t)["docs/operations.md"]
	for i, c := range p.comments {
		if c != limitsMark {
			continue
		}
		end := i + 1
		for end < len(p.lines) && (p.lines[end] == "" && end == i+1 || strings.HasPrefix(p.lines[end], "|")) {
			end++
		}
		if strings.Join(p.lines[i+1:end], "\n") == strings.Join(want, "\n") {
			return
		}
		if !*update {
			t.Fatalf("%s:%d: the table of limits is not what the constants say: go test ./docs -update", p.name, i+1)
		}
		p.lines = append(p.lines[:i+1:i+1], append(want, p.lines[end:]...)...)
		write(t, p)
		return
	}
	t.Fatalf("%s has no table of limits", p.name)
}

// value reads the bound from its file, in words.
func (l limit) value() (string, error) {
	file := filepath.Join(root, filepath.FromSlash(l.file))
	var n int64
	if l.pattern != "" {
		text, err := os.ReadFile(file)
		if err != nil {
			return "", err
		}
		m := regexp.MustCompile(l.pattern).FindSubmatch(text)
		if m == nil {
			return "", fmt.Errorf("%s does not match %s any more", l.file, l.pattern)
		}
		if n, err = strconv.ParseInt(string(m[1]), 10, 64); err != nil {
			return "", err
		}
	} else {
		f, err := parser.ParseFile(token.NewFileSet(), file, nil, 0)
		if err != nil {
			return "", err
		}
		v := evaluate(find(f, l.name))
		var exact bool
		if n, exact = constant.Int64Val(constant.ToInt(v)); !exact {
			return "", fmt.Errorf("%s has no constant %s that this test can evaluate", l.file, l.name)
		}
	}
	switch l.unit {
	case bytes:
		if n%(1<<20) == 0 {
			return fmt.Sprintf("%d MiB", n>>20), nil
		}
		return fmt.Sprintf("%d bytes", n), nil
	case duration:
		return inWords(time.Duration(n)), nil
	case minutes:
		return inWords(time.Duration(n) * time.Minute), nil
	}
	return strconv.FormatInt(n, 10), nil
}

func inWords(d time.Duration) string {
	for _, u := range []struct {
		of   time.Duration
		name string
	}{{24 * time.Hour, "days"}, {time.Hour, "hours"}, {time.Minute, "minutes"}, {time.Second, "s"}} {
		if d >= 2*u.of && d%u.of == 0 {
			return fmt.Sprintf("%d %s", d/u.of, u.name)
		}
	}
	return fmt.Sprintf("%g s", d.Seconds())
}

// find returns the expression of a constant, nil when the file has none of that name.
func find(f *ast.File, name string) (found ast.Expr) {
	for _, d := range f.Decls {
		g, ok := d.(*ast.GenDecl)
		if !ok || g.Tok != token.CONST {
			continue
		}
		for _, s := range g.Specs {
			v := s.(*ast.ValueSpec)
			for i, n := range v.Names {
				if n.Name == name && i < len(v.Values) {
					found = v.Values[i]
				}
			}
		}
	}
	return found
}

// evaluate computes a constant expression of numbers and durations; unknown when it is anything else.
func evaluate(e ast.Expr) constant.Value {
	switch x := e.(type) {
	case *ast.BasicLit:
		return constant.MakeFromLiteral(x.Value, x.Kind, 0)
	case *ast.ParenExpr:
		return evaluate(x.X)
	case *ast.SelectorExpr:
		units := map[string]time.Duration{"Hour": time.Hour, "Minute": time.Minute, "Second": time.Second, "Millisecond": time.Millisecond}
		if d, ok := units[x.Sel.Name]; ok {
			return constant.MakeInt64(int64(d))
		}
	case *ast.BinaryExpr:
		a, b := evaluate(x.X), evaluate(x.Y)
		if a.Kind() == constant.Unknown || b.Kind() == constant.Unknown {
			break
		}
		if x.Op == token.SHL {
			if n, ok := constant.Uint64Val(b); ok {
				return constant.Shift(a, token.SHL, uint(n))
			}
			break
		}
		return constant.BinaryOp(a, x.Op, b)
	}
	return constant.MakeUnknown()
}
