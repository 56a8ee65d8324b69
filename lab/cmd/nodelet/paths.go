package main

import (
	"path/filepath"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

// pathMap translates paths inside a container to paths on the host: what a mount namespace would do, without one.
type pathMap struct {
	mounts []mount // longest path first, so that nested mounts win
}

type mount struct{ inside, outside string }

// pathMap knows the container's volume mounts whose volume is a host path.
func (n *node) pathMap(c corev1.Container, hostPaths map[string]string) *pathMap {
	m := &pathMap{}
	for _, vm := range c.VolumeMounts {
		if host, ok := hostPaths[vm.Name]; ok {
			m.mounts = append(m.mounts, mount{filepath.Clean(vm.MountPath), n.path(host)})
		}
	}
	sort.Slice(m.mounts, func(i, j int) bool { return len(m.mounts[i].inside) > len(m.mounts[j].inside) })
	return m
}

// translate rewrites every mounted path in a word such as "--flag=/path", "/path" or "/a,/b". A path is recognised only where it
// starts the word or follows = , or :, and ends the word or is followed by one of / , : so that a mount never matches in the
// middle of another path.
func (m *pathMap) translate(word string) string {
	var out strings.Builder
	for i := 0; i < len(word); {
		if i == 0 || strings.ContainsRune("=,:", rune(word[i-1])) {
			if mt, ok := m.match(word[i:]); ok {
				out.WriteString(mt.outside)
				i += len(mt.inside)
				continue
			}
		}
		out.WriteByte(word[i])
		i++
	}
	return out.String()
}

func (m *pathMap) match(text string) (mount, bool) {
	for _, mt := range m.mounts {
		rest, ok := strings.CutPrefix(text, mt.inside)
		if ok && (rest == "" || strings.ContainsRune("/,:", rune(rest[0]))) {
			return mt, true
		}
	}
	return mount{}, false
}
