package nm_test

import (
	"net/netip"
	"regexp"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

var addressLine = regexp.MustCompile(`(?m)^address\d+=([0-9.]+/\d+)`)

// TestContract holds the adapter to what every implementation of host.Network promises.
func TestContract(t *testing.T) {
	hostcontract.TestNetwork(t, func(t *testing.T) hostcontract.NetworkFixture {
		n := newNode(t)
		return hostcontract.NetworkFixture{
			Network: n.network(), Transaction: n.network(), Watch: n.network(), Planner: n.network(), Trials: n.network(), Uplink: "uplink0",
			Hold: func(_ *testing.T, length time.Duration) { n.takeCheckpoint(uint32(length.Seconds())) },
			Old:  netip.MustParsePrefix("192.0.2.10/24"), New: netip.MustParsePrefix("192.0.2.77/24"),
			OldGateway: netip.MustParseAddr("192.0.2.1"), NewGateway: netip.MustParseAddr("192.0.2.254"),
			// What is on the disk is what boots: PowerCut proves that elsewhere.
			Boots: func(t *testing.T) []netip.Prefix {
				var out []netip.Prefix
				for _, m := range addressLine.FindAllStringSubmatch(n.text(n.keyfile), -1) {
					p, err := netip.ParsePrefix(m[1])
					require.NoError(t, err)
					out = append(out, p)
				}
				return out
			},
			Without: func(t *testing.T, during func()) {
				n.KillNM()
				during()
				n.StartNM()
				n.Until("the uplink is up", func() bool { return n.has("192.0.2.10/24") })
			},
		}
	})
}
