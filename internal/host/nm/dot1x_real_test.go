package nm_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func dot1X(a nmtest.Authenticator, text string) string {
	return onCard(card4 + ", " + fmt.Sprintf("802.1x: {identity: %s, ca-cert: %s, %s}", a.Identity, a.CA, text))
}

// tlsOf and peapOf are two ways to answer a switch.
func tlsOf(a nmtest.Authenticator, password string) string {
	return dot1X(a, fmt.Sprintf("eap-methods: [tls], private-key: %s, private-key-password: %s, client-cert: %s", a.Key, password, a.Cert))
}

func peapOf(a nmtest.Authenticator, password string) string {
	return dot1X(a, "eap-methods: [peap], phase2-auth: mschapv2, password: "+password)
}

// TestACardAuthenticatesItself to hostapd, by a certificate and by a password: both come into force, are shown without secrets, changed and
// taken away. An answer that the switch refuses is rolled back.
func TestACardAuthenticatesItself(t *testing.T) {
	n := newNode(t)
	n.StartSupplicant()
	n.cards("card0")
	a := n.ServeDot1X("card0")
	n.apply(onCard(card4))
	before, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	shown := n.shown()

	byCertificate := tlsOf(a, a.Password)
	n.apply(byCertificate)
	n.inForce(byCertificate)
	n.Until("the switch has let the card in", func() bool { return strings.Contains(n.Log(), "card0p: CTRL-EVENT-EAP-SUCCESS") })
	require.Contains(t, n.keyfileOf("card0"), "private-key-password="+a.Password)
	require.Contains(t, n.shown(), "private-key-password: "+strings.Trim(hidden, "'"))
	require.NotContains(t, n.shown(), a.Password)

	n.apply(tlsOf(a, hidden))
	require.Contains(t, n.keyfileOf("card0"), "private-key-password="+a.Password, "the placeholder keeps the secret")
	n.inForce(tlsOf(a, hidden))

	n.apply(peapOf(a, a.Password))
	n.inForce(peapOf(a, a.Password))
	require.NotContains(t, n.keyfileOf("card0"), "private-key", "a document gives all of it")
	got, err := n.network().Observe(timeout(t))
	require.NoError(t, err)
	require.NotEmpty(t, netstate.Verify(document(t, byCertificate), got), "what another one changed is noticed")

	authenticated := n.shown()
	err = n.network().Apply(timeout(t), document(t, peapOf(a, "wrong")), nil)
	require.ErrorContains(t, err, "the old network is back")
	require.NotContains(t, err.Error(), "wrong")
	n.Until("the state before is back", func() bool { return n.shown() == authenticated })

	require.NoError(t, n.network().Apply(timeout(t), netstate.Revert(document(t, peapOf(a, a.Password)), before), nil))
	require.Equal(t, shown, n.shown())
	require.NotContains(t, n.keyfileOf("card0"), "802-1x")
	n.settled()
}

// TestFilesOfAnAuthenticationAreOnTheNode, or nothing is touched.
func TestFilesOfAnAuthenticationAreOnTheNode(t *testing.T) {
	n := newNode(t)
	n.cards("card0")
	before := n.shown()
	err := n.network().Apply(timeout(t), document(t, onCard("802.1x: {identity: x, eap-methods: [peap], password: y, ca-cert: /etc/pki/absent.crt}")), nil)
	require.ErrorContains(t, err, "interface card0: 802.1x.ca-cert: ")
	require.ErrorContains(t, err, "/etc/pki/absent.crt: no such file or directory; bring the file to the node first")
	require.Equal(t, before, n.shown())
	n.settled()
}

// TestASecretIsWrittenNowhereElse: neither the log nor the journal has what a profile needs.
func TestASecretIsWrittenNowhereElse(t *testing.T) {
	n := newNode(t)
	n.StartSupplicant()
	n.cards("card0")
	a := n.ServeDot1X("card0")
	var log bytes.Buffer
	network := nm.New(nm.Options{
		Bus: nm.SystemBus(nmtest.BusAddress), Files: n.disk, StateDir: n.state, Lease: n.lease,
		Log: slog.New(slog.NewTextHandler(&log, &slog.HandlerOptions{Level: slog.LevelDebug})),
	})
	journal := ""
	err := network.Apply(timeout(t), document(t, peapOf(a, a.Password)), func(context.Context) error {
		entries, err := os.ReadDir(n.state)
		require.NoError(t, err)
		for _, e := range entries {
			journal += n.text(n.state + "/" + e.Name())
		}
		return errNo
	})
	require.ErrorIs(t, err, errNo)
	require.Contains(t, journal, a.Identity, "it is the journal")
	for _, text := range []string{journal, log.String(), err.Error()} {
		require.NotContains(t, text, a.Password)
	}
}
