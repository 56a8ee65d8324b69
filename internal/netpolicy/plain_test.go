package netpolicy_test

import (
	"context"
	"errors"
	"io/fs"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// plainFiles are those of a machine without ostree.
type plainFiles struct{ host.Files }

func (f plainFiles) Stat(path string) (fs.FileInfo, error) {
	if path == host.DeployDir {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return f.Files.Stat(path)
}

// noDeployments fail as ostree does where it is not installed.
type noDeployments struct{ host.Deployments }

func (noDeployments) List(context.Context) ([]host.Deployment, error) {
	return nil, errors.New("no ostree entries in /boot/loader/entries: is this an ostree system, and is /boot mounted?")
}

// TestAPlainNode enacts policies, and records them without a stateroot.
func TestAPlainNode(t *testing.T) {
	w := newWorld(false)
	w.prepare(t)
	p := w.ports()
	p.Files, p.Deployments = plainFiles{p.Files}, noDeployments{}
	require.NoError(t, netpolicy.Run(t.Context(), p, operation.Instruments{}))
	require.Equal(t, netpolicy.ResultChanged, w.outcome(t).Result)
	at, err := w.address()
	require.NoError(t, err)
	require.Equal(t, after, at)
	c, err := record.Store{Files: w.node.Files()}.Committed(policy)
	require.NoError(t, err)
	require.Empty(t, c.Stateroot)
	require.NotEmpty(t, c.Boot)
}

// TestTheShownDocumentHasNoSecret: the status of an enactment is for everybody who reads the cluster.
func TestTheShownDocumentHasNoSecret(t *testing.T) {
	o := &netpolicy.Outcome{Document: "interfaces: [{name: s, type: macsec, macsec: {mka-cak: secret, mka-ckn: ab}}]"}
	require.Equal(t, `interfaces:
  - name: s
    type: macsec
    macsec:
      mka-cak: <_password_hid_by_nmstate>
      mka-ckn: ab
`, o.ShownDocument())
	require.Empty(t, (&netpolicy.Outcome{}).ShownDocument())
	require.Empty(t, (&netpolicy.Outcome{Document: "mka-cak: secret"}).ShownDocument(), "what cannot be read is not shown")
}
