//go:build unix

package ocr

import (
	"image"
	"image/png"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"toolsvc/executors/browser/vision"
	"toolsvc/executors/browser/vision/pixdiff"
)

// measure runs a benchmark and also reports the processor time that a round takes, child processes
// included, which other work on the machine disturbs less than the wall time.
func measure(b *testing.B, round func(i int)) {
	b.Helper()
	used := func() time.Duration {
		var sum time.Duration
		for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
			var u syscall.Rusage
			if err := syscall.Getrusage(who, &u); err != nil {
				b.Fatal(err)
			}
			sum += time.Duration(u.Utime.Nano() + u.Stime.Nano())
		}
		return sum
	}
	before, rounds := used(), 0
	for ; b.Loop(); rounds++ {
		round(rounds)
	}
	b.ReportMetric(float64((used()-before).Microseconds())/1000/float64(rounds), "cpu-ms/op")
}

// forget makes a grounder look at everything anew.
func forget(g *Grounder) {
	g.sheets = newRecent[[32]byte, *sheet](knownSheets)
	if g.reader != nil {
		g.reader = newReader(g.reader.pool)
	}
}

// cut writes a part of a screenshot as a PNG file.
func cut(b *testing.B, shot vision.Screenshot, part image.Rectangle) string {
	b.Helper()
	m, err := pixdiff.Decode(shot.PNG)
	if err != nil {
		b.Fatal(err)
	}
	path := filepath.Join(b.TempDir(), "part.png")
	f, err := os.Create(path)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	if err := png.Encode(f, m.SubImage(part)); err != nil {
		b.Fatal(err)
	}
	return path
}

// BenchmarkLocate finds one of 27 buttons on a page of 1280×800 pixels, in a part of it, and where only
// it is; beside what the tesseract program takes to read the same pixels once, which includes
// the start of a process, and reads coloured buttons badly. "again" is the same question about the same
// picture, "changed" about a picture in which one button has changed.
func BenchmarkLocate(b *testing.B) {
	here, _ := halves()
	shot, truth := canvas{Theme: "coloured", Size: 14, Labels: here}.shoot(b, 1)
	other := append([]string(nil), here...)
	other[len(other)-1] = "Undo"
	changed, _ := canvas{Theme: "coloured", Size: 14, Labels: other}.shoot(b, 1)
	g := New(Options{})
	defer g.Close()
	var at vision.Rect
	const name = "Settings"
	for _, d := range truth {
		if d.Text == name {
			at = d.box()
		}
	}
	around := vision.Rect{X: max(0, at.X-200), Y: max(0, at.Y-80), W: 400, H: 200}
	locate := func(b *testing.B, shot vision.Screenshot, region vision.Rect) {
		b.Helper()
		found, err := g.Locate(b.Context(), shot, vision.Query{Name: name, Region: region})
		if err != nil || len(found) != 1 {
			b.Fatalf("found %+v, %v", found, err)
		}
	}
	for _, c := range []struct {
		name   string
		region vision.Rect
	}{{"page", vision.Rect{}}, {"400x200", around}, {"button", at}} {
		b.Run(c.name, func(b *testing.B) {
			measure(b, func(int) {
				forget(g)
				locate(b, shot, c.region)
			})
		})
	}
	b.Run("again", func(b *testing.B) {
		measure(b, func(int) { locate(b, shot, vision.Rect{}) })
	})
	b.Run("changed", func(b *testing.B) {
		measure(b, func(i int) {
			g.sheets = newRecent[[32]byte, *sheet](knownSheets)
			locate(b, []vision.Screenshot{shot, changed}[i%2], vision.Rect{})
		})
	})
	b.Run("read", func(b *testing.B) {
		measure(b, func(int) {
			forget(g)
			if _, err := g.Read(b.Context(), shot, vision.Rect{}); err != nil {
				b.Fatal(err)
			}
		})
	})
	for _, c := range []struct {
		name string
		part image.Rectangle
	}{{"page", image.Rect(0, 0, 1280, 800)}, {"400x200", pixels(around, 1)}, {"button", pixels(at, 1)}} {
		file := cut(b, shot, c.part)
		b.Run("program/"+c.name, func(b *testing.B) {
			measure(b, func(int) {
				cmd := exec.Command("tesseract", file, "stdout", "--psm", "11", "tsv")
				cmd.Env = append(os.Environ(), "OMP_THREAD_LIMIT=1")
				if out, err := cmd.Output(); err != nil {
					b.Fatalf("%v: %s", err, out)
				}
			})
		})
	}
}

// BenchmarkAnalyse is what is done before anything is read.
func BenchmarkAnalyse(b *testing.B) {
	here, _ := halves()
	for _, c := range []struct {
		theme string
		scale float64
	}{{"coloured", 1}, {"coloured", 2}, {"rough", 1}, {"wallpaper", 1}} {
		shot, _ := canvas{Theme: c.theme, Size: 14, Labels: here}.shoot(b, c.scale)
		m, err := pixdiff.Decode(shot.PNG)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(c.theme+map[float64]string{1: "/1x", 2: "/2x"}[c.scale], func(b *testing.B) {
			b.ReportAllocs()
			measure(b, func(int) { analyse(m, c.scale) })
		})
	}
}
