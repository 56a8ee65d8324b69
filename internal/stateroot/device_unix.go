//go:build unix

package stateroot

import (
	"io/fs"
	"syscall"
)

func deviceNumber(info fs.FileInfo) uint64 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return uint64(st.Dev) //nolint:unconvert // Dev is not a uint64 everywhere
	}
	return 0
}
