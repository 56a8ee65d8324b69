package crashtest

import (
	"io/fs"
	"maps"
	"slices"
)

// history is every version of every inode, and what was durable when.
type history struct {
	nodes [][]version // by node; a node is an inode from its creation to its last name
	ids   map[uint64]int
	root  int
	floor map[int]int // node -> the newest version known to be durable
	cuts  []cut
}

// cut is a moment at which the power may fail.
type cut struct {
	after    string      // the system call before it
	floor    map[int]int // node -> durable version
	last     map[int]int // node -> newest version
	finished bool        // the change had returned to its caller
}

// newHistory starts with a tree of which everything is durable.
func newHistory(s snapshot) *history {
	h := &history{ids: map[uint64]int{}, floor: map[int]int{}}
	h.addVersions(s)
	h.root = h.ids[s.root]
	h.flushAll(h.newestVersions())
	return h
}

// addVersions adds a version for each inode that differs from its last one and says whether there was one. Node
// numbers follow the order of inode numbers, so that a failure repeats itself.
func (h *history) addVersions(s snapshot) (changed bool) {
	for ino := range h.ids {
		if _, there := s.byInode[ino]; !there {
			delete(h.ids, ino) // the number may come again for another file
		}
	}
	for _, ino := range slices.Sorted(maps.Keys(s.byInode)) {
		if _, known := h.ids[ino]; !known {
			h.ids[ino] = len(h.nodes)
			h.nodes = append(h.nodes, h.blankVersions(s.byInode[ino]))
		}
	}
	for ino, v := range s.byInode {
		id := h.ids[ino]
		v.entries = h.toNodes(v.entries)
		if n := len(h.nodes[id]); n == 0 || !h.nodes[id][n-1].equal(v) {
			h.nodes[id] = append(h.nodes[id], v)
			changed = true
		}
	}
	return changed
}

// blankVersions is what a new file or folder begins with, even if it was filled before it was first seen.
func (h *history) blankVersions(v version) []version {
	if len(h.floor) == 0 || v.mode&fs.ModeSymlink != 0 {
		return nil
	}
	v.data = ""
	if v.entries != nil {
		v.entries = map[string]int{}
	}
	return []version{v}
}

func (h *history) toNodes(entries map[string]int) map[string]int {
	if entries == nil {
		return nil
	}
	out := make(map[string]int, len(entries))
	for name, ino := range entries {
		out[name] = h.ids[uint64(ino)]
	}
	return out
}

// newestVersions is the newest version of each node.
func (h *history) newestVersions() map[int]int {
	out := make(map[int]int, len(h.nodes))
	for id, versions := range h.nodes {
		out[id] = len(versions) - 1
	}
	return out
}

// flushNode makes one node durable up to a version, flushAll all nodes that are named.
func (h *history) flushNode(id, upTo int) { h.floor[id] = max(h.floor[id], upTo) }

func (h *history) flushAll(upTo map[int]int) {
	for id, n := range upTo {
		h.flushNode(id, n)
	}
}

func (h *history) addCut(after string, finished bool) {
	h.cuts = append(h.cuts, cut{after: after, floor: maps.Clone(h.floor), last: h.newestVersions(), finished: finished})
}
