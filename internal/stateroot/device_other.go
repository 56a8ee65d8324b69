//go:build !unix

package stateroot

import "io/fs"

// deviceNumber is unknown: the plugin links this package on a workstation, and does not call it.
func deviceNumber(fs.FileInfo) uint64 { return 0 }
