package crashtest

import (
	"path"
	"strings"
)

// exhaustive is up to how many combinations of inode versions all are tried. Beyond it, each choice of each
// inode is tried with all others at their durable version and with all others at their newest.
const exhaustive = 5000

// possibleVersions are the versions of a node that may be on the disk at a cut.
func (h *history) possibleVersions(c cut, id int) []version {
	floor := h.nodes[id][c.floor[id]]
	out := []version{floor}
	for _, v := range h.nodes[id][c.floor[id]+1 : c.last[id]+1] {
		if v.data != floor.data && v.mode.IsRegular() {
			out = append(out, tornVersions(floor, v)...)
		}
		out = append(out, v)
	}
	return out
}

// tornVersions are versions of which the size has reached the disk and the data has not, or the data in part.
func tornVersions(floor, v version) []version {
	same := 0
	for same < min(len(floor.data), len(v.data)) && floor.data[same] == v.data[same] {
		same++
	}
	zeros, part := v, v
	zeros.data = v.data[:same] + strings.Repeat("\x00", len(v.data)-same)
	part.data = v.data[:same+(len(v.data)-same)/2]
	return []version{zeros, part}
}

// eachState calls do with every state that may be found after the cut.
func (h *history) eachState(c cut, do func(State) error) error {
	pick := make(map[int]version, len(h.nodes))
	options, total := map[int][]version{}, 1
	var ids []int
	for id := range len(c.last) {
		all := h.possibleVersions(c, id)
		pick[id] = all[len(all)-1]
		if len(all) > 1 {
			options[id], ids = all, append(ids, id)
			total = min(total*len(all), exhaustive+1)
		}
	}
	if total > exhaustive {
		return h.eachSingle(pick, options, ids, do)
	}
	return h.eachProduct(pick, options, ids, do)
}

func (h *history) eachProduct(pick map[int]version, options map[int][]version, ids []int, do func(State) error) error {
	if len(ids) == 0 {
		return do(h.buildState(pick))
	}
	for _, v := range options[ids[0]] {
		pick[ids[0]] = v
		if err := h.eachProduct(pick, options, ids[1:], do); err != nil {
			return err
		}
	}
	return nil
}

func (h *history) eachSingle(pick map[int]version, options map[int][]version, ids []int, do func(State) error) error {
	for _, newest := range []bool{false, true} {
		for _, id := range ids {
			pick[id] = options[id][0]
			if newest {
				pick[id] = options[id][len(options[id])-1]
			}
		}
		for _, id := range ids {
			base := pick[id]
			for _, v := range options[id] {
				pick[id] = v
				if err := do(h.buildState(pick)); err != nil {
					return err
				}
			}
			pick[id] = base
		}
	}
	return nil
}

// State is a tree as it may be found after a power cut.
type State struct {
	files map[string]version
}

// buildState follows the chosen entries from the root. A name whose inode's versions are all newer than
// the cut cannot appear: its folder's version is older too.
func (h *history) buildState(pick map[int]version) State {
	s := State{files: map[string]version{}}
	h.collectFiles(s, pick, "/", h.root)
	return s
}

func (h *history) collectFiles(s State, pick map[int]version, at string, id int) {
	v := pick[id]
	s.files[at] = v
	for name, below := range v.entries {
		h.collectFiles(s, pick, path.Join(at, name), below)
	}
}

// Exists says whether the path, absolute below the recorded root, is found.
func (s State) Exists(path string) bool {
	_, ok := s.files[path]
	return ok
}

// Data is a file's contents or a link's target.
func (s State) Data(path string) string { return s.files[path].data }

// Mode is a file's type and permissions.
func (s State) Mode(path string) uint32 { return uint32(s.files[path].mode.Perm()) }

// Attr is an extended attribute of the user ("user.…"), empty where it is missing.
func (s State) Attr(path, name string) string {
	for line := range strings.Lines(s.files[path].attrs) {
		if value, ok := strings.CutPrefix(line, name+"="); ok {
			return strings.TrimSuffix(value, "\n")
		}
	}
	return ""
}

// Below is all that a folder holds, as relative path -> mode and data.
func (s State) Below(folder string) map[string]string {
	out := map[string]string{}
	for p, v := range s.files {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(folder, "/")+"/"); ok && rest != "" {
			out[rest] = v.mode.String() + " " + v.data
		}
	}
	return out
}
