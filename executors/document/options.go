package document

import (
	"context"
	"errors"
	"io/fs"
)

// Versions keeps contents of files by their digests, so that diff and rollback know what was there. *store.Store is one.
type Versions interface {
	PutArtifact(ctx context.Context, mediaType string, data []byte) (digest string, err error)
	Artifact(ctx context.Context, digest string) (mediaType string, data []byte, err error)
}

// Options configure an Executor. The zero value of every field but Root is usable.
type Options struct {
	// Root is the folder of the workspace. Required.
	Root string
	// Versions keeps what was in files before and after they were written, for diff, and for a rollback after the process was lost. Without it
	// only this process remembers, as far as its memory allows.
	Versions Versions
	// Editing is told before a call writes a file, whose path is from the workspace's root, and done when it will not write it any more, also to
	// take it back. When it fails, nothing is written. May be nil.
	Editing func(ctx context.Context, runID, callID, path string) (done func(), err error)
	// MaxFile bounds the files that are read and written, in bytes; 8 MiB when 0.
	MaxFile int64
	// FileMode is that of new files; 0644 when 0.
	FileMode fs.FileMode
}

// The bounds of what is kept and looked at.
const (
	// maxFile is the default of Options.MaxFile.
	maxFile = 8 << 20
	// maxRemembered bounds the contents that this process remembers, in bytes.
	maxRemembered = 32 << 20
	// maxModels bounds the files whose models are kept.
	maxModels = 32
	// maxCandidates bounds the places that an ambiguous target lists.
	maxCandidates = 10
	// maxMatches bounds how many places one call replaces.
	maxMatches = 1000
	// maxLinkedFiles bounds the files whose anchors are read to check the links of one document.
	maxLinkedFiles = 200
	// maxListed is how many entries lists of evidence have at most. It is more than a condition may read, so that a list that was cut is never
	// taken for a whole one.
	maxListed = 1001
	// maxTouchedText bounds the texts of touched places in evidence, in bytes; longer ones are there by their digests only.
	maxTouchedText = 16 << 10
	// maxEvidence bounds what evidence says of one file, and of all files that conditions ask for by path, in bytes of JSON. The journal of
	// dispatches takes 4 MiB in all.
	maxEvidence = 1536 << 10
	// maxEvidenceText bounds the text of a file in evidence, in bytes; a condition cannot read more.
	maxEvidenceText = 1 << 20
	// maxDifference bounds the difference that a refused rollback tells, in characters.
	maxDifference = 2000
)

func (o Options) withDefaults() (Options, error) {
	if o.Root == "" {
		return o, errors.New("the document executor needs the folder of a workspace")
	}
	if o.MaxFile == 0 {
		o.MaxFile = maxFile
	}
	if o.FileMode == 0 {
		o.FileMode = 0o644
	}
	return o, nil
}
