package nmstatectl_test

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nmstatectl"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// tool stands in for nmstatectl: it notes how it was called and shows what "state" holds.
// apply replaces the state with "next"; rollback brings back what apply replaced.
const tool = `#!/bin/sh
cd "$(dirname "$0")"
echo "$*" >>calls
case $1 in
show) cat state ;;
apply)
    cat >document
    [ ! -e refuse ] || { echo "NmstateError: VerificationError: no" >&2; exit 1; }
    mv state former; cp next state
    case "$*" in *no-commit*) touch open ;; esac ;;
commit) [ -e open ] || exit 1; rm open ;;
rollback) [ -e open ] || { echo "NmstateError: InvalidArgument: no checkpoint" >&2; exit 1; }; rm open; mv former state ;;
esac
`

const (
	first = `{"interfaces":[
 {"name":"lo","type":"loopback","state":"up"},
 {"name":"eno1","type":"veth","state":"up","mtu":1500,"min-mtu":68,"lldp":{"enabled":false},
  "ipv4":{"enabled":true,"dhcp":false,"address":[{"ip":"192.0.2.10","prefix-length":24}]},
  "ipv6":{"enabled":true,"dhcp":false,"autoconf":false,"addr-gen-mode":"eui64","address":[{"ip":"fe80::1","prefix-length":64}]}}],
 "routes":{"running":[{"destination":"0.0.0.0/0","next-hop-interface":"eno1","next-hop-address":"192.0.2.1","metric":-1,"table-id":254}],
  "config":[{"destination":"0.0.0.0/0","next-hop-interface":"eno1","next-hop-address":"192.0.2.1","metric":-1,"table-id":254}]},
 "dns-resolver":{"running":{"server":["192.0.2.53"],"search":[]},"config":{"server":["192.0.2.53"],"search":[]}}}`
	wanted = `
interfaces:
- {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 192.0.2.77, prefix-length: 24}]}}
`
)

type disk struct{}

func (disk) Read(p string) ([]byte, error) { return os.ReadFile(p) }
func (disk) Write(p string, data []byte, mode fs.FileMode) error {
	return os.WriteFile(p, data, mode)
}
func (disk) Remove(p string) error { return os.RemoveAll(p) }

type fixture struct {
	t   *testing.T
	dir string
	*nmstatectl.Network
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	dir := t.TempDir()
	f := &fixture{t: t, dir: dir}
	f.put("nmstatectl", tool, 0o700)
	f.put("state", first, 0o600)
	f.put("next", strings.ReplaceAll(first, "192.0.2.10", "192.0.2.77"), 0o600)
	f.Network = nmstatectl.New(nmstatectl.Options{
		Runner: run.New(run.Options{}), Files: disk{}, StateDir: dir, Command: filepath.Join(dir, "nmstatectl"), Timeout: 20 * time.Second,
	})
	return f
}

func (f *fixture) put(name, text string, mode fs.FileMode) {
	f.t.Helper()
	require.NoError(f.t, os.WriteFile(filepath.Join(f.dir, name), []byte(text), mode))
}

func (f *fixture) get(name string) string {
	f.t.Helper()
	data, err := os.ReadFile(filepath.Join(f.dir, name))
	require.NoError(f.t, err)
	return string(data)
}

// calls lists what was asked of the tool, questions left out.
func (f *fixture) calls() []string {
	var out []string
	for line := range strings.Lines(f.get("calls")) {
		if !strings.HasPrefix(line, "show") {
			out = append(out, strings.TrimSpace(line))
		}
	}
	return out
}

func (f *fixture) settled() {
	f.t.Helper()
	require.NoFileExists(f.t, filepath.Join(f.dir, "nmstatectl-way-back.yaml"))
}

func want(t *testing.T) netstate.Document {
	t.Helper()
	d, err := netstate.Decode([]byte(wanted))
	require.NoError(t, err)
	return d
}

func TestObserve(t *testing.T) {
	got, err := newFixture(t).Observe(t.Context())
	require.NoError(t, err)
	require.Len(t, got.Interfaces, 1)
	require.Equal(t, netstate.TypeEthernet, got.Interfaces[0].Type)
	require.Empty(t, got.Interfaces[0].IPv6.Addresses, "link-local")
	gw, ok := netstate.DefaultGateway(got, netstate.IPv4, "eno1")
	require.True(t, ok)
	require.Equal(t, "192.0.2.1", gw.String())
	require.Equal(t, []string{"192.0.2.53"}, got.DNS.Running.Server)
}

func TestApplyCommits(t *testing.T) {
	f := newFixture(t)
	require.NoError(t, f.Apply(t.Context(), want(t), func(context.Context) error {
		require.FileExists(t, filepath.Join(f.dir, "open"))
		return nil
	}))
	require.Equal(t, []string{"apply --no-commit --timeout 20 -", "commit"}, f.calls())
	sent, err := netstate.Decode([]byte(f.get("document")))
	require.NoError(t, err)
	require.Equal(t, want(t), sent)
	f.settled()
}

func TestFailedProofRollsBack(t *testing.T) {
	f := newFixture(t)
	err := f.Apply(t.Context(), want(t), func(context.Context) error { return errors.New("gateway is silent") })
	require.ErrorContains(t, err, "gateway is silent; the old network is back")
	require.Equal(t, []string{"apply --no-commit --timeout 20 -", "rollback"}, f.calls())
	require.Equal(t, first, f.get("state"))
	f.settled()
}

func TestRefusalIsReported(t *testing.T) {
	f := newFixture(t)
	f.put("refuse", "", 0o600)
	require.ErrorContains(t, f.Apply(t.Context(), want(t), nil), "VerificationError")
	f.settled()
}

func TestWhatIsInPlaceIsLeftUntouched(t *testing.T) {
	f := newFixture(t)
	f.put("state", f.get("next"), 0o600)
	proved := false
	require.NoError(t, f.Apply(t.Context(), want(t), func(context.Context) error { proved = true; return nil }))
	require.True(t, proved)
	require.Empty(t, f.calls())
}

// The caller died in the window, and the checkpoint is gone with a power cut: the unproved
// network booted, and the way back on disk is all there is.
func TestRecoverAfterAPowerCut(t *testing.T) {
	f := newFixture(t)
	dead, die := context.WithCancel(t.Context())
	var back string
	require.Error(t, f.Apply(dead, want(t), func(context.Context) error {
		back = f.get("nmstatectl-way-back.yaml")
		die()
		return dead.Err()
	}))
	f.put("state", f.get("next"), 0o600)
	f.put("next", first, 0o600)
	f.put("nmstatectl-way-back.yaml", back, 0o600)
	require.NoError(t, f.Recover(t.Context()))
	require.Equal(t, first, f.get("state"))
	calls := f.calls()
	require.Equal(t, []string{"rollback", "apply -"}, calls[len(calls)-2:])
	require.Contains(t, f.get("document"), "192.0.2.10")
	f.settled()
	require.NoError(t, f.Recover(t.Context()), "nothing is left to recover")
}

func TestInvalidDocumentNeverReachesTheTool(t *testing.T) {
	f := newFixture(t)
	d := want(t)
	d.Interfaces[0].IPv4.Addresses[0].IP = "nonsense"
	require.ErrorContains(t, f.Apply(t.Context(), d, nil), "is not an IP address")
	require.NoFileExists(t, filepath.Join(f.dir, "calls"))
}
