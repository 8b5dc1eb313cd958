package store

import (
	"crypto/sha256"
	"fmt"
)

// PostgresURL is the server that this pass of the tests uses; "" in SQLite's pass.
var PostgresURL string

// URLFor gives every directory of a test a schema of its own, as it has a file of its own in SQLite's pass.
func URLFor(dir string) string {
	if PostgresURL == "" {
		return ""
	}
	return PostgresURL + "&search_path=" + SchemaFor(dir)
}

// SchemaFor is that schema.
func SchemaFor(dir string) string { return fmt.Sprintf("t_%x", sha256.Sum256([]byte(dir)))[:30] }
