package workspace

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"sync"
)

// errNoClone: the file system cannot share blocks between files.
var errNoClone = errors.New("the file system cannot clone files")

const (
	wholeBytes = 1 << 20 // files up to this size are read at once, so that a known content is not written again
	cloneBytes = 64 << 10
	fewObjects = 32 // up to this many are synced one by one, more by syncing the file system
	reserve    = 16 << 20
)

// objects keeps contents by their digest, each in a file of that name. A name appears only when its content is on the disk.
type objects struct {
	dir, incoming folder
	maxBytes      int64

	mu    sync.Mutex
	has   map[digest]int64 // and how many bytes each has
	total int64

	noClone bool // guarded by mu
	buffers sync.Pool
}

// openObjects lists what is there, and throws away what a killed process left half-written.
func openObjects(state string, maxBytes int64) (*objects, error) {
	o := &objects{maxBytes: maxBytes, has: map[digest]int64{}}
	o.buffers.New = func() any { b := make([]byte, wholeBytes); return &b }
	incoming := filepath.Join(state, "incoming")
	if err := os.RemoveAll(incoming); err != nil {
		return nil, err
	}
	for _, dir := range []string{incoming, filepath.Join(state, "objects")} {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, err
		}
	}
	var err error
	if o.dir, err = openFolder(filepath.Join(state, "objects")); err != nil {
		return nil, err
	}
	if o.incoming, err = openFolder(incoming); err != nil {
		return nil, errors.Join(err, o.dir.close())
	}
	err = o.dir.list(".", func(dir int, names []string) error {
		for _, name := range names {
			var d digest
			if n, err := hex.Decode(d[:], []byte(name)); err != nil || n != len(d) || len(name) != 2*len(d) {
				continue
			}
			s, err := statIn(dir, name)
			if err != nil {
				return err
			}
			o.has[d] = s.Size
			o.total += s.Size
		}
		return nil
	})
	if err != nil {
		return nil, errors.Join(err, o.close())
	}
	return o, nil
}

func (o *objects) close() error { return errors.Join(o.dir.close(), o.incoming.close()) }

// holds reports whether the content is kept.
func (o *objects) holds(d digest) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	_, ok := o.has[d]
	return ok
}

// open opens a content for reading. The reader must check what it reads against the digest.
func (o *objects) open(d digest) (*os.File, error) { return o.dir.file(d.hex(), openRead) }

// text reads a content that is at most max bytes; false when it is not kept or larger.
func (o *objects) text(d digest, max int64) ([]byte, bool) {
	o.mu.Lock()
	size, ok := o.has[d]
	o.mu.Unlock()
	if !ok || size > max {
		return nil, false
	}
	f, err := o.open(d)
	if err != nil {
		return nil, false
	}
	defer f.Close() //nolint:errcheck // it was only read
	b, err := io.ReadAll(io.LimitReader(f, max+1))
	return b, err == nil && digest(sha256.Sum256(b)) == d
}

// batch collects contents that become visible together.
type batch struct {
	o     *objects
	mu    sync.Mutex
	files map[digest]incoming
	bytes int64
	next  int
}

type incoming struct {
	name string
	size int64
}

func (o *objects) batch() *batch { return &batch{o: o, files: map[digest]incoming{}} }

// holds reports whether the content is kept or will be with this batch.
func (b *batch) holds(d digest) bool {
	b.mu.Lock()
	_, ok := b.files[d]
	b.mu.Unlock()
	return ok || b.o.holds(d)
}

func (b *batch) create() (*os.File, string, error) {
	b.mu.Lock()
	b.next++
	name := strconv.Itoa(b.next)
	b.mu.Unlock()
	f, err := b.o.incoming.create(name, 0o600)
	return f, name, err
}

// add takes an incoming file as the content of the digest.
func (b *batch) add(d digest, name string, size int64) error {
	b.mu.Lock()
	_, twice := b.files[d]
	twice = twice || b.o.holds(d)
	if !twice {
		b.files[d] = incoming{name, size}
		b.bytes += size
	}
	total := b.bytes
	b.mu.Unlock()
	if twice {
		return b.o.incoming.unlink(name)
	}
	b.o.mu.Lock()
	over := b.o.total+total > b.o.maxBytes
	b.o.mu.Unlock()
	if over {
		return fmt.Errorf("%w: the backups together would be over %d bytes", ErrTooLarge, b.o.maxBytes)
	}
	return nil
}

// read hashes the file, which has this size, and keeps its content when keep says so.
func (b *batch) read(f *os.File, size int64, keep bool) (d digest, n int64, err error) {
	if size <= wholeBytes {
		return b.readWhole(f, keep)
	}
	return b.readStream(f, keep)
}

func (b *batch) readWhole(f *os.File, keep bool) (digest, int64, error) {
	buf := b.o.buffers.Get().(*[]byte)
	defer b.o.buffers.Put(buf)
	n, err := io.ReadFull(f, *buf)
	if err == nil { // as long as the buffer, or longer by now
		more := make([]byte, 1)
		if k, _ := f.Read(more); k > 0 {
			if _, err := f.Seek(0, io.SeekStart); err != nil {
				return digest{}, 0, err
			}
			return b.readStream(f, keep)
		}
	} else if err != io.EOF && err != io.ErrUnexpectedEOF {
		return digest{}, 0, err
	}
	content := (*buf)[:n]
	d := digest(sha256.Sum256(content))
	if !keep || b.holds(d) {
		return d, int64(n), nil
	}
	to, name, err := b.create()
	if err != nil {
		return d, 0, err
	}
	if n < cloneBytes || b.o.clone(to, f) != nil {
		_, err = to.Write(content)
	} else if s, statErr := statFD(int(to.Fd())); statErr != nil || s.Size != int64(n) {
		err = b.o.rewrite(to, content)
	} else {
		err = b.o.same(to, content)
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return d, 0, err
	}
	return d, int64(n), b.add(d, name, int64(n))
}

