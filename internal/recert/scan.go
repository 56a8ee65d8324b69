package recert

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// scan reads the cluster once and builds the plan along the way.
type scan struct {
	cfg     Config
	rules   rulebook
	mapping Mapping
	now     time.Time
	log     *slog.Logger
	resume  progress
	plan    *Plan
	pki     *pki
	// surveying looks at everything, to tell of it and to change nothing.
	surveying bool

	objects   []*object // changed, or holding a certificate to re-issue
	followers []follower
	deletes   []host.Edit
	deleted   []Change
	files     []*diskFile
	hashing   []*object       // deployments with hashes of what they were made from
	tokens    []Token         // of an inventory
	olmBundle string          // authority of the packageserver
	encrypted map[string]int  // by resource
	met       map[string]bool // patterns of object rules that matched, and files
	byAddress map[string]bool // places that change because of a name or an address in them
	made      newKeys
	peers     []string // URLs of etcd's own member
	// named are objects that have the key already that a rename gives another.
	named map[string]host.KeyValue
}

// node is a Node object and its internal addresses.
type node struct {
	host.KeyValue
	addresses []string
}

func readNodes(ctx context.Context, store host.OpenKeystore) ([]node, error) {
	var out []node
	err := store.Range(ctx, storagePrefix+nodePrefix, func(kv host.KeyValue) error {
		o, err := newObject(kv)
		if err != nil {
			return err // nodes are never encrypted
		}
		n := node{KeyValue: kv}
		kinds := map[string]string{}
		err = o.walk(func(at []string, text string) {
			if matchPath([]string{"status", "addresses", "*", "type"}, at) {
				kinds[at[2]] = text
			}
			if matchPath([]string{"status", "addresses", "*", "address"}, at) && kinds[at[2]] == "InternalIP" {
				n.addresses = append(n.addresses, text)
			}
		})
		out = append(out, n)
		return err
	})
	return out, err
}

func (s *scan) readObject(kv host.KeyValue) error {
	name := strings.TrimPrefix(kv.Key, storagePrefix)
	o, err := newObject(kv)
	if errors.Is(err, errEncrypted) {
		s.encrypted[resourceOf(name)]++
		return nil
	}
	if err != nil {
		return err
	}
	gone, err := s.planDeletion(o, name)
	if err != nil || gone {
		return err
	}
	settled := s.resume.settled(kv.Key, kv.Value)
	if err := s.applyRules(o, name, settled); err != nil {
		return err
	}
	if err := s.planRename(o, name, settled); err != nil {
		return err
	}
	if slices.Contains(s.rules.hashing, name) {
		s.hashing = append(s.hashing, o)
	}
	affected, err := s.collectObject(o, name, settled)
	if err == nil && (o.changed || affected) {
		s.objects = append(s.objects, o)
	}
	return err
}

// collectObject takes up the certificates and keys of an object, and what it still mentions.
func (s *scan) collectObject(o *object, name string, settled bool) (affected bool, err error) {
	crypto := slices.ContainsFunc(s.rules.crypto, func(p string) bool { return strings.HasPrefix(name, p) })
	if !s.pki.all && name != packageServer {
		pem, more := s.mapping.quick.value(o.value)
		if !more && (!pem || !crypto || !settled && s.pki.collectPlain(o)) {
			return false, nil
		}
	}
	err = o.walk(func(at []string, text string) {
		where := func() string { return o.key + " " + strings.Join(at, "/") }
		if name == packageServer && matchPath([]string{"spec", "caBundle"}, at) {
			s.olmBundle = text
		}
		if crypto && mayHoldBlobs(text) {
			affected = s.pki.collect(place{container: o.key, where: where()}, text, settled) || affected
		}
		if crypto {
			s.collectTokens(where, text)
		}
		s.reportLeftover(where, text)
	})
	return affected, err
}

// resourceOf is the resource that a key below the storage prefix belongs to.
func resourceOf(name string) string {
	steps := strings.Split(name, "/")
	if strings.Contains(steps[0], ".") && len(steps) > 1 { // a group
		return steps[1] + "." + steps[0]
	}
	return steps[0]
}

// refuseEncrypted blocks the plan if values are encrypted at rest: their certificates and addresses cannot be seen, and half of a
// change is worse than none.
func (s *scan) refuseEncrypted() {
	for _, resource := range slices.Sorted(maps.Keys(s.encrypted)) {
		why := fmt.Sprintf("%d stored objects are encrypted at rest and cannot be read here: turn encryption off "+
			"(APIServer cluster, spec.encryption.type: identity) and wait until they are stored in plain", s.encrypted[resource])
		s.plan.Blocked = append(s.plan.Blocked, Note{resource, why})
	}
}
