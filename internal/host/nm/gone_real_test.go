package nm_test

import (
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
)

// onCards is a document over a card, a bridge over another one, and what rests on them.
const onCards = `
interfaces:
- name: card0
  type: ethernet
  state: up
  ipv4: {enabled: true, dhcp: false, address: [{ip: 203.0.113.66, prefix-length: 24}]}
- name: br7
  type: linux-bridge
  state: up
  bridge: {port: [{name: card1}]}
  ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.66, prefix-length: 24}]}
- name: mv0
  type: mac-vlan
  state: up
  mac-vlan: {base-iface: card0, mode: bridge}
routes:
  config:
  - {destination: 198.18.0.0/24, next-hop-interface: card0, next-hop-address: 203.0.113.1}
`

// The cards of an interrupted change are gone, whatever died with them and however far the change was: neither an empty document nor any
// other waits for them, the first time or later. The time that a change has to be in place is the product's own, a minute.
func TestNoChangeWaitsForCardsThatAreGone(t *testing.T) {
	for name, c := range map[string]struct {
		hangAt string
		killNM bool
	}{
		"before the commit, with NetworkManager": {"proof", true},
		"before the commit":                      {"proof", false},
		"after the commit, with NetworkManager":  {"committed", true},
		"after the commit":                       {"committed", false},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t)
			n.cards("card0", "card1")
			v := n.victim(onCards, c.hangAt)
			if c.killNM {
				n.KillNM()
			}
			v.kill()
			n.IP("link", "del", "card0")
			n.IP("link", "del", "card1")
			if c.killNM {
				n.StartNM()
			}
			patient := nm.New(nm.Options{Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease})
			for _, text := range []string{"{}", "{}", moved, "{}"} {
				began := time.Now()
				require.NoError(t, patient.Apply(timeout(t), document(t, text), nil))
				require.Less(t, time.Since(began), nmtest.Patience(10*time.Second), "it does not wait: %s", text)
			}
			_, err := os.Stat(n.state + "/transaction.json")
			require.ErrorIs(t, err, os.ErrNotExist, "nothing is left open")
		})
	}
}
