package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/alecthomas/kong"
	compose "github.com/compose-spec/compose-go/v2/cli"
	"gopkg.in/yaml.v3"

	"toolsvc/stack"
)

var deployment = filepath.Join("..", "..", "deploy")

// knownVariables are those that the program reads itself, beside what kong reads for flags.
func knownVariables(t *testing.T) map[string]bool {
	t.Helper()
	vars := map[string]bool{stack.SealKeyVariable: true, tokensVariable: true}
	err := kong.Visit(model(t).Model, func(node kong.Visitable, next kong.Next) error {
		if f, ok := node.(*kong.Flag); ok {
			for _, v := range f.Envs {
				vars[v] = true
			}
		}
		return next(nil)
	})
	if err != nil {
		t.Fatal(err)
	}
	return vars
}

// accepted checks that the command line takes these arguments; it runs nothing.
func accepted(t *testing.T, where string, args []string) {
	t.Helper()
	if _, err := model(t).Parse(args); err != nil {
		t.Errorf("%s: toolsvc %s: %v", where, strings.Join(args, " "), err)
	}
}

// composition loads the compose file as `docker compose config` does, with every variable of the example given.
func composition(t *testing.T) map[string]any {
	t.Helper()
	example, err := os.ReadFile(filepath.Join(deployment, "example.env"))
	if err != nil {
		t.Fatal(err)
	}
	var env []string
	for _, line := range strings.Split(string(example), "\n") {
		if name, value, ok := strings.Cut(line, "="); ok && !strings.HasPrefix(line, "#") {
			if value == "" {
				value = "given"
			}
			env = append(env, name+"="+value)
		}
	}
	load := func(env ...string) (map[string]any, error) {
		o, err := compose.NewProjectOptions([]string{filepath.Join(deployment, "docker-compose.yaml")}, compose.WithEnv(env), compose.WithResolvedPaths(false))
		if err != nil {
			return nil, err
		}
		p, err := o.LoadProject(context.Background())
		if err != nil {
			return nil, err
		}
		text, err := p.MarshalYAML()
		if err != nil {
			return nil, err
		}
		var out map[string]any
		return out, yaml.Unmarshal(text, &out)
	}
	if _, err := load(); err == nil || !strings.Contains(err.Error(), "see deploy/example.env") {
		t.Errorf("without secrets it is accepted, or says nothing of the example: %v", err)
	}
	p, err := load(env...)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// The compose file is valid, and starts toolsvc with what toolsvc takes; every container of ours is confined.
func TestCompose(t *testing.T) {
	t.Parallel()
	vars := knownVariables(t)
	services := composition(t)["services"].(map[string]any)
	for _, name := range []string{"store", "temporal", "temporal-store", "temporal-ui", "objects", "setup", "worker-1", "worker-2", "proxy"} {
		if services[name] == nil {
			t.Errorf("there is no service %s", name)
		}
	}
	for name, v := range services {
		service := v.(map[string]any)
		if fmt.Sprint(service["cap_drop"]) != "[ALL]" || !strings.Contains(fmt.Sprint(service["security_opt"]), "no-new-privileges") {
			t.Errorf("%s keeps capabilities: %v, %v", name, service["cap_drop"], service["security_opt"])
		}
		if service["image"] != "toolsvc" {
			continue
		}
		if service["read_only"] != true {
			t.Errorf("%s can write to its own image", name)
		}
		var args []string
		for _, a := range service["command"].([]any) {
			args = append(args, a.(string))
		}
		accepted(t, name, args)
		env := service["environment"].(map[string]any)
		for v := range env {
			if strings.HasPrefix(v, "TOOLSVC_") && !vars[v] {
				t.Errorf("%s: toolsvc does not know the variable %s", name, v)
			}
		}
	}
}

// The manifests are YAML that Kubernetes' own tool puts together, start toolsvc with what it takes, and pods with no more rights than needed.
func TestKubernetes(t *testing.T) {
	t.Parallel()
	vars := knownVariables(t)
	dir := filepath.Join(deployment, "kubernetes")
	files, err := filepath.Glob(filepath.Join(dir, "*.yaml"))
	if err != nil || len(files) < 6 {
		t.Fatalf("%v, %v", files, err)
	}
	kinds := map[string]int{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		dec := yaml.NewDecoder(bytes.NewReader(text))
		for {
			var doc map[string]any
			if err := dec.Decode(&doc); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", file, err)
			}
			kind, _ := doc["kind"].(string)
			kinds[kind]++
			for _, field := range []string{"data", "stringData"} {
				data, _ := doc[field].(map[string]any)
				for _, v := range slices.Sorted(maps.Keys(data)) {
					if strings.HasPrefix(v, "TOOLSVC_") && !vars[v] {
						t.Errorf("%s: toolsvc does not know the variable %s", file, v)
					}
				}
			}
			if kind != "Deployment" && kind != "Job" {
				continue
			}
			pod := doc["spec"].(map[string]any)["template"].(map[string]any)["spec"].(map[string]any)
			if pod["securityContext"].(map[string]any)["runAsNonRoot"] != true || pod["automountServiceAccountToken"] != false {
				t.Errorf("%s: the pod of the %s has more rights than it needs", file, kind)
			}
			for _, c := range pod["containers"].([]any) {
				container := c.(map[string]any)
				if s := container["securityContext"].(map[string]any); s["readOnlyRootFilesystem"] != true || s["allowPrivilegeEscalation"] != false {
					t.Errorf("%s: %v has more rights than it needs", file, container["name"])
				}
				var args []string
				for _, a := range container["args"].([]any) {
					args = append(args, a.(string))
				}
				accepted(t, file, args)
			}
		}
	}
	if kinds["Deployment"] != 1 || kinds["Job"] != 1 || kinds["Secret"] != 1 {
		t.Errorf("found %v", kinds)
	}
	if program, err := exec.LookPath("kubectl"); err == nil {
		if out, err := exec.CommandContext(t.Context(), program, "kustomize", dir).CombinedOutput(); err != nil || bytes.Contains(out, []byte("kind: Secret")) {
			t.Errorf("kubectl kustomize: %v\n%s", err, out)
		}
	}
}

// The image runs as nobody in particular, and copies what is in the repository.
func TestDockerfile(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(filepath.Join(deployment, "Dockerfile"))
	if err != nil {
		t.Fatal(err)
	}
	if !regexp.MustCompile(`(?m)^USER [1-9]`).Match(text) {
		t.Error("the image runs as root")
	}
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-.][^ ]*) `).FindAllSubmatch(text, -1) {
		if _, err := os.Stat(filepath.Join("..", "..", string(m[1]))); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("the Dockerfile copies %s, which is not there", m[1])
		}
	}
	for _, m := range regexp.MustCompile(`TOOLSVC_[A-Z_]+`).FindAll(text, -1) {
		if !knownVariables(t)[string(m)] {
			t.Errorf("toolsvc does not know the variable %s", m)
		}
	}
	mod, err := os.ReadFile(filepath.Join("..", "..", "go.mod"))
	if err != nil {
		t.Fatal(err)
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindSubmatch(mod)
	if !bytes.Contains(text, append([]byte("FROM golang:"), version[1]...)) {
		t.Errorf("the image is not built with Go %s, which go.mod asks for", version[1])
	}
}
