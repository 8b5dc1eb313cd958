//go:build !linux && !darwin

package store

import "errors"

func freeBytes(string) (uint64, error) { return 0, errors.ErrUnsupported }
