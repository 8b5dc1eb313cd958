package main

import (
	_ "github.com/alecthomas/kong"
	_ "github.com/bufbuild/protocompile"
	_ "github.com/chromedp/chromedp"
	_ "github.com/ebitengine/purego"
	_ "github.com/go-json-experiment/json/jsontext"
	_ "cel.dev/cel-go/cel"
	_ "cel.dev/cel-go/ext"
	_ "github.com/santhosh-tekuri/jsonschema/v6"
	_ "github.com/temporalio/ui-server/v2/server"
	_ "go.temporal.io/sdk/client"
	_ "go.temporal.io/sdk/contrib/envconfig"
	_ "go.temporal.io/sdk/testsuite"
	_ "go.temporal.io/sdk/worker"
	_ "go.temporal.io/server/temporal"
	_ "goa.design/goa/v3/codegen/generator"
	_ "goa.design/goa/v3/dsl"
	_ "goa.design/goa/v3/grpc"
	_ "goa.design/goa/v3/http"
	_ "golang.org/x/image/draw"
	_ "golang.org/x/text/unicode/norm"
	_ "google.golang.org/grpc/reflection"
	_ "google.golang.org/grpc/health"
	_ "google.golang.org/protobuf/proto"
	_ "gopkg.in/yaml.v3"
	_ "modernc.org/sqlite"
)

func main() {}
