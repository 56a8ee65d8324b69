package change_test

import (
	"bytes"
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

func request() ipconfig.Request {
	return ipconfig.Request{
		OperationID: "op", NewStateroot: "n", OldStateroot: "o",
		IPv4Address: "198.51.100.20", IPv4MachineNetwork: "198.51.100.0/24", IPv4Gateway: "198.51.100.1", CurrentIPv4Gateway: "192.0.2.1",
		DNSServers: []string{"198.51.100.53", "198.51.100.54"},
	}
}

func TestNetworkDocumentOfAnUntaggedUplink(t *testing.T) {
	doc, err := change.RenderNetwork(request(), change.Uplink{Name: "eno1", Base: "eno1"})
	require.NoError(t, err)
	text, err := doc.Encode()
	require.NoError(t, err)
	back, err := netstate.Decode(text)
	require.NoError(t, err)
	require.Equal(t, doc, back)
	require.YAMLEq(t, `
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.20, prefix-length: 24}]}, ipv6: {enabled: false}}
routes:
  config:
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 192.0.2.1, state: absent}
  - {destination: 0.0.0.0/0, next-hop-interface: eno1, next-hop-address: 198.51.100.1, metric: 48, table-id: 254}
dns-resolver: {config: {server: [198.51.100.53, 198.51.100.54]}}
`, string(text))
}

func TestVLANMayBeAddedChangedAndRemoved(t *testing.T) {
	names := func(d netstate.Document) (out []string) {
		for _, i := range d.Interfaces {
			out = append(out, i.Name+" "+i.Type+" "+i.State)
		}
		return out
	}
	for name, c := range map[string]struct {
		before change.Uplink
		vlan   int
		want   []string
	}{
		"added":   {change.Uplink{Name: "eno1", Base: "eno1"}, 100, []string{"eno1 ethernet up", "eno1.100 vlan up"}},
		"changed": {change.Uplink{Name: "eno1.100", Base: "eno1", VLAN: 100}, 200, []string{"eno1 ethernet up", "eno1.200 vlan up", "eno1.100 vlan absent"}},
		"removed": {change.Uplink{Name: "eno1.100", Base: "eno1", VLAN: 100}, 0, []string{"eno1 ethernet up", "eno1.100 vlan absent"}},
		"bond":    {change.Uplink{Name: "bond0", Base: "bond0", Type: "bond"}, 0, []string{"bond0 bond up"}},
		"on bond": {change.Uplink{Name: "bond0.100", Base: "bond0", VLAN: 100, Type: "bond"}, 200,
			[]string{"bond0 bond up", "bond0.200 vlan up", "bond0.100 vlan absent"}},
		"on a long name": {change.Uplink{Name: "enp152s0f1np1", Base: "enp152s0f1np1"}, 4094,
			[]string{"enp152s0f1np1 ethernet up", "enp152s0f1.4094 vlan up"}},
		"kept": {change.Uplink{Name: "bond", Base: "eno1", VLAN: 100}, 100, []string{"eno1 ethernet up", "bond vlan up"}},
	} {
		t.Run(name, func(t *testing.T) {
			r := request()
			r.VLANID = c.vlan
			doc, err := change.RenderNetwork(r, c.before)
			require.NoError(t, err)
			require.NoError(t, netstate.Validate(doc))
			require.Equal(t, c.want, names(doc))
		})
	}
}

func TestARequestThatIsNotWholeIsRefused(t *testing.T) {
	for says, r := range map[string]ipconfig.Request{
		"names no address":            {},
		"is not a CIDR":               {IPv4Address: "192.0.2.1"},
		"is not an IP address":        {IPv4Address: "192.0.2.1", IPv4MachineNetwork: "192.0.2.0/24", IPv4Gateway: "router"},
		"outside its machine network": {IPv4Address: "192.0.3.1", IPv4MachineNetwork: "192.0.2.0/24"},
	} {
		_, err := r.Families()
		require.ErrorContains(t, err, says)
	}
}

func TestRequestFileRefusesWhatItDoesNotKnow(t *testing.T) {
	files := hosttest.NewNode(hosttest.Options{}).Files()
	_, err := ipconfig.ReadRequest(files)
	require.ErrorIs(t, err, ipconfig.ErrNoRequest)
	require.NoError(t, files.Write(ipconfig.RequestFile, []byte(`{"operation-id":"x","gateway":"1"}`), 0o600))
	_, err = ipconfig.ReadRequest(files)
	require.ErrorContains(t, err, "gateway")
	require.NoError(t, files.Write(ipconfig.RequestFile, []byte(`{"operation-id":"x","new-stateroot-name":"a","old-stateroot-name":"a"}`), 0o600))
	_, err = ipconfig.ReadRequest(files)
	require.ErrorContains(t, err, "not two names")
}

func TestEveryProtectionIsOnWhenItsFileIsLost(t *testing.T) {
	files := hosttest.NewNode(hosttest.Options{}).Files()
	a, err := ipconfig.ReadAutoRollback(files)
	require.NoError(t, err)
	require.True(t, a.MonitorEnabled)
	require.True(t, a.RunEnabled())
	require.Equal(t, 30*time.Minute, a.Timeout())
}

func TestSecretsDoNotSurviveRedaction(t *testing.T) {
	for _, secret := range []string{
		"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----",
		"Authorization: Bearer abcdefghijklmnop",
		"eyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJl",
		`"auths":{"registry":{"auth":"dXNlcjpwYXNzd29yZA=="}}`,
		"password: hunter2hunter2",
		"client-key-data: LS0tLS1CRUdJTg==",
	} {
		out := string(operation.Redact([]byte("before " + secret + " after")))
		require.Contains(t, out, "[redacted]")
		for _, leak := range []string{"MIIE", "abcdefghijklmnop", "c2lnbmF0dXJl", "dXNlcjpwYXNzd29yZA", "hunter2", "LS0tLS1CRUdJTg"} {
			require.NotContains(t, out, leak)
		}
	}
}

// brokenRecert fails always.
type brokenRecert struct{}

func (brokenRecert) Run(context.Context, string) error { return errors.New("no signer key") }

func TestAFailedPostPivotGoesBackAndTheOldSystemKnowsWhy(t *testing.T) {
	w := newWorld(t)
	w.recert = brokenRecert{}
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(t, err)
	p, err := ipconfig.ReadProgress(w.node.Files(), r.OperationID)
	require.NoError(t, err)
	require.True(t, p.Automatic())
	require.Contains(t, p.Cause, "recert: no signer key")
	require.Contains(t, p.PostPivot.Failure, "no signer key")
	require.Len(t, operation.Records(w.node.Files(), r.OperationID), 3)
	w.recert = w.node.FakeRecert()
	require.NoError(t, w.Again())
}

func TestTooLittleDiskIsRefusedBeforeTheClusterStops(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.node.Seed("/var/lib/containers/image", bytes.Repeat([]byte("x"), 1<<20)))
	w.node.SetFree(1 << 19)
	require.NoError(t, w.Live(nil))
	require.ErrorContains(t, errors.Join(w.node.Failures()...), "the new stateroot needs")
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	for _, op := range w.node.Ops() {
		require.NotContains(t, op.String(), "units.stop kubelet")
	}
	w.node.SetFree(1 << 40)
	require.NoError(t, w.Again())
}
