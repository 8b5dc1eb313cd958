//go:build !unix

package temporalserver

import "os"

// fileIdentity is never asked for: without file locks no server starts here.
func fileIdentity(info os.FileInfo) string { return info.ModTime().UTC().String() }
