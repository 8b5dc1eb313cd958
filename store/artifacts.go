package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"gocloud.dev/blob"
	_ "gocloud.dev/blob/fileblob" // the scheme "file"
	_ "gocloud.dev/blob/s3blob"   // the scheme "s3"
	"gocloud.dev/gcerrors"

	"toolsvc/tool"
)

// MaxArtifact bounds an artifact, in bytes.
const MaxArtifact = 32 << 20

var isDigest = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)

// openBucket opens the bucket. A bucket of files gets its temporary files beside the final ones, so that a file appears whole or not at all,
// and no sidecar files: the media type is kept in the table.
func (s *Store) openBucket(ctx context.Context, dir, bucketURL string) error {
	u := &url.URL{Scheme: "file", Path: filepath.ToSlash(filepath.Join(dir, "artifacts"))}
	if bucketURL != "" {
		var err error
		if u, err = url.Parse(bucketURL); err != nil {
			return fmt.Errorf("%w: the artifact bucket's address is not a URL: %w", ErrInvalid, err)
		}
	}
	if u.Scheme == "file" {
		s.folder = filepath.FromSlash(u.Path)
		if u.Host == "." { // gocloud.dev's spelling of a relative path
			s.folder = strings.TrimPrefix(s.folder, string(filepath.Separator))
		}
		q := u.Query()
		q.Set("create_dir", "1")
		q.Set("no_tmp_dir", "1")
		q.Set("metadata", "skip")
		q.Set("dir_file_mode", "448") // 0700
		u.RawQuery = q.Encode()
	}
	var err error
	if s.bucket, err = blob.OpenBucket(ctx, u.String()); err != nil {
		return fmt.Errorf("%w: open the artifact bucket %s: %w", ErrUnavailable, u.Redacted(), err)
	}
	return nil
}

// PutArtifact keeps the data, at most MaxArtifact bytes, and returns its content digest, as [tool.Digest] makes it. Putting the same data
// again is harmless and makes it count as new for [Store.Purge]; the media type given last is kept.
func (s *Store) PutArtifact(ctx context.Context, mediaType string, data []byte) (digest string, err error) {
	if len(data) > MaxArtifact {
		return "", fmt.Errorf("put artifact: %w", tooLarge("the artifact", len(data), MaxArtifact))
	}
	if _, _, err := mime.ParseMediaType(mediaType); err != nil || len(mediaType) > maxID {
		return "", fmt.Errorf("put artifact: %w", invalid("%q is not a media type", mediaType))
	}
	digest = tool.Digest(data)
	// The row comes first: Purge deletes a file only together with a row that is old, so it cannot take away a file that is written now.
	err = s.write(ctx, s.events, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `
			INSERT INTO artifacts (digest, media_type, size, put_at) VALUES ($1, $2, $3, $4)
			ON CONFLICT (digest) DO UPDATE SET media_type = excluded.media_type, put_at = excluded.put_at`,
			digest, mediaType, len(data), stamp(s.now()))
		return err
	})
	if err == nil {
		err = s.bucket.WriteAll(ctx, blobKey(digest), data, nil)
	}
	if err != nil {
		return "", s.explain(err, "put artifact %s (%s, %d bytes)", digest, mediaType, len(data))
	}
	return digest, nil
}

// Artifact returns an artifact, checked against its digest: what is damaged is [ErrCorrupt], what is not there [ErrNotFound].
func (s *Store) Artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error) {
	mediaType, data, err = s.artifact(ctx, digest)
	if err != nil {
		return "", nil, s.explain(err, "read artifact %q", digest)
	}
	return mediaType, data, nil
}

func (s *Store) artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error) {
	if !isDigest.MatchString(digest) {
		return "", nil, invalid("a digest is sha256: and 64 hexadecimal digits")
	}
	err = s.read.QueryRowContext(ctx, `SELECT media_type FROM artifacts WHERE digest = $1`, digest).Scan(&mediaType)
	if errors.Is(err, sql.ErrNoRows) {
		return "", nil, ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	r, err := s.bucket.NewReader(ctx, blobKey(digest), nil)
	if gcerrors.Code(err) == gcerrors.NotFound {
		return "", nil, ErrNotFound
	}
	if err != nil {
		return "", nil, err
	}
	data, err = io.ReadAll(io.LimitReader(r, MaxArtifact+1))
	if err = errors.Join(err, r.Close()); err != nil {
		return "", nil, err
	}
	if got := tool.Digest(data); got != digest {
		return "", nil, fmt.Errorf("%w: its %d bytes have the digest %s", ErrCorrupt, len(data), got)
	}
	return mediaType, data, nil
}

const blobPrefix = "sha256/"

// blobKey spreads artifacts over 256 folders.
func blobKey(digest string) string {
	hex := strings.TrimPrefix(digest, "sha256:")
	return blobPrefix + hex[:2] + "/" + hex
}
