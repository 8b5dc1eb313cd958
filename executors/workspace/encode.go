package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
)

// magic begins every manifest: the form below, version 1.
const magic = "toolsvc workspace manifest 1\n"

// encode renders the tree as a manifest, and names it by its digest.
func (t *tree) encode() ([]byte, digest) {
	b := make([]byte, 0, len(t.entries)*140+64)
	b = append(b, magic...)
	b = binary.AppendUvarint(b, uint64(len(t.entries)))
	str := func(s string) { b = append(binary.AppendUvarint(b, uint64(len(s))), s...) }
	for i := range t.entries {
		e := &t.entries[i]
		str(e.Path)
		for _, v := range [...]uint64{uint64(e.Flags), e.Dev, e.Ino, uint64(e.Mode), uint64(e.Nlink), uint64(e.UID), uint64(e.GID), e.Rdev} {
			b = binary.AppendUvarint(b, v)
		}
		for _, v := range [...]int64{e.Size, e.MTime, e.CTime} {
			b = binary.AppendVarint(b, v)
		}
		b = append(b, e.Digest[:]...)
		str(e.Target)
		b = binary.AppendUvarint(b, uint64(len(e.Xattrs)))
		for _, x := range e.Xattrs {
			str(x.Name)
			str(string(x.Value))
		}
	}
	return b, sha256.Sum256(b)
}

// decodeTree reads a manifest, and checks that it is the one that was written.
func decodeTree(b []byte, want digest) (*tree, error) {
	if sha256.Sum256(b) != want {
		return nil, errors.New("the manifest is damaged: its content is not that of its digest")
	}
	rest, ok := bytes.CutPrefix(b, []byte(magic))
	if !ok {
		return nil, errors.New("the manifest is of another version")
	}
	d := decoder{rest}
	t := &tree{entries: make([]entry, d.count())}
	for i := range t.entries {
		e := &t.entries[i]
		e.Path = d.str()
		e.Flags = flags(d.uint())
		e.Dev, e.Ino = d.uint(), d.uint()
		e.Mode, e.Nlink, e.UID, e.GID = uint32(d.uint()), uint32(d.uint()), uint32(d.uint()), uint32(d.uint())
		e.Rdev = d.uint()
		e.Size, e.MTime, e.CTime = d.int(), d.int(), d.int()
		copy(e.Digest[:], d.take(uint64(len(e.Digest))))
		e.Target = d.str()
		for range d.count() {
			e.Xattrs = append(e.Xattrs, xattr{d.str(), []byte(d.str())})
		}
		if d.b == nil {
			return nil, fmt.Errorf("the manifest ends at entry %d of %d", i, len(t.entries))
		}
	}
	return t, nil
}

// decoder reads values from the front of b; b is nil once something was missing.
type decoder struct{ b []byte }

func (d *decoder) take(n uint64) []byte {
	if uint64(len(d.b)) < n {
		d.b = nil
		return nil
	}
	v := d.b[:n]
	d.b = d.b[n:]
	return v
}

func (d *decoder) uint() uint64 {
	v, n := binary.Uvarint(d.b)
	d.take(uint64(max(n, 1)))
	return v
}

func (d *decoder) int() int64 {
	v, n := binary.Varint(d.b)
	d.take(uint64(max(n, 1)))
	return v
}

func (d *decoder) str() string { return string(d.take(d.uint())) }

// count is a number of things that follow, each at least one byte long.
func (d *decoder) count() int {
	n := d.uint()
	if n > uint64(len(d.b)) {
		d.b = nil
		return 0
	}
	return int(n)
}
