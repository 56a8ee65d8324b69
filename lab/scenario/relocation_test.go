//go:build lab

package scenario

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
	"github.com/lifecycle-agent/lifecycle-agent/lab/stick"
)

// siteConfig is what an integrator hands to the technician of the second site.
func siteConfig(gateway string) string {
	return fmt.Sprintf(`apiVersion: relocation.lca.openshift.io/v1
kind: SiteConfig
metadata: {name: store-17}
clusterName: store-17
baseDomain: example.com
hostname: store-17
network:
  interfaces:
  - name: uplink0
    type: ethernet
    state: up
    ipv4:
      enabled: true
      dhcp: false
      address:
      - {ip: %[1]s, prefix-length: 24}
  routes:
    config:
    - {destination: 0.0.0.0/0, next-hop-interface: uplink0, next-hop-address: %[2]s}
machineNetworks: [%[3]s]
nodeIPs: [%[1]s]
dnsServers: [%[4]s]
`, away, gateway, awayNetwork, network.Away().DNS.Addr())
}

// relocated is a node on its way from the factory to its site.
type relocated struct {
	t       *testing.T
	lab     *lab.Lab
	ctx     context.Context // of the scenario
	plugged *stick.Stick
}

// TestRelocation ships a node from its factory to a site whose network and names are others: the first stick has a gateway that does
// not answer, the second is right. The node goes back to its factory state, is set up again from its console, and stays.
func TestRelocation(t *testing.T) {
	ctx, l := nodeWithSticks(t, "scenario-relocation")
	r := &relocated{t: t, lab: l}
	r.ship(ctx)
	gateway := network.Away().Gateway.Addr().String()

	r.insert(ctx, siteConfig("198.51.100.254"))
	r.reports(ctx, "a refusal for the dead gateway", func(s relocationStatus) bool { return s.Code == "L23" })
	require.True(t, r.waits(ctx), "the node waits for another configuration")
	r.ctx = ctx
	r.onConsole("(The site's router does not answer)")
	began := time.Now()
	r.insert(ctx, siteConfig(gateway))
	r.atHome(ctx)
	t.Logf("healthy on its site %s after the stick was plugged in", time.Since(began).Round(time.Second))
	r.onConsole("(The node is at home on its site)")

	leave(ctx, t, l, "lca-cli", "relocation", "rollback")
	r.reports(ctx, "the factory state", func(relocationStatus) bool { return r.stateroot(ctx) == "rhcos" && r.waits(ctx) })
	r.types(ctx, siteConfig(gateway))
	r.atHome(ctx)
	in(ctx, t, l, "lca-cli", "relocation", "commit")
	require.Regexp(t, `^rhcos_site-\S+$`, in(ctx, t, l, "ls", "/ostree/deploy"), "the factory state is gone")
	require.True(t, drive.Look(ctx, l, away).API)
}

// ship prepares the node, and switches it on where nothing of the factory's network is.
func (r *relocated) ship(ctx context.Context, flags ...string) {
	r.t.Helper()
	in(ctx, r.t, r.lab, append([]string{"lca-cli", "relocation", "prepare"}, flags...)...)
	r.t.Log(in(ctx, r.t, r.lab, "lca-cli", "relocation", "status"))
	require.NoError(r.t, r.lab.Machine.Stop(ctx))
	require.NoError(r.t, r.lab.Net.Drop(ctx, network.Home().Gateway))
	require.NoError(r.t, r.lab.Net.Drop(ctx, network.Home().DNS))
	require.NoError(r.t, r.lab.Machine.Start(ctx))
	until(ctx, r.t, "a node that waits for its site", func() bool { return r.waits(ctx) })
	require.False(r.t, says(ctx, r.lab, "systemctl is-active --quiet kubelet"), "the cluster does not start before its site is known")
}

// insert plugs a stick with a configuration in, in place of any other.
func (r *relocated) insert(ctx context.Context, text string) {
	r.t.Helper()
	if r.plugged != nil {
		require.NoError(r.t, r.plugged.Pull(ctx))
	}
	s, err := stick.Make(ctx, r.t.TempDir(), "site-config", "site-config.yaml", []byte(text))
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, s.Pull(context.Background())) })
	require.NoError(r.t, s.Plug(ctx, r.lab.Machine))
	r.plugged = s
}

// types gives the node a configuration on its console.
func (r *relocated) types(ctx context.Context, text string) {
	r.t.Helper()
	command := machine.Command{Argv: []string{"lca-cli", "relocation", "apply", "-f", "-", "--no-wait"}, Stdin: strings.NewReader(text)}
	result, err := r.lab.Machine.Exec(ctx, command)
	require.NoError(r.t, err)
	require.Zero(r.t, result.ExitCode, "%s%s", result.Stdout, result.Stderr)
}

func (r *relocated) waits(ctx context.Context) bool {
	return says(ctx, r.lab, "systemctl is-active --quiet lca-relocation.service")
}

func (r *relocated) stateroot(ctx context.Context) string {
	out, err := machine.Output(ctx, r.lab.Machine, "sh", "-c", "sed 's,.*ostree=/ostree/boot[^/]*/\\([^/]*\\)/.*,\\1,' /proc/cmdline")
	if err != nil {
		return err.Error()
	}
	return out
}

// atHome waits until the node has its site's identity and says so.
func (r *relocated) atHome(ctx context.Context) {
	r.t.Helper()
	r.reports(ctx, "a node that is at home", func(s relocationStatus) bool { return s.Result == "at-home" })
	require.True(r.t, drive.Look(ctx, r.lab, away).API)
	require.False(r.t, drive.Look(ctx, r.lab, home).Ping)
	require.Equal(r.t, "store-17", in(ctx, r.t, r.lab, "hostname"))
}

// relocationStatus is what lca-cli says of the relocation.
type relocationStatus struct {
	Source, Result, Code, Failure, Where string
}

// reports waits for a status, and logs each that is new.
func (r *relocated) reports(ctx context.Context, what string, reached func(relocationStatus) bool) {
	r.t.Helper()
	said := ""
	until(ctx, r.t, what, func() bool {
		text, err := machine.Output(ctx, r.lab.Machine, "lca-cli", "relocation", "status", "-o", "json")
		var s relocationStatus
		if err != nil || json.Unmarshal([]byte(text), &s) != nil {
			return false
		}
		if now := fmt.Sprintf("%+v", s); now != said {
			said = now
			r.t.Log(now)
		}
		return reached(s)
	})
}

// leave runs a command that ends with the boot of the node: its exit code goes down with the machine.
func leave(ctx context.Context, t *testing.T, l *lab.Lab, argv ...string) {
	t.Helper()
	before := in(ctx, t, l, "cat", "/proc/sys/kernel/random/boot_id")
	result, err := l.Machine.Exec(ctx, machine.Command{Argv: argv})
	t.Logf("%s: %v %s%s", strings.Join(argv, " "), err, result.Stdout, result.Stderr)
	until(ctx, t, "another boot", func() bool {
		now, err := machine.Output(ctx, l.Machine, "cat", "/proc/sys/kernel/random/boot_id")
		return err == nil && now != before
	})
}
