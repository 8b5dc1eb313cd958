package browser

import (
	"context"
	"time"

	"toolsvc/executors/browser/guard"
	mem "toolsvc/executors/browser/memory"
	"toolsvc/executors/browser/vision"
)

// ArtifactStore keeps pictures. Put returns the content digest, "sha256:…".
type ArtifactStore interface {
	Put(ctx context.Context, mediaType string, data []byte) (digest string, err error)
}

// Options configure an Executor. The zero value of every field but StateDir is usable.
type Options struct {
	// StateDir holds the browser's profile, its record, and the records of the runs' tabs. Required unless Ephemeral, which makes a
	// temporary one.
	StateDir string
	// ChromiumPath is the program; "" looks for one on the PATH.
	ChromiumPath string
	// Vision finds targets in pictures; nil when there is none.
	Vision vision.Grounder
	// Artifacts keeps screenshots; without it the screenshot tool is unavailable.
	Artifacts ArtifactStore
	// Memory keeps what identified the targets that were acted on with success; without it nothing is remembered.
	Memory *mem.Memory
	// Choose finds a remembered element again; memory.Choose when nil. For comparison.
	Choose mem.Chooser
	// DeviceScaleFactor is the number of device pixels in a CSS pixel; 1 when 0.
	DeviceScaleFactor float64
	// Width and Height of the viewport in CSS pixels; 1280 and 800 when 0.
	Width, Height int
	// Ephemeral ends the browser, and removes what it kept, at Shutdown; where the process is killed, the next ephemeral executor does. For tests.
	Ephemeral bool
	// EndBrowser ends the browser at Shutdown also when it is not ephemeral. By default it is left running, so that the next process
	// finds the tabs.
	EndBrowser bool
	// MaxSessions bounds the runs that have a tab at the same time; 8 when 0.
	MaxSessions int
	// IdleTimeout is how long an unused tab is kept before it may be given up; its run finds its page again. 15 minutes when 0.
	IdleTimeout time.Duration
	// Screenshots puts pictures of the viewport into the evidence of actions, before and after, where they can be had in time and show no
	// secret. They are taken while the attempt waits for the page anyway; before a dispatch about 15 ms are waited for one, after it 30.
	Screenshots bool
	// ComparePixels compares pictures before and after every click and key, also on pages whose whole state is in the DOM.
	ComparePixels bool
	// SitePerProcess gives every site a process of its own.
	SitePerProcess bool
	// Workspace is the folder whose files may be uploaded, and no others; without it the upload tool is unavailable.
	Workspace string
	// MaxDownload bounds a file that a page has the browser save, in bytes; 64 MB when 0. Downloads are kept in Artifacts.
	MaxDownload int64
	// Navigation says where the browser may connect to; the zero Policy allows public addresses and loopback.
	Navigation guard.Policy
	// Unguarded lets the browser connect to wherever it can, and only asks the policy about addresses that calls name. For measurements.
	Unguarded bool
	// Flags are further command-line flags of Chromium.
	Flags []string
}

func (o Options) withDefaults() Options {
	def := func(p *int, v int) {
		if *p == 0 {
			*p = v
		}
	}
	if o.Choose == nil {
		o.Choose = mem.Choose
	}
	def(&o.Width, 1280)
	def(&o.Height, 800)
	def(&o.MaxSessions, 8)
	if o.MaxDownload == 0 {
		o.MaxDownload = 64 << 20
	}
	if o.DeviceScaleFactor == 0 {
		o.DeviceScaleFactor = 1
	}
	if o.IdleTimeout == 0 {
		o.IdleTimeout = 15 * time.Minute
	}
	return o
}
