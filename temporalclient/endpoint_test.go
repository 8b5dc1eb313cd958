package temporalclient

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

func TestStateLock(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state", "deep")
	expect := func(when string, running bool, address string) {
		t.Helper()
		got, ok, err := ReadEndpoint(dir)
		if err != nil || ok != running || ok && got.Address != address {
			t.Errorf("%s: ReadEndpoint = %+v, %v, %v; want running=%v at %s", when, got, ok, err, running, address)
		}
	}
	expect("no directory", false, "")
	lock, err := LockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	expect("locked, not ready", false, "")
	if err := lock.Publish("127.0.0.1:1", "http://127.0.0.1:2", "default"); err != nil {
		t.Fatal(err)
	}
	expect("published", true, "127.0.0.1:1")

	_, err = LockState(dir)
	var held *HeldError
	if !errors.As(err, &held) || held.Holder.PID != os.Getpid() || !strings.Contains(err.Error(), "127.0.0.1:1") || !strings.Contains(err.Error(), "http://127.0.0.1:2") {
		t.Errorf("a second lock: %v; want a HeldError that names this process and its addresses", err)
	}
	expect("after a refused lock", true, "127.0.0.1:1")

	if err := lock.Withdraw(); err != nil {
		t.Fatal(err)
	}
	expect("withdrawn", false, "")
	for range 2 {
		if err := lock.Release(); err != nil {
			t.Fatal(err)
		}
	}
	expect("released", false, "")

	next, err := LockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	if got := next.Previous(); got.Address != "127.0.0.1:1" || got.UIURL != "http://127.0.0.1:2" {
		t.Errorf("the next owner learns %+v of the one before", got)
	}
	expect("locked anew, not ready", false, "")
	if err := next.Release(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Stat(dir)
	if err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("the state directory has mode %v, want 0700", info.Mode())
	}
	files, err := os.ReadDir(dir)
	if err != nil || len(files) != 2 {
		t.Errorf("left in the directory: %v, %v; want the lock and the record", files, err)
	}
}

// A record that a killed process left behind is not believed, whatever it says, and neither is one of a process that no longer exists
// while its successor has the lock and has written nothing yet.
func TestStaleRecordIsNotBelieved(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	lock, err := LockState(dir)
	if err != nil {
		t.Fatal(err)
	}
	const nobody = 1<<31 - 1 // beyond any process id
	if err := writeRecord(dir, Endpoint{PID: nobody, Address: "127.0.0.1:1", Ready: true}); err != nil {
		t.Fatal(err)
	}
	if _, running, err := ReadEndpoint(dir); running || err != nil {
		t.Errorf("lock held, record of a dead process: running=%v, %v", running, err)
	}
	if err := lock.file.Close(); err != nil { // what the end of the process does
		t.Fatal(err)
	}
	if err := writeRecord(dir, Endpoint{PID: os.Getpid(), Address: "127.0.0.1:1", Ready: true}); err != nil {
		t.Fatal(err)
	}
	if _, running, err := ReadEndpoint(dir); running || err != nil {
		t.Errorf("lock free: running=%v, %v", running, err)
	}
}

// A damaged record hides nothing but the old ports.
func TestDamagedRecordIsReplaced(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{"broken": "{", "empty": "", "huge": strings.Repeat(" ", maxRecord+1) + "{}"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.WriteFile(filepath.Join(dir, recordName), []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			lock, err := LockState(dir)
			if err != nil {
				t.Fatal(err)
			}
			if got := lock.Previous(); got != (Endpoint{}) {
				t.Errorf("previous: %+v, want nothing", got)
			}
			if err := lock.Release(); err != nil {
				t.Fatal(err)
			}
		})
	}
}

// Readers never keep an owner out, however many there are: commands look for a server while one starts.
func TestReadersDoNotKeepOwnersOut(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	stop := make(chan struct{})
	var readers sync.WaitGroup
	for range 4 {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, _, err := ReadEndpoint(dir); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	for range 50 {
		lock, err := LockState(dir)
		if err != nil {
			t.Error(err)
			break
		}
		if err := lock.Release(); err != nil {
			t.Error(err)
		}
	}
	close(stop)
	readers.Wait()
}
