package nm_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

const (
	cak, otherCAK = "50b71a8ef0bd5751ea76de6d6c98c03a", "50b71a8ef0bd5751ea76deaaaaaaaaaa"
	ckn           = "f2b4297d39da7330910a74abc0449feb45b5c0b9fc23df1430e1898fcf1c4550"
	hidden        = "'<_password_hid_by_nmstate>'"
)

func macSec(text string) string {
	return "interfaces: [{name: sec0, type: macsec, state: up, macsec: {base-iface: card0, mka-ckn: " + ckn + ", " + text + "}}]"
}

// inForce demands that a document is observed, in place, and asks for nothing more.
func (n *testNode) inForce(text string) {
	n.t.Helper()
	doc := document(n.t, text)
	got, err := n.network().Observe(timeout(n.t))
	require.NoError(n.t, err)
	require.Empty(n.t, netstate.Verify(doc, got))
	require.Equal(n.t, "{}\n", encoded(n.t, netstate.Diff(got, doc.Redacted())))
	n.inPlace(text)
}

// TestMACsec: a link with a shared key comes into force, is shown without the key, follows a change of each key, and goes.
func TestMACsec(t *testing.T) {
	n := newNode(t)
	needs(t, "macsec")
	n.StartSupplicant()
	n.cards("card0")
	n.apply(onCard("ipv4: {enabled: false}, ipv6: {enabled: false}"))
	before := n.shown()
	first := macSec("mka-cak: " + cak + ", encrypt: false, port: 7, validation: check, send-sci: true")
	n.apply(first)
	n.inForce(first)
	link := n.IP("-d", "link", "show", "sec0")
	require.Contains(t, link, "validate check")
	require.Contains(t, link, "encrypt off")
	require.Contains(t, n.keyfileOf("sec0"), "mka-cak="+cak)
	shown := n.shown()
	require.Contains(t, shown, "mka-cak: "+strings.Trim(hidden, "'"))
	require.NotContains(t, shown, cak)

	for _, change := range []string{"mka-cak: " + otherCAK, "mka-cak: " + hidden + ", encrypt: true", "mka-cak: " + hidden + ", validation: strict, send-sci: true"} {
		n.apply(macSec(change))
		n.inForce(macSec(change))
		require.Contains(t, n.keyfileOf("sec0"), "mka-cak="+otherCAK, "the placeholder keeps the key")
	}

	n.IP("link", "set", "sec0", "type", "macsec", "encrypt", "off")
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	require.Equal(t, []string{"interface sec0 has macsec.encrypt false, not true"}, netstate.Verify(document(t, macSec("encrypt: true, mka-cak: "+hidden)), got))

	n.apply("interfaces: [{name: sec0, type: macsec, state: absent}]")
	require.Equal(t, before, n.shown())
	n.settled()
}

// TestAMACsecThatIsNotProvedGoesBack, with its key.
func TestAMACsecThatIsNotProvedGoesBack(t *testing.T) {
	n := newNode(t)
	needs(t, "macsec")
	n.StartSupplicant()
	n.cards("card0")
	n.apply(onCard("ipv4: {enabled: false}, ipv6: {enabled: false}"))
	n.refusedByProof(macSec("mka-cak: " + cak))
	n.apply(macSec("mka-cak: " + otherCAK))
	n.refusedByProof(macSec("mka-cak: " + cak + ", encrypt: false"))
	require.Contains(t, n.keyfileOf("sec0"), "mka-cak="+otherCAK)
}

// keyfileOf is the file of an interface's profile on the disk.
func (n *testNode) keyfileOf(iface string) string {
	n.t.Helper()
	text, err := os.ReadFile(nmtest.KeyfileDir + "/" + iface + ".nmconnection")
	require.NoError(n.t, err)
	return string(text)
}
