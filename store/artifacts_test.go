package store_test

import (
	"bytes"
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	_ "gocloud.dev/blob/memblob" // a bucket that is no folder

	"toolsvc/store"
	"toolsvc/tool"
)

func TestArtifactComesBackAsItWasPut(t *testing.T) {
	t.Parallel()
	elsewhere := filepath.Join(t.TempDir(), "a bucket #1 100% 그림")
	for name, bucket := range map[string]string{"state directory": "", "folder": (&url.URL{Scheme: "file", Path: elsewhere}).String(), "memory": "mem://"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			s := open(t, dir, store.Options{BucketURL: bucket})
			for _, data := range [][]byte{[]byte("\x89PNG\r\n\x00\xff"), {}, bytes.Repeat([]byte("x"), 1<<20)} {
				digest, err := s.PutArtifact(t.Context(), "image/png", data)
				if err != nil || digest != tool.Digest(data) {
					t.Fatalf("put %d bytes: %s, %v", len(data), digest, err)
				}
				mediaType, got, err := s.Artifact(t.Context(), digest)
				if err != nil || mediaType != "image/png" || !bytes.Equal(got, data) {
					t.Errorf("%d bytes came back as %d bytes of %q, %v", len(data), len(got), mediaType, err)
				}
			}
			if name != "state directory" {
				if fs := files(t, dir); slices.ContainsFunc(fs, func(f string) bool { return strings.HasPrefix(f, "artifacts") }) {
					t.Errorf("artifacts are in the state directory: %v", fs)
				}
			}
		})
	}
}

func TestArtifactPutTwice(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	data := []byte(`{"a":1}`)
	one, err1 := s.PutArtifact(t.Context(), "text/plain", data)
	two, err2 := open(t, dir).PutArtifact(t.Context(), "application/json; charset=utf-8", data)
	if err1 != nil || err2 != nil || one != two {
		t.Fatalf("%s %v, %s %v", one, err1, two, err2)
	}
	if mediaType, _, err := s.Artifact(t.Context(), one); err != nil || mediaType != "application/json; charset=utf-8" {
		t.Errorf("media type %q, %v", mediaType, err)
	}
	hex := strings.TrimPrefix(one, "sha256:")
	if got, want := files(t, filepath.Join(dir, "artifacts")), []string{filepath.Join("sha256", hex[:2], hex)}; !slices.Equal(got, want) {
		t.Errorf("the bucket holds %v, want %v and no temporary or sidecar files", got, want)
	}
}

// A reader never meets half an artifact, although others put the same one meanwhile.
func TestArtifactsAppearWhole(t *testing.T) {
	t.Parallel()
	s := open(t, t.TempDir())
	var wg sync.WaitGroup
	for n := range 10 {
		data := bytes.Repeat(fmt.Append(nil, n), 300_000)
		for range 3 {
			wg.Go(func() {
				if _, err := s.PutArtifact(t.Context(), "text/plain", data); err != nil {
					t.Error(err)
				}
				if _, got, err := s.Artifact(t.Context(), tool.Digest(data)); err != nil || len(got) != len(data) {
					t.Errorf("%d bytes, %v", len(got), err)
				}
			})
		}
	}
	wg.Wait()
}

func TestArtifactErrors(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := open(t, dir)
	digest, err := s.PutArtifact(t.Context(), "text/plain", []byte("whole"))
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "artifacts", "sha256", digest[7:9], digest[7:])

	for _, c := range []struct {
		name, mediaType string
		size            int
		want            error
	}{
		{"too large", "text/plain", store.MaxArtifact + 1, store.ErrTooLarge},
		{"no media type", "", 1, store.ErrInvalid},
		{"broken media type", "text/plain; charset", 1, store.ErrInvalid},
		{"long media type", "text/" + strings.Repeat("x", 300), 1, store.ErrInvalid},
	} {
		if _, err := s.PutArtifact(t.Context(), c.mediaType, make([]byte, c.size)); !errors.Is(err, c.want) {
			t.Errorf("put, %s: %v", c.name, err)
		}
	}
	for digest, want := range map[string]error{
		tool.Digest([]byte("never put")): store.ErrNotFound,
		"":                               store.ErrInvalid,
		"sha256:../../toolsvc.db":        store.ErrInvalid,
		strings.ToUpper(digest):          store.ErrInvalid,
		"md5:" + strings.TrimPrefix(digest, "sha256:"): store.ErrInvalid,
		digest + "\n": store.ErrInvalid,
	} {
		if _, _, err := s.Artifact(t.Context(), digest); !errors.Is(err, want) {
			t.Errorf("read %q: %v, want %v", digest, err, want)
		}
	}
	for _, damaged := range []string{"whol", "wholf", "whole and more", ""} {
		if err := os.WriteFile(file, []byte(damaged), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, data, err := s.Artifact(t.Context(), digest); !errors.Is(err, store.ErrCorrupt) || data != nil {
			t.Errorf("damaged to %q: read %q, %v", damaged, data, err)
		}
	}
	if err := os.Remove(file); err != nil {
		t.Fatal(err)
	}
	if _, _, err := s.Artifact(t.Context(), digest); !errors.Is(err, store.ErrNotFound) {
		t.Errorf("file gone: %v", err)
	}
	if _, err := s.PutArtifact(t.Context(), "text/plain", []byte("whole")); err != nil {
		t.Error(err)
	}
	if _, data, err := s.Artifact(t.Context(), digest); err != nil || string(data) != "whole" {
		t.Errorf("putting again does not mend it: %q, %v", data, err)
	}
}

func TestBucketThatCannotBeOpened(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, bucket := range []string{"nosuch://bucket", "%zz", (&url.URL{Scheme: "file", Path: file}).String()} {
		s, err := store.Open(t.Context(), t.TempDir(), store.Options{BucketURL: bucket, BusyTimeout: time.Second})
		if err == nil {
			t.Errorf("%s was opened", bucket)
			s.Close()
		} else if !errors.Is(err, store.ErrUnavailable) && !errors.Is(err, store.ErrInvalid) {
			t.Errorf("%s: %v", bucket, err)
		}
	}
}
