package mcp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"toolsvc/planner"
	"toolsvc/store"
)

// Addresses of resources.
const (
	artifactPrefix = "toolsvc://artifacts/"
	runPrefix      = "toolsvc://runs/"
	guideURI       = "toolsvc://guide"
)

func artifactURI(digest string) string { return artifactPrefix + digest }

// addResources offers pictures and evidence by their content digest, runs by their identifier, and a guide.
func (s *Surface) addResources() {
	s.server.AddResource(&sdk.Resource{URI: guideURI, Name: "guide", Title: "How to work with these tools", MIMEType: "text/markdown",
		Description: "What results, hints and verdicts mean"},
		func(context.Context, *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
			return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: guideURI, MIMEType: "text/markdown", Text: instructions}}}, nil
		})
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: artifactPrefix + "{+digest}", Name: "artifact", Title: "Screenshot or evidence",
		Description: "A stored picture, or the evidence of a verdict, by its content digest (sha256:…)"}, s.readArtifact)
	s.server.AddResourceTemplate(&sdk.ResourceTemplate{URITemplate: runPrefix + "{run}", Name: "run", Title: "Run", MIMEType: "application/json",
		Description: "The state of a run: steps, attempts, verdicts, open questions"}, s.readRun)
}

func (s *Surface) readArtifact(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	digest := strings.TrimPrefix(r.Params.URI, artifactPrefix)
	if s.o.Artifacts == nil || !isDigest(digest) {
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	}
	mediaType, data, err := s.o.Artifacts.Artifact(ctx, digest)
	switch {
	case errors.Is(err, store.ErrNotFound):
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	case err != nil:
		s.log.Error("an artifact cannot be read", "digest", digest, "error", err)
		return nil, fmt.Errorf("the artifact %s cannot be read; the log of toolsvc says why", digest)
	}
	c := &sdk.ResourceContents{URI: r.Params.URI, MIMEType: mediaType}
	if strings.HasPrefix(mediaType, "text/") || mediaType == "application/json" {
		c.Text = string(data)
	} else {
		c.Blob = data
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{c}}, nil
}

func (s *Surface) readRun(ctx context.Context, r *sdk.ReadResourceRequest) (*sdk.ReadResourceResult, error) {
	run := strings.TrimPrefix(r.Params.URI, runPrefix)
	st, err := s.o.Service.State(ctx, run)
	switch {
	case errors.Is(err, planner.ErrUnknownRun):
		return nil, sdk.ResourceNotFoundError(r.Params.URI)
	case err != nil:
		return nil, err
	}
	text, err := json.MarshalIndent(st, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("encode the state of run %s: %w", run, err)
	}
	return &sdk.ReadResourceResult{Contents: []*sdk.ResourceContents{{URI: r.Params.URI, MIMEType: "application/json", Text: string(text)}}}, nil
}
