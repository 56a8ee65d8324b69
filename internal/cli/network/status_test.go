package network_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// A program that was removed in the middle of a change leaves a checkpoint: it is shown with its time, and a person settles it.
func TestACheckpointOfAnotherProgramIsShownAndSettled(t *testing.T) {
	c := newConsole(t)
	require.Equal(t, "no change of the network waits for a commit\n", c.must("", "status"))
	const id = "/org/freedesktop/NetworkManager/Checkpoint/1"
	hold := func() {
		c.node.Hold(host.NetworkTrial{ID: id, Program: "nmstatectl (process 46)", Began: c.clock.now.Add(-time.Minute), Ends: c.clock.now.Add(7 * time.Minute)})
	}
	hold()
	out := c.must("", "status")
	require.Contains(t, out, "nmstatectl (process 46) has the network on trial since ")
	require.Contains(t, out, "7m0s from now")
	require.Contains(t, out, "'lca-cli network rollback "+id+"'")
	_, err := c.run(mtu(c.nic()), "apply", "--no-probe", "DOC")
	require.ErrorIs(t, err, host.ErrNetworkUnavailable)
	var s cli.Status
	require.NoError(t, json.Unmarshal([]byte(c.must("", "status", "-o", "json")), &s))
	require.Equal(t, 420, *s.Trials[0].Left)
	require.Equal(t, id, s.Trials[0].ID)

	_, err = c.run("", "rollback")
	require.ErrorIs(t, err, host.ErrNoNetworkPending, "what another program has on trial is settled by its name alone")
	held, err := c.node.Lock().Acquire(t.Context(), host.Holder{Operation: "network-enact", Program: "lca-cli"})
	require.NoError(t, err)
	for _, verb := range []string{"rollback", "commit"} { // an enactment holds the node, and waits for the checkpoint
		c.must("", verb, id)
		require.Equal(t, "no change of the network waits for a commit\n", c.must("", "status"))
		hold()
	}
	held()
	c.must("", "commit", id)
	c.must(mtu(c.nic()), "apply", "--no-probe", "--no-commit", "DOC")
	require.Contains(t, c.must("", "status"), "a change waits for 'lca-cli network commit'")
	c.must("", "rollback", "/any/name/as/nmstatectl/prints/it")
	require.Equal(t, "no change of the network waits for a commit\n", c.must("", "status"))
}
