package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"regexp"
	"time"

	"toolsvc/gen/runs"
	"toolsvc/server/auth"
	"toolsvc/store"
)

// pieceSize bounds a piece of an artifact on gRPC, in bytes.
const pieceSize = 256 << 10

// Artifacts reads screenshots and files. store.Store is one.
type Artifacts interface {
	// Artifact returns an artifact; store.ErrNotFound when there is none.
	Artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error)
}

var digestPattern = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// artifact answers GET /v1/artifacts/{digest}. What has a digest never changes, so that it may be kept for ever; but only by the client
// itself, because it was given to one who knew the digest. A page among the artifacts runs nothing and reaches nothing.
func (s *runService) artifact(w http.ResponseWriter, r *http.Request) {
	ctx, digest := r.Context(), r.PathValue("digest")
	mediaType, data, err := s.readArtifact(ctx, digest)
	if err != nil {
		writeProblem(w, asRefusal(ctx, err))
		return
	}
	note(ctx, slog.String("digest", digest))
	h := w.Header()
	h.Set("Content-Type", mediaType)
	h.Set("Cache-Control", "private, max-age=31536000, immutable")
	h.Set("ETag", `"`+digest+`"`)
	h.Set("Content-Security-Policy", "default-src 'none'; sandbox")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(data))
}

// Artifact sends an artifact in pieces over gRPC; an empty one is one empty piece.
func (s *runService) Artifact(ctx context.Context, p *runs.ArtifactPayload, stream runs.ArtifactServerStream) error {
	mediaType, data, err := s.readArtifact(ctx, p.Digest)
	if err != nil {
		return asRefusal(ctx, err)
	}
	for {
		n := min(len(data), pieceSize)
		if err := stream.Send(&runs.ArtifactPiece{MediaType: mediaType, Data: data[:n]}); err != nil {
			return err
		}
		if data = data[n:]; len(data) == 0 {
			return nil
		}
	}
}

// readArtifact reads an artifact; its error is a refusal.
func (s *runService) readArtifact(ctx context.Context, digest string) (mediaType string, data []byte, err error) {
	if err := auth.MayRead(ctx); err != nil {
		return "", nil, s.refusal(ctx, "", err, fault)
	}
	if !digestPattern.MatchString(digest) {
		return "", nil, refuse(ctx, kindInvalidParameter, `An artifact is named by its digest: "sha256:" and 64 hexadecimal digits in lower case. Nothing was done.`)
	}
	leave, refused := s.enterStream(ctx) // it holds an artifact in memory
	if refused != nil {
		return "", nil, refused
	}
	defer leave()
	err = store.ErrNotFound
	if s.artifacts != nil {
		mediaType, data, err = s.artifacts.Artifact(ctx, digest)
	}
	switch {
	case errors.Is(err, store.ErrNotFound):
		return "", nil, refuse(ctx, kindUnknownArtifact, fmt.Sprintf("There is no artifact %s; it may have been removed with its run.", digest))
	case err != nil:
		return "", nil, s.refusal(ctx, "", err, fault)
	}
	return mediaType, data, nil
}
