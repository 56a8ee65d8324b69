package property

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// parts are empty parts of documents, each new.
var parts = map[string]func() any{
	keys.Links: func() any { return &netstate.Interface{} },
	keys.IPv4:  func() any { return &netstate.IP{} }, keys.IPv6: func() any { return &netstate.IP{} },
	keys.BridgePorts: func() any { return &netstate.BridgePort{} }, keys.BondPorts: func() any { return &netstate.BondMember{} },
}

// forEachRow walks the table: every row that a property holds is in one part.
func forEachRow(t *testing.T, do func(t *testing.T, part string, r keys.Row)) {
	count := 0
	for part := range parts {
		for _, r := range keys.In(part, "") {
			count++
			t.Run(part+"."+r.Path+" in "+r.Property.String(), func(t *testing.T) { do(t, part, r) })
		}
	}
	simple := 0
	for _, r := range keys.All() {
		if r.IsSimple() {
			simple++
		}
	}
	require.Equal(t, simple, count, "a row is in no part that is written")
}

// values are some that the key of a row takes.
func values(r keys.Row, kind reflect.Type) []any {
	switch {
	case kind.Kind() == reflect.Bool:
		return []any{true, false}
	case kind.Kind() == reflect.Int:
		return []any{max(r.Low, 1), max(r.Low, 1) + 1}
	case r.Property.Form == keys.Flags:
		return []any{[]string{"backup", "subflow"}, []string{}}
	case r.Property.Form == keys.Texts:
		return []any{[]string{"tls", "peap"}}
	case r.Words != nil && len(r.Property.Values) > len(r.Words):
		return []any{r.Words[0]}
	case r.Words != nil:
		return []any{r.Words[0], r.Words[1]}
	case r.Property.Form == keys.Hardware:
		return []any{"01:80:C2:00:00:0E"}
	case r.Property.Name == "token":
		return []any{"::7"}
	}
	out := []any{"text"}
	for word := range r.Property.Values {
		out = append(out, word)
	}
	return out
}

// types are the forms' types on D-Bus.
var types = map[keys.Form]any{
	keys.Flag: false, keys.Opposite: false, keys.Number: uint32(0), keys.Wide: uint64(0), keys.Signed: int32(0), keys.Long: int64(0),
	keys.Text: "", keys.Ternary: int32(0), keys.Hardware: []byte{}, keys.Bits: uint32(0), keys.Texts: []string{}, keys.Flags: uint32(0), keys.File: []byte{},
}

func mention(t *testing.T, part any, path string, value any) reflect.Value {
	t.Helper()
	field, ok := tree.At(part, path, true)
	require.True(t, ok, "no document has the key")
	if field.Kind() == reflect.Pointer {
		field.Set(reflect.New(field.Type().Elem()))
		field.Elem().Set(reflect.ValueOf(value))
	} else {
		field.Set(reflect.ValueOf(value))
	}
	return field
}

func fieldType(t *testing.T, part any, path string) reflect.Type {
	t.Helper()
	field, ok := tree.At(part, path, true)
	require.True(t, ok, "no document has the key")
	if field.Kind() == reflect.Pointer {
		return field.Type().Elem()
	}
	return field.Type()
}

func TestWhatIsWrittenIsReadBack(t *testing.T) {
	forEachRow(t, func(t *testing.T, part string, r keys.Row) {
		for _, value := range values(r, fieldType(t, parts[part](), r.Path)) {
			want, s := parts[part](), profile.Settings{}
			field := mention(t, want, r.Path, value)
			_, err := Write([]keys.Row{r}, want, nil, s)
			require.NoError(t, err)
			if held, says := s[r.Property.Setting][r.Property.Name]; says {
				require.IsType(t, types[r.Property.Form], held.Value(), "NetworkManager refuses another type")
			} else {
				encoded, err := encode(r.Property, field)
				require.NoError(t, err)
				if r.Property.Form != keys.Bits {
					require.Equal(t, r.Property.Unset, encoded, "%v is not written and is not what silence means", value)
				}
			}
			before := s.Clone()
			_, err = Write([]keys.Row{r}, want, nil, s)
			require.NoError(t, err)
			require.Equal(t, before, s, "a second time changes something")
			if len(s) == 0 && (r.Property.Hidden != nil || r.Property.Left) {
				continue // silence says nothing
			}
			got := parts[part]()
			_, _ = tree.At(got, r.Path, true) // the section is there
			Fill([]keys.Row{r}, got, s)
			back, _ := tree.At(got, r.Path, true)
			if r.Property.Secret {
				require.Equal(t, tree.Hidden, back.Interface())
				continue
			}
			require.Equal(t, reflect.Indirect(field).Interface(), reflect.Indirect(back).Interface())
		}
	})
}

// TestAProfileMayStaySilent: where the kernel keeps its own value, a profile that says nothing is not made to say what is so.
func TestAProfileMayStaySilent(t *testing.T) {
	forEachRow(t, func(t *testing.T, part string, r keys.Row) {
		if !r.Property.Left {
			return
		}
		value := values(r, fieldType(t, parts[part](), r.Path))[0]
		want, now, s := parts[part](), parts[part](), profile.Settings{}
		mention(t, want, r.Path, value)
		mention(t, now, r.Path, value)
		_, err := Write([]keys.Row{r}, want, now, s)
		require.NoError(t, err)
		require.Empty(t, s)
	})
}

func TestWhatANewValueTakes(t *testing.T) {
	forEachRow(t, func(t *testing.T, part string, r keys.Row) {
		value := values(r, fieldType(t, parts[part](), r.Path))[0]
		want, s := parts[part](), profile.Settings{}
		mention(t, want, r.Path, value)
		needs, err := Write([]keys.Row{r}, want, nil, s)
		require.NoError(t, err)
		if len(s) == 0 {
			return
		}
		require.Equal(t, r.Property.Fixed, needs)
		needs, err = Write([]keys.Row{r}, want, nil, s)
		require.NoError(t, err)
		require.Equal(t, keys.InPlace, needs, "nothing is new")
	})
}

// TestThingsThatNoPropertyCanHold are refused with the key and the value, not written as something else.
func TestThingsThatNoPropertyCanHold(t *testing.T) {
	_, err := Write(keys.In(keys.Links, ""), &netstate.Interface{MACVLAN: &netstate.MACVLAN{Mode: "source"}}, nil, profile.Settings{})
	require.EqualError(t, err, "mac-vlan.mode: source is nothing that macvlan.mode can have")
	options := &netstate.BridgeOptions{GroupAddr: "nonsense"}
	_, err = Write(keys.In(keys.Links, ""), &netstate.Interface{Bridge: &netstate.Bridge{Options: options}}, nil, profile.Settings{})
	require.ErrorContains(t, err, `bridge.options.group-addr: "nonsense" is not a MAC address`)
}

// TestAHiddenSecretStays: what is shown may be asked for again, where there is a secret.
func TestAHiddenSecretStays(t *testing.T) {
	want, s := &netstate.Interface{MACSec: &netstate.MACSec{CAK: tree.Hidden}}, profile.Settings{}
	_, err := Write(keys.In(keys.Links, netstate.TypeMACSec), want, nil, s)
	require.EqualError(t, err, "macsec.mka-cak: there is none to keep; give it in plain")
	s.Set("macsec", "mka-cak", "secret")
	before := s.Clone()
	needs, err := Write(keys.In(keys.Links, netstate.TypeMACSec), want, nil, s)
	require.NoError(t, err)
	require.Equal(t, keys.InPlace, needs)
	require.Equal(t, before, s)
}
