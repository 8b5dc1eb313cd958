//go:build linux

package main

import (
	"bufio"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// footprint is what the server takes up; of the process itself, without Chromium and commands.
type footprint struct {
	RSS        int64 // bytes
	Files      int   // open file descriptors
	Threads    int
	Goroutines int // -1 when the server does not tell
	Disk       int64
}

func (s *server) footprint() (f footprint, err error) {
	at := filepath.Join("/proc", strconv.Itoa(s.cmd.Process.Pid))
	status, err := os.ReadFile(filepath.Join(at, "status"))
	if err != nil {
		return f, err
	}
	for line := range strings.Lines(string(status)) {
		switch fields := strings.Fields(line); {
		case len(fields) < 2:
		case fields[0] == "VmRSS:":
			kib, err := strconv.ParseInt(fields[1], 10, 64)
			if err != nil {
				return f, err
			}
			f.RSS = kib << 10
		case fields[0] == "Threads:":
			if f.Threads, err = strconv.Atoi(fields[1]); err != nil {
				return f, err
			}
		}
	}
	files, err := os.ReadDir(filepath.Join(at, "fd"))
	if err != nil {
		return f, err
	}
	f.Files = len(files)
	f.Goroutines = s.goroutines()
	err = filepath.WalkDir(filepath.Join(s.dir, "state"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return nil //nolint:nilerr // files come and go
		}
		if info, err := d.Info(); err == nil {
			f.Disk += info.Size()
		}
		return nil
	})
	return f, err
}

// goroutines asks the server's metrics; -1 where there are none.
func (s *server) goroutines() int {
	resp, err := s.http.Get(s.base + "/metrics")
	if err != nil {
		return -1
	}
	defer resp.Body.Close() //nolint:errcheck // it was read
	if resp.StatusCode != http.StatusOK {
		return -1
	}
	for lines := bufio.NewScanner(resp.Body); lines.Scan(); {
		if text, ok := strings.CutPrefix(lines.Text(), "go_goroutines "); ok {
			if n, err := strconv.ParseFloat(text, 64); err == nil {
				return int(n)
			}
		}
	}
	return -1
}

func mib(bytes int64) string { return fmt.Sprintf("%.0f", float64(bytes)/(1<<20)) }

func orDash(n int) string {
	if n < 0 {
		return "–"
	}
	return strconv.Itoa(n)
}
