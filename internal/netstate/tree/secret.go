package tree

import "reflect"

// Hidden stands for a secret that is there and is not shown. Where it is asked for, the secret stays as it is. The text is nmstate's.
const Hidden = "<_password_hid_by_nmstate>"

// Hide copies a document, with Hidden in the place of each secret.
func Hide[T any](document T) T {
	var out T
	copyHidden(reflect.ValueOf(&out).Elem(), reflect.ValueOf(document))
	return out
}

func copyHidden(out, in reflect.Value) {
	switch {
	case in.IsZero():
	case in.Kind() == reflect.Pointer && hasFields(in.Type().Elem()):
		out.Set(reflect.New(in.Type().Elem()))
		copyHidden(out.Elem(), in.Elem())
	case hasFields(in.Type()):
		out.Set(in) // fields without a key, too
		for _, f := range Fields(in.Type()) {
			if f.Secret && isMentioned(in.Field(f.Index)) {
				out.Field(f.Index).SetString(Hidden)
				continue
			}
			copyHidden(out.Field(f.Index), in.Field(f.Index))
		}
	case in.Kind() == reflect.Slice && hasFields(in.Type().Elem()):
		out.Set(reflect.MakeSlice(in.Type(), in.Len(), in.Len()))
		for n := range in.Len() {
			copyHidden(out.Index(n), in.Index(n))
		}
	default:
		out.Set(in)
	}
}

// isKept says that nothing is known to differ between two secrets: one of them is hidden.
func isKept(want, got reflect.Value) bool {
	return want.String() == Hidden && isMentioned(got) || got.String() == Hidden
}

// appendMissingSecret compares without saying what is compared.
func appendMissingSecret(want, got reflect.Value, path string, out *[]Difference) {
	switch {
	case !isMentioned(want) || isKept(want, got) || want.String() == got.String():
	case !isMentioned(got):
		*out = append(*out, Difference{Path: path, Want: Hidden, Got: "nothing", Unknown: true})
	default:
		*out = append(*out, Difference{Path: path, Want: Hidden, Got: "another one"})
	}
}
