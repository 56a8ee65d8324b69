package replace

import (
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Cluster is the cluster's old zone (NAME.DOMAIN) and identifier of infrastructure, and what takes their place. Its zero
// value renames nothing.
type Cluster struct {
	Zone  Name `json:"zone"`
	Infra Name `json:"infraID"`
}

// Empty reports whether nothing is renamed.
func (c Cluster) Empty() bool { return c.Zone.Empty() && c.Infra.Empty() }

// Host maps a name in the cluster's zone, or the zone itself.
func (c Cluster) Host(name string) (string, bool) {
	if c.Zone.Empty() {
		return name, false
	}
	below, ok := strings.CutSuffix(name, c.Zone.Old)
	if !ok || below != "" && !strings.HasSuffix(below, ".") {
		return name, false
	}
	return below + c.Zone.New, true
}

// Text maps the names in the zone that a text has as whole words: bare, in a URL, behind a wildcard.
func (c Cluster) Text(text string) string {
	return wire.Splice(text, c.Edits(text))
}

// Edits are the changes that Text makes.
func (c Cluster) Edits(text string) []wire.Edit {
	if c.Zone.Empty() || !strings.Contains(text, c.Zone.Old) {
		return nil
	}
	return nameEdits(text, c.Host)
}

// Mentions reports whether a text still has the old zone.
func (c Cluster) Mentions(text string) bool {
	return !strings.HasSuffix(c.Zone.New, "."+c.Zone.Old) && c.Text(text) != text
}

// Name is a name and the one that takes its place: of the node ("hostname"), or of a part of the cluster. Its zero value
// renames nothing.
type Name struct {
	Old string `json:"old"`
	New string `json:"new"`
}

// Empty reports whether the name stays.
func (n Name) Empty() bool { return n.Old == n.New }

// mapName maps a name of a certificate: the node's, or a user's of Kubernetes that ends with it ("system:node:NAME").
func (n Name) mapName(text string) (string, bool) {
	if n.Empty() {
		return text, false
	}
	if text == n.Old {
		return n.New, true
	}
	user, ok := strings.CutSuffix(text, ":"+n.Old)
	if !ok || !strings.HasPrefix(text, "system:") {
		return text, false
	}
	return user + ":" + n.New, true
}

// nodeFiles are what etcd's certificates of a node are called, before its name.
func nodeFiles() []string { return []string{"etcd-peer-", "etcd-serving-metrics-", "etcd-serving-"} }

// File maps the name of an object or file that is made for the node.
func (n Name) File(name string) (string, bool) {
	if n.Empty() {
		return name, false
	}
	for _, suffix := range []string{"", ".crt", ".key"} {
		for _, prefix := range nodeFiles() {
			if name == prefix+n.Old+suffix {
				return prefix + n.New + suffix, true
			}
		}
	}
	return name, false
}

// variableName is a name as etcd's operator writes it into names of environment variables.
func variableName(name string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(name) }

// NameVariable is the variable that holds the node's name.
func NameVariable(name string) string { return "NODE_" + variableName(name) + "_ETCD_NAME" }

// Word maps a longest run of the characters that names are made of.
func (n Name) Word(run string) (string, bool) {
	if to, ok := n.File(run); ok {
		return to, true
	}
	for _, what := range []string{"_ETCD_NAME", "_ETCD_URL_HOST", "_IP"} {
		if run == "NODE_"+variableName(n.Old)+what {
			return "NODE_" + variableName(n.New) + what, true
		}
	}
	return run, false
}

// InName reports whether names have such a character.
func InName(c byte) bool {
	return isHex(c) || 'g' <= c && c <= 'z' || 'G' <= c && c <= 'Z' || c == '_' || c == '-' || c == '.'
}

// Words maps files and variables of the node wherever a text has them as whole words. The bare name is left: it may be any word.
func (n Name) Words(text string) string {
	if n.Empty() || !strings.Contains(text, n.Old) && !strings.Contains(text, variableName(n.Old)) {
		return text
	}
	return wire.Splice(text, nameEdits(text, n.Word))
}

// nameEdits maps the longest runs of the characters that names are made of, without the full stops that end them.
func nameEdits(text string, to func(name string) (string, bool)) (edits []wire.Edit) {
	for i := 0; i < len(text); i++ {
		if !InName(text[i]) {
			continue
		}
		start := i
		for i < len(text) && InName(text[i]) {
			i++
		}
		end := start + len(strings.TrimRight(text[start:i], "."))
		if mapped, ok := to(text[start:end]); ok {
			edits = append(edits, wire.Edit{Start: start, End: end, Text: mapped})
		}
	}
	return edits
}

// OwnsKey reports whether the last step of a key is the node's old name.
func (n Name) OwnsKey(key string) bool { return !n.Empty() && path.Base(key) == n.Old }
