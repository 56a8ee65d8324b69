//go:build lab

package scenario

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// crowd is how many links a node gets besides its own: half are bridges, half are ends of pods.
const crowd = 2000

// TestTwoThousandInterfaces has a node with very many links publish them, take a policy on, and come to rest. What its agent needs of
// memory is printed.
func TestTwoThousandInterfaces(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, _ := node(t, "scenario-crowd")
	p := policies{t, l, install(ctx, t, l, "nmstate")}
	p.published(ctx, "the first state", func(state string) bool { return strings.Contains(state, home.String()) })
	p.memory(ctx, "at first")

	p.links(ctx)
	last := fmt.Sprintf(`"swarm%d"`, crowd/2-1)
	p.published(ctx, "all bridges", func(state string) bool { return strings.Contains(state, last) })
	p.memory(ctx, "with the links published")

	in(ctx, t, l, "ip", "address", "add", "203.0.113.99/32", "dev", "swarm0")
	began := time.Now()
	p.published(ctx, "the changed link", func(state string) bool { return strings.Contains(state, "203.0.113.99") })
	t.Logf("the state follows %s after ip address add", time.Since(began).Round(time.Millisecond))

	began = time.Now()
	p.apply(ctx, bridge)
	p.policyIs(ctx, "storage", nmstatev1.PolicyAvailable)
	t.Logf("policy storage is Available %s after it was created", time.Since(began).Round(time.Millisecond))
	p.hasBridge(ctx)
	p.memory(ctx, "with a policy in force")
	p.rests(ctx)
}

// links makes them in one call, as a node's start would.
func (p policies) links(ctx context.Context) {
	p.t.Helper()
	var batch strings.Builder
	for i := range crowd / 2 {
		fmt.Fprintf(&batch, "link add swarm%d up type bridge\n", i)
	}
	for i := range crowd / 4 {
		fmt.Fprintf(&batch, "link add poda%d up type veth peer name podb%d\n", i, i)
	}
	result, err := p.lab.Machine.Exec(ctx, machine.Command{Argv: []string{"ip", "-batch", "-"}, Stdin: strings.NewReader(batch.String())})
	require.NoError(p.t, err)
	require.Zero(p.t, result.ExitCode, result.Stderr)
}

// memory prints what the agent of the node has in RAM, now and at most, and the time that it has computed.
func (p policies) memory(ctx context.Context, when string) {
	p.t.Helper()
	script := `pid=$(pgrep --full '^/usr/local/bin/lifecycle-agent node')
grep -E '^(VmHWM|VmRSS|RssAnon):' /proc/$pid/status; echo CPU: $(ps -o time= -p $pid)`
	p.t.Logf("the agent %s: %s", when, strings.Join(strings.Fields(in(ctx, p.t, p.lab, "sh", "-c", script)), " "))
}

// rests says that traffic, which moves counters alone, does not make the agent write.
func (p policies) rests(ctx context.Context) {
	p.t.Helper()
	version := func() string {
		state := &nmstatev1beta1.NodeNetworkState{}
		require.NoError(p.t, p.api.Get(ctx, client.ObjectKey{Name: "sno"}, state))
		return state.ResourceVersion
	}
	var settled string
	until(ctx, p.t, "two equal versions of the state, five seconds apart", func() bool {
		settled = version()
		in(ctx, p.t, p.lab, "ping", "-n", "-c", "5", "-W", "5", "192.0.2.1")
		return settled == version()
	})
	in(ctx, p.t, p.lab, "ping", "-n", "-c", "5", "-W", "5", "192.0.2.1")
	require.Equal(p.t, settled, version())
}
