//go:build linux || darwin || freebsd || netbsd

package ocr

import (
	"context"
	"errors"
	"fmt"
	"image"
	"math"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/ebitengine/purego"
)

// libraryNames are the names under which libtesseract 5 (or, failing that, 4: the same
// calls) is found, most likely first.
func libraryNames() []string {
	if runtime.GOOS == "darwin" {
		return []string{
			"libtesseract.5.dylib", "/opt/homebrew/lib/libtesseract.5.dylib", "/usr/local/lib/libtesseract.5.dylib",
			"libtesseract.dylib", "/opt/homebrew/lib/libtesseract.dylib", "/usr/local/lib/libtesseract.dylib",
		}
	}
	return []string{"libtesseract.so.5", "libtesseract.so", "libtesseract.so.4"}
}

// api is libtesseract's C interface, as far as it is used. See capi.h of tesseract 5.
type api struct {
	create        func() uintptr
	initialise    func(h uintptr, data, languages string) int32
	setVariable   func(h uintptr, name, value string) int32
	setLayout     func(h uintptr, mode int32)
	setImage      func(h uintptr, pixels unsafe.Pointer, w, hh, bytesPerPixel, bytesPerLine int32)
	setResolution func(h uintptr, ppi int32)
	recognise     func(h, monitor uintptr) int32
	table         func(h uintptr, page int32) unsafe.Pointer
	deleteText    func(text unsafe.Pointer)
	clear         func(h uintptr)
	remove        func(h uintptr)

	monitorCreate   func() uintptr
	monitorDelete   func(m uintptr)
	monitorDeadline func(m uintptr, milliseconds int32)
	monitorCancel   func(m, function uintptr)
	monitorThis     func(m, this uintptr)
	cancelled       uintptr // the C function that asks cancellations
}

// loaded is the library of this process, which cannot be unloaded.
var loaded struct {
	sync.Mutex
	api *api
}

// loadLibrary opens libtesseract. What failed is tried again the next time, so that the library
// can be installed while the service runs.
func loadLibrary() (*api, error) {
	loaded.Lock()
	defer loaded.Unlock()
	if loaded.api != nil {
		return loaded.api, nil
	}
	a, err := load(libraryNames())
	loaded.api = a
	return a, err
}

// load opens the first library of these names that is there.
func load(names []string) (*api, error) {
	// libgomp reads this when it is loaded. Without it the engine spawns threads that
	// spin for one another: three to five times slower on pictures of this size.
	if os.Getenv("OMP_THREAD_LIMIT") == "" {
		if err := os.Setenv("OMP_THREAD_LIMIT", "1"); err != nil {
			return nil, fmt.Errorf("limit the threads of libtesseract: %w", err)
		}
	}
	var library uintptr
	var failed []error
	for _, name := range names {
		handle, err := purego.Dlopen(name, purego.RTLD_NOW|purego.RTLD_LOCAL)
		if err == nil {
			library = handle
			break
		}
		failed = append(failed, err)
	}
	if library == 0 {
		return nil, fmt.Errorf("load libtesseract: %w", errors.Join(failed...))
	}
	a := &api{}
	for name, target := range map[string]any{
		"TessBaseAPICreate":              &a.create,
		"TessBaseAPIInit3":               &a.initialise,
		"TessBaseAPISetVariable":         &a.setVariable,
		"TessBaseAPISetPageSegMode":      &a.setLayout,
		"TessBaseAPISetImage":            &a.setImage,
		"TessBaseAPISetSourceResolution": &a.setResolution,
		"TessBaseAPIRecognize":           &a.recognise,
		"TessBaseAPIGetTsvText":          &a.table,
		"TessDeleteText":                 &a.deleteText,
		"TessBaseAPIClear":               &a.clear,
		"TessBaseAPIDelete":              &a.remove,
		"TessMonitorCreate":              &a.monitorCreate,
		"TessMonitorDelete":              &a.monitorDelete,
		"TessMonitorSetDeadlineMSecs":    &a.monitorDeadline,
		"TessMonitorSetCancelFunc":       &a.monitorCancel,
		"TessMonitorSetCancelThis":       &a.monitorThis,
	} {
		symbol, err := purego.Dlsym(library, name)
		if err != nil {
			return nil, fmt.Errorf("libtesseract lacks %s (version 4 or 5 is needed): %w", name, err)
		}
		purego.RegisterFunc(target, symbol)
	}
	a.cancelled = purego.NewCallback(func(this uintptr, _ int32) bool { return cancellations.asked(this) })
	return a, nil
}

