// Package property brings the keys of a network document that a single property of a connection holds into NetworkManager's
// settings, and reads them back, by the table of package keys. It knows the forms of properties and no key.
//
// Packages plan and observe use it; it imports netstate/keys, netstate/tree and nm/profile, and does no I/O.
package property

import (
	"fmt"
	"reflect"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// Write brings what a part of a document asks for into a profile, and says what that takes besides. now is the same part as it is,
// nil where that does not matter; both are pointers. What the document does not mention stays, and a property stays unwritten that
// means already what is wanted.
func Write(rows []keys.Row, want, now any, s profile.Settings) (keys.Fixing, error) {
	w := writer{now: now, settings: s, silent: map[string]bool{}}
	var asked []request
	for _, r := range rows {
		q, ok, err := w.readRequest(r, want)
		if err != nil {
			return keys.InPlace, err
		}
		if ok {
			asked = append(asked, q)
		}
	}
	needs := keys.InPlace
	for _, q := range asked {
		if w.writeProperty(q) {
			needs = max(needs, q.row.Property.Fixed)
		}
	}
	return needs, nil
}

// request is a key that the document mentions, in the words of its property.
type request struct {
	row  keys.Row
	want any
	// have is what the property says, and says whether it does.
	have any
	says bool
	// observed is what the link has in the property's words; nil where that is not known.
	observed any
}

// isSilent says that the profile leaves the value to the kernel.
func (q request) isSilent() bool { return !q.says || same(q.have, q.row.Property.Unset) }

type writer struct {
	now      any
	settings profile.Settings
	// silent has the groups of which the profile says nothing and the link has all that is wanted.
	silent map[string]bool
}

func (w writer) readRequest(r keys.Row, want any) (request, bool, error) {
	field, ok := tree.At(want, r.Path, false)
	if !ok || field.IsZero() {
		return request{}, false, nil
	}
	value, err := encode(r.Property, field)
	if err != nil {
		return request{}, false, fmt.Errorf("%s: %w", r.Path, err)
	}
	q := request{row: r, want: value, have: r.Property.Unset}
	if held, says := w.settings[r.Property.Setting][r.Property.Name]; says && reflect.TypeOf(held.Value()) == reflect.TypeOf(value) {
		q.have, q.says = held.Value(), true
	}
	if r.Property.Secret && value == tree.Hidden {
		if !q.says {
			return request{}, false, fmt.Errorf("%s: there is none to keep; give it in plain", r.Path)
		}
		return request{}, false, nil
	}
	if w.now != nil {
		if at, known := tree.At(w.now, r.Path, false); known && !at.IsZero() {
			q.observed, _ = encode(r.Property, at) // a value that no property can have is not known
		}
	}
	if g := r.Property.Group; g != "" {
		before, seen := w.silent[g]
		w.silent[g] = (before || !seen) && q.isSilent() && same(q.observed, q.want)
	}
	return q, true, nil
}

// writeProperty says whether the property has another value now.
func (w writer) writeProperty(q request) bool {
	p := q.row.Property
	switch {
	case p.Form == keys.Bits:
		held, says := w.settings[p.Setting][p.Name].Value().(uint32) // another key may have changed its bits
		if !says {
			held, _ = p.Unset.(uint32)
		}
		q.have, q.want = held, held&^p.Mask|q.want.(uint32)
	case p.Left && p.Group != "" && w.silent[p.Group]:
		return false
	case p.Left && q.isSilent() && q.observed != nil:
		if p.Group == "" && same(q.observed, q.want) {
			return false
		}
		q.have = q.observed
	}
	switch {
	case same(q.have, q.want):
		return false
	case !p.Left && same(q.want, p.Unset): // NetworkManager refuses some properties that say nothing
		w.settings.Drop(p.Setting, p.Name)
	default:
		w.settings.Set(p.Setting, p.Name, q.want)
	}
	return true
}

// Fill fills in what a connection says of a part of a document, of the keys that are not known yet. part is a pointer.
func Fill(rows []keys.Row, part any, s profile.Settings) {
	for _, r := range rows {
		p := r.Property
		value := p.Unset
		if held, says := s[p.Setting][p.Name]; says {
			value = held.Value()
		} else if p.Left && !isSwitch(p.Form) {
			continue
		}
		if value == nil || p.Hidden != nil && same(value, p.Hidden) {
			continue
		}
		if field, ok := tree.At(part, r.Path, r.Kinds != nil); ok && field.IsZero() {
			decode(r, value, field)
		}
	}
}

// isSwitch says that a key is on or off; what leaves it to the kernel is off.
func isSwitch(f keys.Form) bool { return f == keys.Flag || f == keys.Opposite || f == keys.Ternary }