// same makes sure that a clone holds what was hashed, although the file may have changed in between.
func (o *objects) same(to *os.File, content []byte) error {
	buf := make([]byte, len(content))
	if _, err := to.ReadAt(buf, 0); err == nil && bytes.Equal(buf, content) {
		return nil
	}
	return o.rewrite(to, content)
}

func (o *objects) rewrite(to *os.File, content []byte) error {
	if err := to.Truncate(0); err != nil {
		return err
	}
	_, err := to.WriteAt(content, 0)
	return err
}

// readStream hashes a large file. What is kept is what was hashed: a clone is hashed after it was made.
func (b *batch) readStream(f *os.File, keep bool) (d digest, n int64, err error) {
	if !keep {
		h := sha256.New()
		if n, err = io.Copy(h, onlyReader{f}); err != nil {
			return d, 0, err
		}
		return sum(h), n, nil
	}
	to, name, err := b.create()
	if err != nil {
		return d, 0, err
	}
	h := sha256.New()
	if b.o.clone(to, f) == nil {
		n, err = io.Copy(h, onlyReader{to})
	} else {
		n, err = io.CopyBuffer(io.MultiWriter(h, onlyWriter{to}), onlyReader{f}, make([]byte, 256<<10))
	}
	if err = errors.Join(err, to.Close()); err != nil {
		return d, 0, err
	}
	d = sum(h)
	return d, n, b.add(d, name, n)
}

// onlyReader and onlyWriter keep io.Copy from taking shortcuts around the hash.
type onlyReader struct{ io.Reader }
type onlyWriter struct{ io.Writer }

func sum(h hash.Hash) (d digest) {
	h.Sum(d[:0])
	return d
}

func (o *objects) clone(to, from *os.File) error {
	o.mu.Lock()
	not := o.noClone
	o.mu.Unlock()
	if not {
		return errNoClone
	}
	err := clone(to, from)
	if errors.Is(err, errNoClone) {
		o.mu.Lock()
		o.noClone = true
		o.mu.Unlock()
	}
	return err
}

// commit brings the contents to the disk and then makes them visible.
func (b *batch) commit() error {
	if len(b.files) == 0 {
		return nil
	}
	if len(b.files) > fewObjects {
		if err := b.o.incoming.syncAll(); err != nil {
			return err
		}
	} else {
		for _, in := range b.files {
			f, err := b.o.incoming.file(in.name, openRead)
			if err != nil {
				return err
			}
			if err := errors.Join(f.Sync(), f.Close()); err != nil {
				return err
			}
		}
	}
	at("backup: contents are written")
	for d, in := range b.files {
		err := move(b.o.incoming, in.name, b.o.dir, d.hex())
		if errors.Is(err, fs.ErrExist) {
			err = b.o.incoming.unlink(in.name)
		}
		if err != nil {
			return err
		}
		b.o.mu.Lock()
		b.o.has[d] = in.size
		b.o.total += in.size
		b.o.mu.Unlock()
		delete(b.files, d)
	}
	at("backup: contents are named")
	return b.o.dir.sync()
}

// abort throws away what was collected.
func (b *batch) abort() error {
	var errs []error
	errs = append(errs, b.o.incoming.list(".", func(_ int, names []string) error {
		for _, name := range names {
			if err := b.o.incoming.unlink(name); err != nil && !gone(err) {
				return err
			}
		}
		return nil
	}))
	return errors.Join(errs...)
}

// room refuses early what would not fit.
func (o *objects) room(need int64) error {
	o.mu.Lock()
	cloning := !o.noClone
	o.mu.Unlock()
	free, err := o.dir.free()
	if err != nil {
		return err
	}
	if need+reserve > free && !(cloning && need > 0 && o.canClone()) {
		return fmt.Errorf("%w: up to %d bytes are to be kept, and %d are free", ErrNoSpace, need, free)
	}
	return nil
}

// canClone tries it.
func (o *objects) canClone() bool {
	a, err := o.incoming.create("probe-a", 0o600)
	if err != nil {
		return false
	}
	defer o.incoming.unlink("probe-a") //nolint:errcheck // thrown away with the rest at the next start
	defer a.Close()                    //nolint:errcheck // a probe, which nothing is kept in
	b, err := o.incoming.create("probe-b", 0o600)
	if err != nil {
		return false
	}
	defer o.incoming.unlink("probe-b") //nolint:errcheck // the same
	defer b.Close()                    //nolint:errcheck // the same
	return o.clone(a, b) == nil
}

// sweep deletes the contents that are not in live.
func (o *objects) sweep(live map[digest]struct{}) (files int, bytes int64, err error) {
	o.mu.Lock()
	var dead []digest
	for d := range o.has {
		if _, ok := live[d]; !ok {
			dead = append(dead, d)
		}
	}
	o.mu.Unlock()
	for _, d := range dead {
		if err := o.dir.unlink(d.hex()); err != nil && !gone(err) {
			return files, bytes, err
		}
		o.mu.Lock()
		files++
		bytes += o.has[d]
		o.total -= o.has[d]
		delete(o.has, d)
		o.mu.Unlock()
	}
	return files, bytes, nil
}
