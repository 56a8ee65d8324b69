package inspect

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// planRename moves an object that is named for the node.
func (s *Survey) planRename(o *wire.Object, name string, settled bool) error {
	const certs = "secrets/openshift-etcd/"
	if !settled && !s.Mapping.Cluster.Zone.Empty() && rules.IsZoneSecret(name) {
		return s.renameEntries(o, s.Mapping.Cluster.Host) // entries of a router, named for their zone
	}
	base, ok := strings.CutPrefix(name, certs)
	if !ok || s.Mapping.Node.Empty() {
		return nil
	}
	if _, fresh := (replace.Name{Old: s.Mapping.Node.New, New: s.Mapping.Node.Old}).File(base); fresh {
		s.Named[o.Key] = host.KeyValue{Key: o.Key, Value: slices.Clone(o.Value), ModRevision: o.ModRevision}
	}
	if rules.MatchKey("etcd-all-certs*", base) {
		return s.renameEntries(o, s.Mapping.Node.File)
	}
	to, ok := s.Mapping.Node.File(base)
	if !ok {
		return nil
	}
	o.MovesTo = rules.StoragePrefix + certs + to
	s.AddChange(Rename, o.Key, "becomes "+o.MovesTo)
	return o.Set(map[string]string{"metadata/name": to})
}

// renameEntries renames the entries of a Secret that are named for what is renamed.
func (s *Survey) renameEntries(o *wire.Object, renamed func(name string) (string, bool)) error {
	return o.EditDataKeys(func(entry string) (string, bool) {
		to, ok := renamed(entry)
		if ok {
			s.AddChange(Rename, o.Key+" data/"+entry, "becomes data/"+to)
		}
		return to, ok
	})
}

func (s *Survey) readObject(kv host.KeyValue) error {
	name := strings.TrimPrefix(kv.Key, rules.StoragePrefix)
	if s.Config.NewKeys && strings.HasPrefix(name, rules.NodePrefix) {
		return nil // they are read for themselves, and hold no key
	}
	o, err := wire.NewObject(kv)
	if errors.Is(err, wire.ErrEncrypted) {
		s.encrypted[resourceOf(kv.Key)]++
		return nil
	}
	if err != nil {
		return err
	}
	deleted, err := s.planDeletion(o, name)
	if err != nil {
		return fmt.Errorf("decide on deleting %s: %w", kv.Key, err)
	}
	if deleted {
		return nil
	}
	settled := s.Record.Settled(kv.Key, kv.Value)
	if err := s.applyRules(o, name, settled); err != nil {
		return fmt.Errorf("apply the rules to %s: %w", kv.Key, err)
	}
	if err := s.planRename(o, name, settled); err != nil {
		return fmt.Errorf("rename %s: %w", kv.Key, err)
	}
	if slices.Contains(s.rules.Hashing, name) {
		s.Hashing = append(s.Hashing, o)
	}
	affected, err := s.collectObject(o, name, settled)
	if err == nil && (o.Changed || affected) {
		s.Objects = append(s.Objects, o)
	}
	return err
}

// collectObject collects the certificates and keys of an object, and its mentions of old addresses.
func (s *Survey) collectObject(o *wire.Object, name string, settled bool) (affected bool, err error) {
	crypto := slices.ContainsFunc(s.rules.Crypto, func(p string) bool { return strings.HasPrefix(name, p) })
	if !s.PKI.All && name != rules.PackageServer {
		pem, more := wire.MayHoldPEM(o.Value)
		more = more || s.Mapping.MayMention(wire.TextOf(o.Value))
		if !more && (!pem || !crypto || !settled && s.PKI.CollectPlain(o)) {
			return false, nil
		}
	}
	err = o.Walk(func(at []string, text string) {
		where := func() string { return o.Key + " " + strings.Join(at, "/") }
		if name == rules.PackageServer && wire.MatchPath([]string{"spec", "caBundle"}, at) {
			s.OLMBundle = text
		}
		if crypto && wire.MayHoldBlobs(text) {
			affected = s.PKI.Collect(certs.Place{Container: o.Key, Where: where()}, text, settled) || affected
		}
		if crypto {
			s.collectTokens(where, text)
			affected = affected || s.Config.NewKeys && MayHoldCredentials(text)
		}
		s.reportLeftover(where, text)
	})
	return affected, err
}

// planDeletion reports whether the object is deleted.
func (s *Survey) planDeletion(o *wire.Object, name string) (bool, error) {
	for _, d := range s.rules.Deletions {
		if !strings.HasPrefix(name, d.Prefix) || !s.Mapping.Moves() || d.Named && !s.Mapping.Node.OwnsKey(name) {
			continue
		}
		if d.Keep != nil {
			meta, err := o.Metadata()
			if err != nil {
				return false, err
			}
			if why := d.Keep(meta, o.Key); why != "" {
				s.Kept = append(s.Kept, Note{o.Key, why})
				return false, nil
			}
		}
		s.Removals = append(s.Removals, Removal{o, d.Why})
		return true, nil
	}
	return false, nil
}

// Rewritten notes that a text of an object changes.
func (s *Survey) Rewritten(o *wire.Object, at []string, why string) {
	s.AddChange(Rewrite, o.Key+" "+strings.Join(at, "/"), why)
}

// applyRules edits the object by every rule that names it, unless an earlier run settled it.
func (s *Survey) applyRules(o *wire.Object, name string, settled bool) error {
	for _, r := range s.rules.Fields {
		if !settled && rules.MatchKey(r.Keys, name) {
			if err := s.applyField(o, r); err != nil {
				return err
			}
		}
	}
	for _, r := range s.rules.Objects {
		if !rules.MatchKey(r.Keys, name) {
			continue
		}
		s.Seen[r.Keys], s.Seen[name] = true, true
		if settled {
			continue
		}
		if err := s.applyToObject(o, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *Survey) applyToObject(o *wire.Object, r rules.ObjectRule) error {
	if r.Follows {
		s.Followers = append(s.Followers, Follower{r, o})
		return nil
	}
	before := o.Value
	if err := r.Apply(s.Config, s.Mapping, s.Now, o); err != nil {
		return err
	}
	if string(before) != string(o.Value) {
		s.AddChange(Rewrite, o.Key, r.Why)
	}
	return nil
}

func (s *Survey) applyField(o *wire.Object, r rules.FieldRule) error {
	var failed error
	err := o.Edit(func(at []string, text string) (string, bool) {
		if failed != nil || !wire.MatchPath(r.Field, at) {
			return text, false
		}
		mapped, err := r.In(s.Mapping, text)
		if err != nil {
			failed = fmt.Errorf("%s of %s: %w", strings.Join(at, "/"), o.Key, err)
			return text, false
		}
		if mapped == text {
			return text, false
		}
		s.Rewritten(o, at, r.Why)
		s.byAddress[o.Key+" "+strings.Join(at, "/")] = true
		return mapped, true
	})
	if err != nil {
		return err
	}
	return failed
}
