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
		v.at = i.keyPath(m.Path)
		switch kinds := kindsOf(rows); {
		case m.Support == "no" || len(rows) > 0 && rows[0].Support == keys.No:
			v.addProblem("%s", refusalOf(rows))
			foreign = m.Path + "."
		case len(rows) == 0:
		case i.Type != "" && kinds != nil && !slices.Contains(kinds, i.Type):
			v.addProblem("does not belong to type %s, but to %s", i.Type, strings.Join(kinds, ", "))
			foreign = m.Path + "."
		default:
			v.checkValue(rows[0], m)
		}
	}
}

// refusalOf says why a key is not taken.
func refusalOf(rows []keys.Row) string {
	if len(rows) > 0 && rows[0].Note != "" {
		return rows[0].Note
	}
	return "is part of nmstate, and this product does not support it; take it out of the document"
}

func (v *validator) checkValue(r keys.Row, m tree.Mention) {
	switch {
	case r.Words != nil && !slices.Contains(r.Words, m.Value.String()):
		v.addProblem("%q is none of %s", m.Value.String(), strings.Join(r.Words, ", "))
	case !m.Value.CanInt():
	case r.High == 0 && m.Value.Int() < 0:
		v.addProblem("%d is negative", m.Value.Int())
	case r.High != 0 && (m.Value.Int() < int64(r.Low) || m.Value.Int() > int64(r.High)):
		v.addProblem("%d is outside %d-%d", m.Value.Int(), r.Low, r.High)
	}
}

// kindsOf are the types that have a key; nil for all.
func kindsOf(rows []keys.Row) []string {
	var out []string
	for _, r := range rows {
		if r.Kinds == nil {
			return nil
		}
		out = append(out, r.Kinds...)
	}
	return out
}
