package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
)

func byPath() map[string]Key {
	all := map[string]Key{}
	for _, k := range Keys() {
		all[k.Path] = k
	}
	return all
}

func TestTheTableHasEveryKeyOnce(t *testing.T) {
	all := byPath()
	require.Len(t, all, len(Keys()))
	for path, want := range map[string]keys.Support{
		"interfaces[].mtu": keys.Full, "interfaces[].ipv4.address[].ip": keys.Full, "interfaces[].bridge.port[].vlan.trunk-tags[].id-range.min": keys.Full,
		"interfaces[].ethtool.fec": keys.No, "interfaces[].min-mtu": keys.Read, "routes.running": keys.Read, "interfaces[].ethernet.sr-iov": keys.No,
		"interfaces[].ipv6.forwarding": keys.No, "interfaces[].lldp.neighbors": keys.Read,
	} {
		require.Equal(t, want, all[path].Support, path)
	}
	for _, r := range keys.All() {
		require.Contains(t, all, r.Path, "a row of a key that there is not")
	}
}

// TestEverySupportedKeyHasAWitness: there is no key that is applied and never verified. What has no witness is refused by name: it is
// "not supported" in the table.
func TestEverySupportedKeyHasAWitness(t *testing.T) {
	all := Keys()
	for n, k := range all {
		leaf := n+1 == len(all) || !strings.HasPrefix(all[n+1].Path, k.Path+".") && !strings.HasPrefix(all[n+1].Path, k.Path+"[]")
		if leaf && k.Support == keys.Full {
			require.NotEmpty(t, k.Witness, "%s is supported and nothing verifies it: give it a row in package keys", k.Path)
		}
	}
}

// What the table says of types and of keys that are not supported is what the validation does.
func TestTheTableIsWhatIsValidated(t *testing.T) {
	check := func(text string) error {
		d, err := netstate.Decode([]byte(text))
		require.NoError(t, err, text)
		return netstate.Validate(d)
	}
	for _, k := range keys.Types() {
		name := "x"
		if k.Name == netstate.TypeLoopback {
			name = netstate.LoopbackName
		}
		err := check(fmt.Sprintf("interfaces: [{name: %s, type: %s}]", name, k.Name))
		require.Equal(t, k.Support == keys.Full || k.Support == keys.Partly, err == nil, k.Name)
	}
	for _, k := range Keys() {
		key, isInterface := strings.CutPrefix(k.Path, "interfaces[].")
		if k.Support == keys.No && isInterface && !strings.Contains(key, ".") {
			require.ErrorContains(t, check(fmt.Sprintf("interfaces: [{name: x, %q: {}}]", key)), key)
		}
	}
	require.Error(t, check("routes: {config: [{destination: 192.0.2.0/24, next-hop-interface: a, vrf-name: b}]}"))
	require.Error(t, check("interfaces: [{name: x, type: ethernet, ipv4: {enabled: true, forwarding: true}}]"))
}
