package recert

import (
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// planDeletion says whether the object goes.
func (s *scan) planDeletion(o *object, name string) (bool, error) {
	for _, d := range s.rules.deletions {
		if !strings.HasPrefix(name, d.prefix) || !s.mapping.Moves() || d.named && !s.mapping.node.ownsKey(name) {
			continue
		}
		if d.keep != nil {
			meta, err := o.metadata()
			if err != nil {
				return false, err
			}
			if why := d.keep(meta, o.key); why != "" {
				s.plan.Kept = append(s.plan.Kept, Note{o.key, why})
				return false, nil
			}
		}
		s.deletes = append(s.deletes, host.Edit{Key: o.key, Delete: true, ModRevision: o.mod})
		s.deleted = append(s.deleted, Change{Delete, o.key, d.why})
		return true, nil
	}
	return false, nil
}

// rewritten notes that a text of an object changes.
func (s *scan) rewritten(o *object, at []string, why string) {
	s.plan.Changes = append(s.plan.Changes, Change{Rewrite, o.key + " " + strings.Join(at, "/"), why})
}

// applyRules edits the object by every rule that names it. One that an earlier run has settled is met and left.
func (s *scan) applyRules(o *object, name string, settled bool) error {
	for _, r := range s.rules.fields {
		if !settled && matchKey(r.keys, name) {
			if err := s.applyField(o, r); err != nil {
				return err
			}
		}
	}
	for _, r := range s.rules.objects {
		if !matchKey(r.keys, name) {
			continue
		}
		s.met[r.keys], s.met[name] = true, true
		if settled {
			continue
		}
		if err := s.applyToObject(o, r); err != nil {
			return err
		}
	}
	return nil
}

func (s *scan) applyToObject(o *object, r objectRule) error {
	if r.follows {
		s.followers = append(s.followers, follower{r, o})
		return nil
	}
	before := o.value
	if err := r.apply(s.cfg, s.mapping, s.now, o); err != nil {
		return err
	}
	if string(before) != string(o.value) {
		s.plan.Changes = append(s.plan.Changes, Change{Rewrite, o.key, r.why})
	}
	return nil
}

func (s *scan) applyField(o *object, r fieldRule) error {
	var failed error
	err := o.edit(func(at []string, text string) (string, bool) {
		if failed != nil || !matchPath(r.field, at) {
			return text, false
		}
		mapped, err := r.in(s.mapping, text)
		if err != nil {
			failed = fmt.Errorf("%s of %s: %w", strings.Join(at, "/"), o.key, err)
			return text, false
		}
		if mapped == text {
			return text, false
		}
		s.rewritten(o, at, r.why)
		s.byAddress[o.key+" "+strings.Join(at, "/")] = true
		return mapped, true
	})
	if err != nil {
		return err
	}
	return failed
}

// reportLeftover notes a mention of an old address that no rule replaced. Where old and new addresses
// overlap, a mention says nothing.
func (s *scan) reportLeftover(where func() string, text string) {
	if s.mapping.Overlaps() {
		return
	}
	for _, a := range s.mapping.Mentions(text) {
		s.plan.Leftovers = append(s.plan.Leftovers, Note{where(), "mentions " + a.String()})
	}
	if s.mapping.cluster.mentions(text) {
		s.plan.Leftovers = append(s.plan.Leftovers, Note{where(), "mentions " + s.mapping.cluster.Zone.Old})
	}
	for _, content := range dataURLs(text) {
		for _, a := range s.mapping.Mentions(content) {
			s.plan.Leftovers = append(s.plan.Leftovers, Note{where(), "mentions " + a.String() + " inside a data URL"})
		}
	}
}

// follower is a change that is made only if there are others.
type follower struct {
	rule   objectRule
	object *object
}
