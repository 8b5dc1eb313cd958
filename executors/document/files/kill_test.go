package files

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"toolsvc/tool"
)

// version is a whole content: a number, and so many lines of it that half a file shows.
func version(n int) []byte {
	return []byte(strings.Repeat(fmt.Sprintf("version %d\n", n), 20_000))
}

// writer is the folder that the process to be killed writes in; "" in the process that runs the tests.
var writer = os.Getenv("TOOLSVC_TEST_WRITER")

func TestMain(m *testing.M) {
	if writer == "" {
		os.Exit(m.Run())
	}
	if err := write(); err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// write replaces a file for ever.
func write() error {
	r, err := Open(writer, 1<<20)
	if err != nil {
		return err
	}
	for n := 1; ; n++ {
		f, err := r.Read("f")
		if err != nil {
			return err
		}
		if err := r.Replace(f, Content{Data: version(n % 10)}, "call"); err != nil {
			return err
		}
		if n == 1 {
			fmt.Println("writing")
		}
	}
}

// The process is killed while it replaces a file, at any moment: the file is a whole version, with its mode; what it left behind is one
// temporary file, which the next attempt of the same call replaces.
func TestKilledWhileWriting(t *testing.T) {
	t.Parallel()
	r, dir := open(t)
	put(t, dir, "f", string(version(0)), 0o640)
	random := rand.New(rand.NewPCG(3, 4))
	for round := range 12 {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), "TOOLSVC_TEST_WRITER="+dir)
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		if begun, err := bufio.NewReader(out).ReadString('\n'); err != nil || begun != "writing\n" {
			t.Fatalf("the writer said %q (%v)", begun, err)
		}
		timer := time.NewTimer(time.Duration(random.IntN(8000)) * time.Microsecond) // the moment of the kill
		<-timer.C
		if err := cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		_ = cmd.Wait()
		f, err := r.Read("f")
		if err != nil || f.Mode.Perm() != 0o640 {
			t.Fatalf("round %d: %v, mode %v", round, err, f.Mode)
		}
		first, _, _ := bytes.Cut(f.Data, []byte("\n"))
		var n int
		if _, err := fmt.Sscanf(string(first), "version %d", &n); err != nil || tool.Digest(version(n)) != f.Digest {
			t.Fatalf("round %d: half a file of %d bytes: %.40q", round, len(f.Data), f.Data)
		}
		entries, err := os.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			if e.Name() != "f" && e.Name() != filepath.Base(Temporary("f", "call")) {
				t.Fatalf("round %d left %s", round, e.Name())
			}
		}
	}
	f, err := r.Read("f")
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Replace(f, Content{Data: version(77)}, "call"); err != nil {
		t.Fatal(err)
	}
	onlyFiles(t, dir, "f")
}
