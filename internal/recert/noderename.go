package recert

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Renaming is a name and the one that takes its place: of the node ("hostname"), or of a part of the cluster. Its zero value
// renames nothing.
type Renaming struct {
	Old string `json:"old"`
	New string `json:"new"`
}

func (n Renaming) empty() bool { return n.Old == n.New }

// checkHostname refuses what could not be the name of a Node.
func checkHostname(name string) error {
	if wrong := validation.IsDNS1123Subdomain(name); len(wrong) > 0 {
		return fmt.Errorf("%q cannot be the name of a node: %s", name, wrong[0])
	}
	if name == "localhost" || strings.HasPrefix(name, "localhost.") {
		return fmt.Errorf("%q is every machine's name for itself: give the node one of its own", name)
	}
	return nil
}

// resolveNode learns what the node is called: from its Node, or, where an earlier change deleted that, from etcd's peer certificate.
func resolveNode(ctx context.Context, cfg Config, nodes []node, store host.OpenKeystore) (Renaming, error) {
	if cfg.Hostname == "" {
		return Renaming{}, nil
	}
	names := map[string]bool{}
	for _, n := range nodes {
		names[path.Base(n.Key)] = true
	}
	if len(names) == 0 {
		const peer = storagePrefix + "secrets/openshift-etcd/etcd-peer-"
		err := store.Range(ctx, peer, func(kv host.KeyValue) error {
			names[strings.TrimPrefix(kv.Key, peer)] = true
			return nil
		})
		if err != nil {
			return Renaming{}, err
		}
	}
	switch len(names) {
	case 0:
		return Renaming{}, errors.New("hostname: neither a Node nor a peer certificate of etcd says what the node is called now")
	case 1:
		for old := range names {
			return Renaming{old, cfg.Hostname}, nil
		}
	}
	return Renaming{}, fmt.Errorf("hostname: the cluster knows %d nodes; only that of a single-node cluster can be renamed", len(names))
}

// name maps a name of a certificate: the node's, or a user's of Kubernetes that ends with it ("system:node:NAME").
func (n Renaming) name(text string) (string, bool) {
	if n.empty() {
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

// file maps the name of an object or file that is made for the node.
func (n Renaming) file(name string) (string, bool) {
	if n.empty() {
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

// variable is a name as etcd's operator writes it into names of environment variables.
func variable(name string) string { return strings.NewReplacer("-", "_", ".", "_").Replace(name) }

// nameVariable is the variable that holds the node's name.
func nameVariable(name string) string { return "NODE_" + variable(name) + "_ETCD_NAME" }

// word maps a longest run of the characters that names are made of.
func (n Renaming) word(run string) (string, bool) {
	if to, ok := n.file(run); ok {
		return to, true
	}
	for _, what := range []string{"_ETCD_NAME", "_ETCD_URL_HOST", "_IP"} {
		if run == "NODE_"+variable(n.Old)+what {
			return "NODE_" + variable(n.New) + what, true
		}
	}
	return run, false
}

func ofName(c byte) bool {
	return isHex(c) || 'g' <= c && c <= 'z' || 'G' <= c && c <= 'Z' || c == '_' || c == '-' || c == '.'
}

// words maps files and variables of the node wherever a text has them as whole words. The bare name is left: it may be any word.
func (n Renaming) words(text string) string {
	if n.empty() || !strings.Contains(text, n.Old) && !strings.Contains(text, variable(n.Old)) {
		return text
	}
	return mapNames(text, n.word)
}

// mapNames maps the longest runs of the characters that names are made of.
func mapNames(text string, to func(name string) (string, bool)) string {
	var edits []splicing
	for run := range nameRuns(text) {
		if mapped, ok := to(text[run.start:run.end]); ok {
			edits = append(edits, splicing{run.start, run.end, mapped})
		}
	}
	return splice(text, edits)
}

// nameRuns finds the longest runs of the characters that names are made of, without the full stops that end them.
func nameRuns(text string) iter.Seq[splicing] {
	return func(yield func(splicing) bool) {
		for i := 0; i < len(text); i++ {
			if !ofName(text[i]) {
				continue
			}
			start := i
			for i < len(text) && ofName(text[i]) {
				i++
			}
			end := start + len(strings.TrimRight(text[start:i], "."))
			if !yield(splicing{start: start, end: end}) {
				return
			}
		}
	}
}

// ownsKey says that the last step of a key is the node's old name.
func (n Renaming) ownsKey(key string) bool { return !n.empty() && path.Base(key) == n.Old }

// planRename moves an object that is named for the node.
func (s *scan) planRename(o *object, name string, settled bool) error {
	const certs = "secrets/openshift-etcd/"
	if !settled && !s.mapping.cluster.Zone.empty() && slices.ContainsFunc(zoneSecrets(), func(p string) bool { return matchKey(p, name) }) {
		return s.renameEntries(o, s.mapping.cluster.host) // a router's, called by the zone that they are for
	}
	base, ok := strings.CutPrefix(name, certs)
	if !ok || s.mapping.node.empty() {
		return nil
	}
	if _, fresh := (Renaming{s.mapping.node.New, s.mapping.node.Old}).file(base); fresh {
		s.named[o.key] = host.KeyValue{Key: o.key, Value: slices.Clone(o.value), ModRevision: o.mod}
	}
	if matchKey("etcd-all-certs*", base) {
		return s.renameEntries(o, s.mapping.node.file)
	}
	to, ok := s.mapping.node.file(base)
	if !ok {
		return nil
	}
	o.movesTo = storagePrefix + certs + to
	s.plan.Changes = append(s.plan.Changes, Change{Rename, o.key, "becomes " + o.movesTo})
	return o.set(map[string]string{"metadata/name": to})
}

// renameEntries renames the entries of a Secret that are named for what is renamed.
func (s *scan) renameEntries(o *object, renamed func(name string) (string, bool)) error {
	return o.editDataKeys(func(entry string) (string, bool) {
		to, ok := renamed(entry)
		if ok {
			s.plan.Changes = append(s.plan.Changes, Change{Rename, o.key + " data/" + entry, "becomes data/" + to})
		}
		return to, ok
	})
}

// editsOf are the writes of a changed object. One that gets another key is written there and deleted here; where an interrupted run
// has written it already, only the deletion is left.
func (s *scan) editsOf(o *object) []host.Edit {
	if o.movesTo == "" {
		return []host.Edit{{Key: o.key, Value: o.value, ModRevision: o.mod}}
	}
	gone := host.Edit{Key: o.key, Delete: true, ModRevision: o.mod}
	there, ok := s.named[o.movesTo]
	switch {
	case !ok:
		return []host.Edit{{Key: o.movesTo, Value: o.value}, gone}
	case string(there.Value) == string(o.value), s.resume.settled(o.movesTo, there.Value):
		return []host.Edit{gone}
	}
	s.plan.Blocked = append(s.plan.Blocked, Note{o.movesTo,
		"is there already, and " + o.key + " is to become it: delete the one that is not the node's"})
	return nil
}
