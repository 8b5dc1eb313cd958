package temporalserver

import (
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"time"

	"go.temporal.io/api/enums/v1"

	"toolsvc/temporalclient"
)

// DefaultRetention is how long a closed run stays readable when [Options.Retention] is zero.
const DefaultRetention = 7 * 24 * time.Hour

// NoUI as [Options.UIPort] leaves the web UI out.
const NoUI = -1

// Options say where the server keeps its data and where it listens. Only StateDir is required.
type Options struct {
	// StateDir holds the database (temporal.db), the lock and the endpoint record. It is created with mode 0700, and belongs to one
	// server at a time. It must be on a local disk: SQLite and locks do not work reliably on network file systems.
	StateDir string

	// FrontendPort and UIPort are loopback ports. 0 takes the port that the last server of the directory had, if it is free, so that
	// links stay valid; otherwise any free one. A port that is named and taken is an error. UIPort may be [NoUI].
	FrontendPort int
	UIPort       int

	// Namespace is created if it is missing; default [temporalclient.DefaultNamespace].
	Namespace string
	// SearchAttributes are added to the namespace as far as they are missing, also to one that exists already.
	SearchAttributes map[string]enums.IndexedValueType
	// Retention of closed runs. 0 keeps what the namespace has, or [DefaultRetention] for a new one. At least an hour.
	Retention time.Duration

	// RelaxedSync acknowledges commits before they are on the disk (synchronous=normal). Nothing is lost when the process is killed; a
	// power cut may lose the last commits. It saves a few milliseconds per workflow on a fast disk, and more on a slow one.
	RelaxedSync bool

	// Logger receives the server's log; nil is slog.Default(). The server writes much, so only records of at least LogLevel get there;
	// nil is slog.LevelError.
	Logger   *slog.Logger
	LogLevel slog.Leveler
}

// minRetention is the least that makes sense: a run must still be readable when someone comes to look.
const minRetention = time.Hour

// normalized checks the options and fills in the defaults.
func (o Options) normalized() (Options, error) {
	if o.StateDir == "" {
		return o, errors.New("start Temporal: no state directory given")
	}
	dir, err := filepath.Abs(o.StateDir)
	if err != nil {
		return o, fmt.Errorf("start Temporal: state directory %q: %w", o.StateDir, err)
	}
	o.StateDir = dir
	if o.FrontendPort < 0 || o.FrontendPort > 65535 {
		return o, fmt.Errorf("start Temporal: frontend port %d is not between 0 and 65535", o.FrontendPort)
	}
	if o.UIPort < NoUI || o.UIPort > 65535 {
		return o, fmt.Errorf("start Temporal: UI port %d is not between -1 and 65535", o.UIPort)
	}
	if o.Retention != 0 && o.Retention < minRetention {
		return o, fmt.Errorf("start Temporal: retention %s is less than %s", o.Retention, minRetention)
	}
	if o.Namespace == "" {
		o.Namespace = temporalclient.DefaultNamespace
	}
	if o.Logger == nil {
		o.Logger = slog.Default()
	}
	if o.LogLevel == nil {
		o.LogLevel = slog.LevelError
	}
	return o, nil
}
