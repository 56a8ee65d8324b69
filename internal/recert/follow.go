package recert

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// applyFollowers makes the changes that are made only together with others.
func (p *planner) applyFollowers() error {
	for _, f := range p.Followers {
		before := f.Object.Value
		if err := f.Rule.Apply(p.Config, p.Mapping, p.Now, f.Object); err != nil {
			return fmt.Errorf("update %s: %w", f.Object.Key, err)
		}
		if string(before) == string(f.Object.Value) {
			continue
		}
		p.AddChange(inspect.Rewrite, f.Object.Key, f.Rule.Why)
		p.includeObject(f.Object)
	}
	return nil
}

// includeObject adds an object to those that are written if they change.
func (p *planner) includeObject(o *wire.Object) {
	if !slices.Contains(p.Objects, o) {
		p.Objects = append(p.Objects, o)
	}
}

// followAuthorityHash updates the hash that OLM keeps of the packageserver's authority.
func (p *planner) followAuthorityHash() error {
	was := p.OLMBundle
	now := p.PKI.Replace(was)
	if was == now {
		return nil
	}
	for _, o := range p.Objects {
		if o.Key != rules.StoragePrefix+rules.PackageServerCert {
			continue
		}
		return o.Edit(func(at []string, text string) (string, bool) {
			if !wire.MatchPath([]string{"metadata", "annotations", rules.OlmHashAnnotation}, at) || text != rules.HashText(was) {
				return text, false
			}
			p.Rewritten(o, at, "hash of the authority that issued it")
			return rules.HashText(now), true
		})
	}
	return nil
}

// followDependencies updates the hashes of what this run changes, so that operators do not roll their API servers out again minutes
// after the start. A hash that does not match the former object is computed in an unknown way: it stays, and the plan says so.
func (p *planner) followDependencies() error {
	sources := map[string]*wire.Object{}
	for _, o := range p.Objects {
		if o.Changed {
			sources[strings.TrimPrefix(o.Key, rules.StoragePrefix)] = o
		}
	}
	for _, d := range p.Hashing {
		if err := p.followInto(d, sources); err != nil {
			return fmt.Errorf("update the hashes in %s: %w", d.Key, err)
		}
		if d.Changed {
			p.includeObject(d)
		}
	}
	return nil
}

func (p *planner) followInto(d *wire.Object, sources map[string]*wire.Object) error {
	var failed error
	specNoted := false
	err := d.Edit(func(at []string, text string) (string, bool) {
		name, ok := rules.OperatorNote(at)
		specNoted = specNoted || name == rules.SpecHash
		source := sources[rules.Dependency(name)]
		if !ok || source == nil || failed != nil {
			return text, false
		}
		var fresh string
		fresh, failed = p.followHash(d, at, text, source)
		return fresh, fresh != text
	})
	if specNoted && d.Changed {
		p.keepOnce(d, "its operator updates it once more: the hash of its specification is from before the change")
	}
	return cmp.Or(failed, err)
}

// followHash is the hash of an object that changes, where the old one is of what it was.
func (p *planner) followHash(d *wire.Object, at []string, noted string, source *wire.Object) (string, error) {
	before, err := rules.ResourceHash(source, source.Was)
	if err != nil {
		return noted, fmt.Errorf("hash the earlier content of %s: %w", source.Key, err)
	}
	now, err := rules.ResourceHash(source, source.Value)
	if err != nil || noted == now { // an interrupted run wrote it
		return noted, err
	}
	name := strings.TrimPrefix(source.Key, rules.StoragePrefix)
	if noted != before {
		p.keepOnce(d, "its operator rolls it out once more: its hash of "+name+" is from before the change")
		return noted, nil
	}
	p.Rewritten(d, at, "hash of "+name)
	return now, nil
}

// keepOnce notes what stays in an object, once.
func (p *planner) keepOnce(o *wire.Object, why string) {
	if !slices.Contains(p.Kept, inspect.Note{Where: o.Key, Why: why}) {
		p.Keep(o.Key, why)
	}
}