// cancellations maps the tokens that C code holds to the flags of the readings they
// belong to: C must not hold Go pointers.
var cancellations tokens

type tokens struct {
	last  atomic.Uintptr
	flags sync.Map // uintptr → *atomic.Bool
}

func (t *tokens) add(flag *atomic.Bool) uintptr {
	token := t.last.Add(1)
	t.flags.Store(token, flag)
	return token
}

func (t *tokens) remove(token uintptr) { t.flags.Delete(token) }

func (t *tokens) asked(token uintptr) bool {
	flag, ok := t.flags.Load(token)
	return ok && flag.(*atomic.Bool).Load()
}

// library makes engines inside this process.
type library struct {
	api  *api
	data string // folder with the traineddata files
}

func (l *library) kind() string { return "libtesseract" }

func (l *library) open(languages string) (engine, error) {
	h := l.api.create()
	if h == 0 {
		return nil, errors.New("libtesseract could not create an engine")
	}
	if rc := l.api.initialise(h, l.data, languages); rc != 0 {
		l.api.remove(h)
		return nil, fmt.Errorf("libtesseract could not load the languages %q from %s", languages, l.data)
	}
	// Its warnings ("Empty page!!") would go to standard error, which belongs to the caller.
	l.api.setVariable(h, "debug_file", os.DevNull)
	// It need not try the negative of a line: tiles are dark on white.
	l.api.setVariable(h, "tessedit_do_invert", "0")
	return &libraryEngine{api: l.api, h: h}, nil
}

type libraryEngine struct {
	api *api
	h   uintptr
}

func (e *libraryEngine) close() { e.api.remove(e.h) }

func (e *libraryEngine) read(ctx context.Context, lines []*image.Gray) ([][]word, error) {
	words := make([][]word, len(lines))
	for i := range lines {
		var err error
		if words[i], err = e.readLine(ctx, lines[i]); err != nil {
			return nil, err
		}
	}
	return words, nil
}

func (e *libraryEngine) readLine(ctx context.Context, picture *image.Gray) ([]word, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	monitor := e.api.monitorCreate()
	defer e.api.monitorDelete(monitor)
	if deadline, ok := ctx.Deadline(); ok {
		left := time.Until(deadline).Milliseconds()
		e.api.monitorDeadline(monitor, int32(min(max(left, 1), math.MaxInt32)))
	}
	var stop atomic.Bool
	token := cancellations.add(&stop)
	defer cancellations.remove(token)
	e.api.monitorCancel(monitor, e.api.cancelled)
	e.api.monitorThis(monitor, token)
	defer context.AfterFunc(ctx, func() { stop.Store(true) })()

	e.api.setLayout(e.h, singleLine)
	w, h := picture.Rect.Dx(), picture.Rect.Dy()
	// The engine copies the pixels during this call and keeps no pointer to them.
	e.api.setImage(e.h, unsafe.Pointer(&picture.Pix[0]), int32(w), int32(h), 1, int32(picture.Stride))
	runtime.KeepAlive(picture)
	defer e.api.clear(e.h)
	e.api.setResolution(e.h, resolution)

	const monitorGrain = 10 * time.Millisecond // the monitor counts whole milliseconds, from a moment of its own
	rc := e.api.recognise(e.h, monitor)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if d, ok := ctx.Deadline(); rc != 0 && ok && time.Until(d) < monitorGrain { // the engine's own clock was a little faster
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if rc != 0 {
		return nil, fmt.Errorf("libtesseract could not read a line of %d×%d pixels", w, h)
	}
	text := e.api.table(e.h, 0)
	if text == nil {
		return nil, nil
	}
	defer e.api.deleteText(text)
	return parseTSV(cString(text), 1)[0], nil
}

// cString copies a NUL-terminated string out of C memory.
func cString(p unsafe.Pointer) string {
	n := 0
	for *(*byte)(unsafe.Add(p, n)) != 0 {
		n++
	}
	return string(unsafe.Slice((*byte)(p), n))
}
