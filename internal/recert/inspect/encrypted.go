package inspect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// resourceOf is the resource that a key belongs to, with its group where that is known.
func resourceOf(key string) string {
	if name, ok := strings.CutPrefix(key, rules.AggregatedPrefix); ok {
		steps := strings.Split(name, "/")
		switch {
		case steps[0] == "oauth" && len(steps) > 1:
			return "oauth" + steps[1] + ".oauth.openshift.io"
		case steps[0] == "routes":
			return "routes.route.openshift.io"
		}
		return steps[0] + ".openshift.io"
	}
	steps := strings.Split(strings.TrimPrefix(key, rules.StoragePrefix), "/")
	if strings.Contains(steps[0], ".") && len(steps) > 1 { // a group
		return steps[1] + "." + steps[0]
	}
	return steps[0]
}

// UnreadResources lists the resources that have values encrypted at rest: their certificates and addresses cannot be seen, and half of a
// change is worse than none.
func (s *Survey) UnreadResources() []Note {
	const why = "encrypted at rest and cannot be read here: turn encryption off " +
		"(APIServer cluster, spec.encryption.type: identity) and wait until they are stored in plain"
	return countNotes(s.encrypted, why)
}

// unreadForeign lists the resources of the same kind that no rule names: what they mention is not known.
func (s *Survey) unreadForeign(why string) []Note { return countNotes(s.unread, why) }

func countNotes(counts map[string]int, why string) (out []Note) {
	for _, resource := range slices.Sorted(maps.Keys(counts)) {
		objects := "stored objects are"
		if counts[resource] == 1 {
			objects = "stored object is"
		}
		out = append(out, Note{resource, fmt.Sprintf("%d %s %s", counts[resource], objects, why)})
	}
	return out
}

// unreadCounts are all of them, for an inventory.
func (s *Survey) unreadCounts() map[string]int {
	all := maps.Clone(s.encrypted)
	for resource, n := range s.unread {
		all[resource] += n
	}
	return all
}
