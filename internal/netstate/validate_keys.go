package netstate

import (
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// checkKeys holds what an interface says against the table of keys: what its type has, the words that a key takes and the range of a
// number.
func (v *validator) checkKeys(i Interface) {
	foreign := "" // a part that the type does not have is named, and not all that stands in it
	for _, m := range tree.Mentions(i) {
		if foreign != "" && strings.HasPrefix(m.Path, foreign) {
			continue
		}
		rows := keys.Of(tree.Join(keys.Links, m.Key))
		if len(rows) == 0 {
			continue
		}
		v.at = i.keyPath(m.Path)
		if i.Type != "" && !slices.ContainsFunc(rows, func(r keys.Row) bool { return r.Kinds == nil || slices.Contains(r.Kinds, i.Type) }) {
			v.addProblem("does not belong to type %s, but to %s", i.Type, strings.Join(kindsOf(rows), ", "))
			foreign = m.Path + "."
			continue
		}
		v.checkValue(rows[0], m)
	}
}

func (v *validator) checkValue(r keys.Row, m tree.Mention) {
	switch {
	case r.Support == keys.No && r.Note != "":
		v.addProblem("this key %s", r.Note)
	case r.Words != nil && !slices.Contains(r.Words, m.Value.String()):
		v.addProblem("%q is none of %s", m.Value.String(), strings.Join(r.Words, ", "))
	case !m.Value.CanInt():
	case r.High == 0 && m.Value.Int() < 0:
		v.addProblem("%d is negative", m.Value.Int())
	case r.High != 0 && (m.Value.Int() < int64(r.Low) || m.Value.Int() > int64(r.High)):
		v.addProblem("%d is outside %d-%d", m.Value.Int(), r.Low, r.High)
	}
}

func kindsOf(rows []keys.Row) []string {
	var out []string
	for _, r := range rows {
		out = append(out, r.Kinds...)
	}
	return out
}
