package host

import (
	"slices"
	"strconv"
	"strings"
)

// Mount is a line of a process's mount table (proc_pid_mountinfo(5)).
type Mount struct {
	// ID is the mount's, Device the number of its file system as "major:minor".
	ID     uint64
	Device string
	// Root is the folder of the file system that is mounted at Point.
	Root, Point string
	// Kind is the type of the file system, Source what it is mounted from, Options are those of the file system.
	Kind, Source, Options string
}

// mountEscapes are how the table writes characters that would divide its fields.
var mountEscapes = strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`)

// ParseMounts reads a mount table. Lines of another form are left out.
func ParseMounts(table string) (out []Mount) {
	for line := range strings.Lines(table) {
		before, after, found := strings.Cut(strings.TrimSpace(line), " - ")
		fields, of := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(of) < 3 {
			continue
		}
		id, err := strconv.ParseUint(fields[0], 10, 64)
		if err != nil {
			continue
		}
		out = append(out, Mount{
			ID: id, Device: fields[2], Root: mountEscapes.Replace(fields[3]), Point: mountEscapes.Replace(fields[4]),
			Kind: of[0], Source: of[1], Options: of[2],
		})
	}
	return out
}

// MountOf is the mount that a path is on; the zero value for none. The last one of a mount point hides those before.
func MountOf(all []Mount, path string) (at Mount) {
	for _, m := range all {
		if (path == m.Point || m.Point == "/" || strings.HasPrefix(path, m.Point+"/")) && len(m.Point) >= len(at.Point) {
			at = m
		}
	}
	return at
}

// MountAt is the mount whose mount point the path is; found is false where it is none.
func MountAt(all []Mount, path string) (at Mount, found bool) {
	for _, m := range slices.Backward(all) { // the last one hides those before
		if m.Point == path {
			return m, true
		}
	}
	return Mount{}, false
}
