package kernel

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// The attributes are those of a kernel 6.1, of a link made with "encrypt on send_sci off validate check".
func TestAttributesOfMACSecAreRead(t *testing.T) {
	attribute := func(kind byte, value ...byte) []byte { return []byte{5, 0, kind, 0, value[0], 0, 0, 0} }
	var data []byte
	for _, a := range [][]byte{attribute(iflaMACSecEncrypt, 1), attribute(iflaMACSecIncSCI, 0), attribute(iflaMACSecValidation, 1), attribute(iflaMACSecOffload, 0)} {
		data = append(data, a...)
	}
	require.Equal(t, &netstate.MACSec{Encrypt: new(true), SendSCI: new(false), Validation: "check", Offload: "off"}, parseMACSec(data))
	require.Equal(t, &netstate.MACSec{}, parseMACSec(attribute(iflaMACSecValidation, 9)), "a number without a word")
	require.Equal(t, &netstate.MACSec{}, parseMACSec(nil))
}
