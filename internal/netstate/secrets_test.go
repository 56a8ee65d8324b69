package netstate

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Secrets are compared without being known: an observed one is hidden, and no sentence has one.
func TestSecretsAreComparedAndNotShown(t *testing.T) {
	secured := func(key string) Document {
		d, err := Decode([]byte("interfaces: [{name: s, type: macsec, state: up, macsec: {base-iface: b, mka-cak: " + key + ", mka-ckn: ab}}]"))
		require.NoError(t, err)
		return d
	}
	without := secured("''")
	plain, hidden := secured("secret"), secured("<_password_hid_by_nmstate>")
	require.Equal(t, hidden, plain.Redacted())
	require.Equal(t, "secret", plain.Interfaces[0].MACSec.CAK, "the original stays")

	require.Empty(t, Verify(plain, hidden))
	require.Empty(t, Verify(hidden, plain))
	require.Equal(t, []string{"interface s has macsec.mka-cak nothing, not <_password_hid_by_nmstate>"}, Verify(plain, without))
	require.Equal(t, []string{"interface s has macsec.mka-cak another one, not <_password_hid_by_nmstate>"}, Verify(plain, secured("other")))

	require.Empty(t, Diff(hidden, hidden), "what is shown asks for nothing")
	require.Equal(t, "secret", Diff(hidden, plain).Interfaces[0].MACSec.CAK, "whether it is there already is not known")
	require.Empty(t, Revert(plain, hidden), "a way back has no secret, and touches none")
}
