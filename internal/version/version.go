// Package version says which build of the product runs. The mains of the programs show it and the agent publishes it as a
// metric. It must import nothing of the product.
package version

import (
	"cmp"
	"fmt"
	"runtime/debug"
	"strings"
)

// These are set by the linker (-X) where a release is built; otherwise Go's own record of the build serves.
var release, commit, date string

// Info is one build.
type Info struct {
	Version, Commit, Date, Go string
}

// Get is the build of this program.
func Get() Info {
	record, ok := debug.ReadBuildInfo()
	if !ok {
		record = &debug.BuildInfo{}
	}
	return of(record)
}

func of(record *debug.BuildInfo) Info {
	vcs := map[string]string{}
	for _, s := range record.Settings {
		vcs[s.Key] = s.Value
	}
	revision := vcs["vcs.revision"]
	if revision != "" && vcs["vcs.modified"] == "true" {
		revision += "-modified"
	}
	return Info{
		Version: cmp.Or(release, strings.Trim(record.Main.Version, "()"), "unknown"),
		Commit:  cmp.Or(commit, revision, "unknown"),
		Date:    cmp.Or(date, vcs["vcs.time"], "unknown"),
		Go:      record.GoVersion,
	}
}

// String is what --version prints.
func (i Info) String() string {
	return fmt.Sprintf("%s (commit %s of %s, %s)", i.Version, i.Commit, i.Date, i.Go)
}
