//go:build !linux

package workspace

import (
	"errors"
	"os"
)

// supported says why Open refuses: what makes a restore safe (swapping two names in one step, resolving a path without leaving the
// folder) is done with calls of Linux.
var supported = errors.New("backups of a workspace need Linux")

var errOther = errors.ErrUnsupported

const (
	openRead  = 0
	openWrite = 0
)

type folder struct{ f *os.File }

func openFolder(string) (folder, error)                     { return folder{}, errOther }
func (folder) fd() int                                      { return -1 }
func (folder) close() error                                 { return errOther }
func (folder) in(string, func(int, string) error) error     { return errOther }
func (folder) lstat(string) (stat, error)                   { return stat{}, errOther }
func (folder) mkdir(string, uint32) error                   { return errOther }
func (folder) rmdir(string) error                           { return errOther }
func (folder) unlink(string) error                          { return errOther }
func (folder) symlink(string, string) error                 { return errOther }
func (folder) mkfifo(string, uint32) error                  { return errOther }
func (folder) create(string, uint32) (*os.File, error)      { return nil, errOther }
func (folder) file(string, int) (*os.File, error)           { return nil, errOther }
func (folder) list(string, func(int, []string) error) error { return errOther }
func (folder) setMeta(string, *entry, *int64) error         { return errOther }
func (folder) setTime(string, int64) error                  { return errOther }
func (folder) syncAll() error                               { return errOther }
func (folder) sync() error                                  { return errOther }
func (folder) free() (int64, error)                         { return 0, errOther }
func statIn(int, string) (stat, error)                      { return stat{}, errOther }
func statFD(int) (stat, error)                              { return stat{}, errOther }
func readlinkIn(int, string) (string, error)                { return "", errOther }
func xattrsIn(int, string) ([]xattr, error)                 { return nil, errOther }
func move(folder, string, folder, string) error             { return errOther }
func exchange(folder, string, folder, string) error         { return errOther }
func hardlink(folder, string, folder, string) error         { return errOther }
func clone(*os.File, *os.File) error                        { return errNoClone }
func sameMount(folder, folder) bool                         { return false }
func lock(*os.File) error                                   { return errOther }
func unlock(*os.File) error                                 { return errOther }
func touch(string) error                                    { return errOther }
func isFull(error) bool                                     { return false }
func notEmpty(error) bool                                   { return false }
func denied(error) bool                                     { return false }
func gone(error) bool                                       { return false }
func notFile(error) bool                                    { return false }
