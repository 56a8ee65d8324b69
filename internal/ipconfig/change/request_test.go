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
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

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
