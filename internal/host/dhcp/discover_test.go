package dhcp

import (
	"encoding/binary"
	"net"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
)

// reply is an answer to the discovery, with options.
func reply(id uint32, options ...byte) []byte {
	m := discoverMessage(id, net.HardwareAddr{2, 0, 0, 0, 0, 1})[:headerSize]
	m[0] = bootReply
	m = binary.BigEndian.AppendUint32(m, cookie)
	return append(m, options...)
}

func TestOffers(t *testing.T) {
	for name, k := range map[string]struct {
		message []byte
		server  string
		ok      bool
	}{
		"an offer":            {reply(7, optionPad, 53, 1, 2, 54, 4, 192, 0, 2, 1, 255), "192.0.2.1", true},
		"without its server":  {reply(7, 53, 1, 2, 255), "", true},
		"another's":           {reply(8, 53, 1, 2, 255), "", false},
		"a refusal":           {reply(7, 53, 1, 6, 54, 4, 192, 0, 2, 1, 255), "192.0.2.1", false},
		"our own question":    {discoverMessage(7, nil), "", false},
		"cut short":           {reply(7, 53), "", false},
		"a length beyond all": {reply(7, 53, 200, 2), "", false},
		"empty":               {nil, "", false},
	} {
		t.Run(name, func(t *testing.T) {
			server, ok := parseOffer(k.message, 7)
			require.Equal(t, k.ok, ok)
			if k.server != "" {
				require.Equal(t, netip.MustParseAddr(k.server), server)
			}
		})
	}
}

func FuzzOffers(f *testing.F) {
	f.Add(reply(7, 53, 1, 2, 54, 4, 192, 0, 2, 1, 255))
	f.Fuzz(func(_ *testing.T, m []byte) { parseOffer(m, 7) })
}
