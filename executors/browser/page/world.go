package page

import (
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"sort"
	"strings"
)

//go:embed js/*.js
var files embed.FS

// worldName is the name of the isolated world; binding the function in it that reports to this process.
const (
	worldName = "toolsvc"
	binding   = "__toolsvcTell"
)

// script is the program of the isolated world. Evaluated twice in one world, it does nothing the second time; another version replaces it.
var script = assemble()

func assemble() string {
	names, err := fs.Glob(files, "js/*.js")
	if err != nil || len(names) == 0 {
		panic(fmt.Sprintf("the script of the isolated world is not embedded: %v", err)) // a broken build
	}
	sort.Strings(names)
	var body strings.Builder
	for _, n := range names {
		text, err := files.ReadFile(n)
		if err != nil {
			panic(err) // a broken build
		}
		body.Write(text)
	}
	sum := sha256.Sum256([]byte(body.String()))
	version := hex.EncodeToString(sum[:8])
	return fmt.Sprintf("(() => { 'use strict'; const VERSION = %q;\nif (globalThis.__toolsvc && globalThis.__toolsvc.version === VERSION) return;\n%s\n})()", version, body.String())
}
