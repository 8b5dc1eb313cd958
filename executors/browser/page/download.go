package page

import (
	"context"
	"time"
)

// maxFiles bounds the downloads that are remembered.
const maxFiles = 200

// File is a download that the page began.
type File struct {
	// GUID names the download, and its file on the disk.
	GUID, Name, URL string
	// Bytes that have come so far.
	Bytes int64
	// Done: it ended, completely when Problem is "".
	Done    bool
	Problem string
}

// Download takes note of a download that the page began.
func (t *Tab) Download(f File) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.log.downloads++
	t.log.files = append(t.log.files[max(0, len(t.log.files)-maxFiles+1):], &f)
	t.tell()
}

// Downloading updates a download, and reports whether it is one of this tab's.
func (t *Tab) Downloading(guid string, bytes int64, done bool, problem string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, f := range t.log.files {
		if f.GUID == guid {
			f.Bytes = max(f.Bytes, bytes)
			if !f.Done {
				f.Done = done
				if f.Problem == "" {
					f.Problem = problem
				}
			}
			t.tell()
			return true
		}
	}
	return false
}

// AwaitDownloads waits until the downloads that began since the mark have ended, at most max, and returns them.
func (t *Tab) AwaitDownloads(ctx context.Context, m Mark, max time.Duration) []File {
	ctx, cancel := context.WithTimeout(ctx, max)
	defer cancel()
	_ = t.await(ctx, func() bool { // those that have not ended say so themselves
		for _, f := range t.filesSince(m) {
			if !f.Done {
				return false
			}
		}
		return true
	})
	t.mu.Lock()
	defer t.mu.Unlock()
	var out []File
	for _, f := range t.filesSince(m) {
		out = append(out, *f)
	}
	return out
}

// filesSince are the downloads since a mark. The caller holds the lock.
func (t *Tab) filesSince(m Mark) []*File {
	n := min(t.log.downloads-m.Downloads, len(t.log.files))
	return t.log.files[len(t.log.files)-n:]
}
