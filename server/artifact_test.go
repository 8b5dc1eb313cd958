package server

import (
	"bytes"
	"io"
	"net/http"
	"strings"
	"testing"

	"toolsvc/gen/runs"
)

func TestArtifacts(t *testing.T) {
	t.Parallel()
	w, st, _ := watching(t, Options{})
	big := bytes.Repeat([]byte("0123456789abcdef"), 40<<10) // 640 KiB
	digest, err := st.PutArtifact(t.Context(), "image/png", big)
	if err != nil {
		t.Fatal(err)
	}
	empty, err := st.PutArtifact(t.Context(), "text/html; charset=utf-8", nil)
	if err != nil {
		t.Fatal(err)
	}
	a := w.do(t, "GET", "/v1/artifacts/"+digest, nil)
	if a.status != 200 || !bytes.Equal(a.body, big) {
		t.Errorf("answer %d with %d bytes", a.status, len(a.body))
	}
	for k, want := range map[string]string{"Content-Type": "image/png", "Cache-Control": "private, max-age=31536000, immutable", "X-Content-Type-Options": "nosniff",
		"ETag": `"` + digest + `"`, "Content-Security-Policy": "default-src 'none'; sandbox"} {
		if a.header.Get(k) != want {
			t.Errorf("%s is %q, want %q", k, a.header.Get(k), want)
		}
	}
	if a := w.do(t, "GET", "/v1/artifacts/"+digest, nil, func(r *http.Request) { r.Header.Set("If-None-Match", `"`+digest+`"`) }); a.status != 304 {
		t.Errorf("status %d for what the client has", a.status)
	}
	if a := w.do(t, "GET", "/v1/artifacts/"+empty, nil); a.status != 200 || len(a.body) != 0 || a.header.Get("Content-Type") != "text/html; charset=utf-8" {
		t.Errorf("answer %d %v", a.status, a.header)
	}
	missing := "sha256:" + strings.Repeat("0", 64)
	wantProblem(t, w.do(t, "GET", "/v1/artifacts/"+missing, nil), kindUnknownArtifact)
	wantProblem(t, w.do(t, "GET", "/v1/artifacts/"+strings.ToUpper(digest), nil), kindInvalidParameter)

	read := func(digest string) (mediaType string, data []byte, pieces int, err error) {
		stream, err := w.runs["grpc"].Artifact(t.Context(), &runs.ArtifactPayload{Digest: digest})
		if err != nil {
			return "", nil, 0, err
		}
		for {
			p, err := stream.Recv()
			if err == io.EOF {
				return mediaType, data, pieces, nil
			}
			if err != nil {
				return "", nil, 0, err
			}
			mediaType, data, pieces = p.MediaType, append(data, p.Data...), pieces+1
		}
	}
	if mediaType, data, pieces, err := read(digest); err != nil || mediaType != "image/png" || !bytes.Equal(data, big) || pieces != 3 {
		t.Errorf("gRPC: %s, %d bytes in %d pieces, %v", mediaType, len(data), pieces, err)
	}
	if mediaType, data, pieces, err := read(empty); err != nil || mediaType != "text/html; charset=utf-8" || len(data) != 0 || pieces != 1 {
		t.Errorf("gRPC: %s, %d bytes in %d pieces, %v", mediaType, len(data), pieces, err)
	}
	if _, _, _, err := read(missing); problemFrom(t, err).Code != kindUnknownArtifact.code {
		t.Errorf("gRPC: %v", err)
	}
}
