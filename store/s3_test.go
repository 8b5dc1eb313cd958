package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/johannesboyne/gofakes3"
	"github.com/johannesboyne/gofakes3/backend/s3mem"

	"toolsvc/store"
	"toolsvc/tool"
)

// startS3 starts a server that speaks S3, with one bucket, and returns the bucket's URL.
func startS3(t *testing.T) string {
	t.Helper()
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	backend := s3mem.New()
	if err := backend.CreateBucket("artifacts"); err != nil {
		t.Fatal(err)
	}
	srv := httptest.NewServer(gofakes3.New(backend).Server())
	t.Cleanup(srv.Close)
	q := url.Values{"endpoint": {srv.URL}, "region": {"us-east-1"}, "use_path_style": {"true"}, "disable_https": {"true"}}
	return "s3://artifacts?" + q.Encode()
}

// Artifacts in an S3 bucket are shared by stores with state directories of their own, and purged from it.
func TestArtifactsInS3(t *testing.T) {
	bucket := startS3(t)
	// With SQLite the index of artifacts is in the state directory, so only there the two stores must share it.
	dirs := []string{t.TempDir(), t.TempDir()}
	if store.PostgresURL == "" {
		dirs[1] = dirs[0]
	}
	shared := store.URLFor(dirs[0])
	here := open(t, dirs[0], store.Options{URL: shared, BucketURL: bucket, Now: func() time.Time { return noon }})
	there := open(t, dirs[1], store.Options{URL: shared, BucketURL: bucket})
	for _, data := range [][]byte{{}, []byte("\x89PNG\r\n\x00\xff"), bytes.Repeat([]byte("0123456789abcdef"), 1<<19)} { // 8 MB go in parts
		digest, err := here.PutArtifact(t.Context(), "image/png", data)
		if err != nil || digest != tool.Digest(data) {
			t.Fatalf("put %d bytes: %v", len(data), err)
		}
		if mediaType, got, err := there.Artifact(t.Context(), digest); err != nil || mediaType != "image/png" || !bytes.Equal(got, data) {
			t.Errorf("%d bytes came back as %d bytes of %q, %v", len(data), len(got), mediaType, err)
		}
	}
	p, err := there.Purge(t.Context(), noon.Add(time.Hour))
	if err != nil || p.Artifacts != 3 {
		t.Errorf("purged %+v, %v", p, err)
	}
	if _, _, err := here.Artifact(t.Context(), tool.Digest(nil)); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("a purged artifact: %v", err)
	}
}

// A bucket that cannot be reached is an error that says so, and tells no key.
func TestS3Unreachable(t *testing.T) {
	t.Setenv("AWS_ACCESS_KEY_ID", "key")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "hunter2")
	t.Setenv("AWS_MAX_ATTEMPTS", "1")
	s := open(t, t.TempDir(), store.Options{BucketURL: "s3://artifacts?region=us-east-1&use_path_style=true&disable_https=true&endpoint=" + url.QueryEscape("http://127.0.0.1:1")})
	_, err := s.PutArtifact(t.Context(), "text/plain", []byte("x"))
	if !errors.Is(err, store.ErrUnavailable) || strings.Contains(fmt.Sprint(err), "hunter2") {
		t.Errorf("put: %v", err)
	}
}
