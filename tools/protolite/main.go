// Command protolite stands in for protoc where Goa runs it, so that no machine needs protoc: it parses with a compiler in pure Go and
// hands the descriptors to the same plugins, which it runs as tools of this module (`go tool protoc-gen-go`). The output is byte for
// byte that of protoc 3.21.12.
//
//	protolite FILE.proto… --proto_path DIR [-I DIR] --NAME_out DIR [--NAME_opt=OPTION…]
//
// A design chooses it with Meta("protoc:cmd", "go", "tool", "protolite").
package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"

	"github.com/bufbuild/protocompile"
	"github.com/bufbuild/protocompile/protoutil"
	"google.golang.org/protobuf/proto"
	"google.golang.org/protobuf/reflect/protoreflect"
	"google.golang.org/protobuf/types/descriptorpb"
	"google.golang.org/protobuf/types/pluginpb"
)

func main() {
	r, err := parse(os.Args[1:])
	if err == nil {
		err = r.run(context.Background())
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "protolite:", err)
		os.Exit(1)
	}
}

// request is what the command line asks for.
type request struct {
	files, imports []string
	plugins        []plugin
}

// plugin is one protoc-gen-NAME with its output folder and options.
type plugin struct {
	name, out string
	options   []string
}

func (r *request) plugin(name string) *plugin {
	i := slices.IndexFunc(r.plugins, func(p plugin) bool { return p.name == name })
	if i < 0 {
		r.plugins = append(r.plugins, plugin{name: name})
		i = len(r.plugins) - 1
	}
	return &r.plugins[i]
}

// parse reads the part of protoc's command line that Goa uses.
func parse(args []string) (*request, error) {
	r := &request{}
	for len(args) > 0 {
		arg := args[0]
		args = args[1:]
		if !strings.HasPrefix(arg, "-") {
			r.files = append(r.files, arg)
			continue
		}
		name, value, ok := strings.Cut(arg, "=")
		if !ok {
			if len(args) == 0 {
				return nil, fmt.Errorf("%s needs a value", name)
			}
			value, args = args[0], args[1:]
		}
		switch {
		case name == "-I" || name == "--proto_path":
			r.imports = append(r.imports, value)
		case strings.HasPrefix(name, "--") && strings.HasSuffix(name, "_out"):
			r.plugin(name[2 : len(name)-len("_out")]).out = value
		case strings.HasPrefix(name, "--") && strings.HasSuffix(name, "_opt"):
			p := r.plugin(name[2 : len(name)-len("_opt")])
			p.options = append(p.options, value)
		default:
			return nil, fmt.Errorf("the option %s is not known", name)
		}
	}
	if len(r.files) == 0 || len(r.plugins) == 0 {
		return nil, fmt.Errorf("usage: protolite FILE.proto --proto_path DIR --NAME_out DIR")
	}
	for _, p := range r.plugins {
		if p.out == "" {
			return nil, fmt.Errorf("--%s_opt without --%[1]s_out", p.name)
		}
	}
	for i, f := range r.files {
		r.files[i] = relative(f, r.imports)
	}
	return r, nil
}

// relative is the name of a file as imports name it: below one of the import folders.
func relative(file string, imports []string) string {
	for _, dir := range imports {
		if rel, err := filepath.Rel(dir, file); err == nil && filepath.IsLocal(rel) {
			return filepath.ToSlash(rel)
		}
	}
	return file
}

func (r *request) run(ctx context.Context) error {
	protos, err := r.compile(ctx)
	if err != nil {
		return err
	}
	for _, p := range r.plugins {
		if err := p.run(ctx, r.files, protos); err != nil {
			return err
		}
	}
	return nil
}

// compile returns the descriptors of all files and of what they import, imports first.
func (r *request) compile(ctx context.Context) ([]*descriptorpb.FileDescriptorProto, error) {
	c := protocompile.Compiler{
		Resolver:       protocompile.WithStandardImports(&protocompile.SourceResolver{ImportPaths: r.imports}),
		SourceInfoMode: protocompile.SourceInfoStandard, // comments
	}
	compiled, err := c.Compile(ctx, r.files...)
	if err != nil {
		return nil, fmt.Errorf("compile %s: %w", strings.Join(r.files, ", "), err)
	}
	var protos []*descriptorpb.FileDescriptorProto
	seen := map[string]bool{}
	var add func(protoreflect.FileDescriptor)
	add = func(f protoreflect.FileDescriptor) {
		if seen[f.Path()] {
			return
		}
		seen[f.Path()] = true
		for i := range f.Imports().Len() {
			add(f.Imports().Get(i).FileDescriptor)
		}
		protos = append(protos, protoutil.ProtoFromFileDescriptor(f))
	}
	for _, f := range compiled {
		add(f)
	}
	return protos, nil
}

// run speaks the plugin protocol: a CodeGeneratorRequest on standard input, a CodeGeneratorResponse on standard output.
func (p plugin) run(ctx context.Context, files []string, protos []*descriptorpb.FileDescriptorProto) error {
	name := "protoc-gen-" + p.name
	in, err := proto.MarshalOptions{Deterministic: true}.Marshal(&pluginpb.CodeGeneratorRequest{
		FileToGenerate: files,
		Parameter:      proto.String(strings.Join(p.options, ",")),
		ProtoFile:      protos,
		// The version stands in the header of generated files; a fixed one keeps them from changing.
		CompilerVersion: &pluginpb.Version{Major: proto.Int32(3), Minor: proto.Int32(21), Patch: proto.Int32(12)},
	})
	if err != nil {
		return fmt.Errorf("encode the request to %s: %w", name, err)
	}
	cmd := exec.CommandContext(ctx, "go", "tool", name)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("run go tool %s: %w", name, err)
	}
	var response pluginpb.CodeGeneratorResponse
	if err := proto.Unmarshal(out, &response); err != nil {
		return fmt.Errorf("decode the answer of %s: %w", name, err)
	}
	if response.Error != nil {
		return fmt.Errorf("%s: %s", name, response.GetError())
	}
	for _, f := range response.File {
		if !filepath.IsLocal(f.GetName()) {
			return fmt.Errorf("%s wants to write %q, which is outside of its folder", name, f.GetName())
		}
		path := filepath.Join(p.out, f.GetName())
		if err := os.WriteFile(path, []byte(f.GetContent()), 0o644); err != nil {
			return fmt.Errorf("write what %s generated: %w", name, err)
		}
	}
	return nil
}
