package schema

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
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
	for path, want := range map[string]Support{
		"interfaces[].mtu": Full, "interfaces[].ipv4.address[].ip": Full, "interfaces[].bridge.port[].vlan.trunk-tags[].id-range.min": Full,
		"interfaces[].ethtool": No, "interfaces[].min-mtu": Read, "routes.running": Read, "interfaces[].ethernet.sr-iov": No,
		"interfaces[].ipv6.forwarding": No, "interfaces[].lldp.neighbors": Read,
	} {
		require.Equal(t, want, all[path].Support, path)
	}
	for path := range remarks {
		require.Contains(t, all, path, "a remark on a key that there is not")
	}
}

// What the table says of types and of keys that are not supported is what the validation does.
func TestTheTableIsWhatIsValidated(t *testing.T) {
	check := func(text string) error {
		d, err := netstate.Decode([]byte(text))
		require.NoError(t, err, text)
		return netstate.Validate(d)
	}
	for _, k := range Types() {
		err := check(fmt.Sprintf("interfaces: [{name: x, type: %s}]", k.Path))
		require.Equal(t, k.Support == Full || k.Support == Partly, err == nil, k.Path)
	}
	for _, k := range Keys() {
		key, isInterface := strings.CutPrefix(k.Path, "interfaces[].")
		if k.Support == No && isInterface && !strings.Contains(key, ".") {
			require.ErrorContains(t, check(fmt.Sprintf("interfaces: [{name: x, %q: {}}]", key)), key)
		}
	}
	require.Error(t, check("routes: {config: [{destination: 192.0.2.0/24, next-hop-interface: a, vrf-name: b}]}"))
	require.Error(t, check("interfaces: [{name: x, type: ethernet, ipv4: {enabled: true, forwarding: true}}]"))
}
