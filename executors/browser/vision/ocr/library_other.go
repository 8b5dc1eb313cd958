//go:build !(linux || darwin || freebsd || netbsd)

package ocr

import (
	"errors"
)

// api is empty where libtesseract cannot be loaded; the program is used there.
type api struct{}

func loadLibrary() (*api, error) {
	return nil, errors.New("libtesseract can be loaded on Linux, macOS, FreeBSD and NetBSD only")
}

type library struct {
	api  *api
	data string
}

func (l *library) kind() string { return "libtesseract" }

func (l *library) open(string) (engine, error) {
	_, err := loadLibrary()
	return nil, err
}
