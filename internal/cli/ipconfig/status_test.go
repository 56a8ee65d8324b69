package ipconfig_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// TestStatusSaysThatTheNodeReboots: between the flip and the reboot the old stateroot runs, and was chosen by no one.
func TestStatusSaysThatTheNodeReboots(t *testing.T) {
	intent := flow.Entry{Kind: flow.KindIntent, Step: "reboot", Title: "Reboot into the new stateroot", Index: 2, Total: 2}
	failed := intent
	failed.Kind, failed.Error = flow.KindFailed, "no answer from systemd"
	for name, c := range map[string]struct {
		boot    string
		entries []flow.Entry
		want    string
		once    bool
	}{
		"the reboot is due":       {"", []flow.Entry{intent}, "the node reboots into stateroot " + ipconfig.StaterootName("op") + " now", false},
		"the reboot has failed":   {"", []flow.Entry{intent, failed}, "stateroot " + ipconfig.StaterootName("op") + " boots next; reboot the node to continue", false},
		"another boot, by a hand": {"earlier", []flow.Entry{intent}, "the old stateroot was booted without a rollback", false},
		"the reboot is due, into a system that boots once": {"", []flow.Entry{intent},
			"the node reboots into stateroot " + ipconfig.StaterootName("op") + " now", true},
		"the system that was to boot once is left": {"earlier", []flow.Entry{intent},
			"the new system did not prove itself before the node started again", true},
	} {
		t.Run(name, func(t *testing.T) {
			b := &byHand{t: t, node: hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})}
			r := ipconfig.Request{OperationID: "op", NewStateroot: ipconfig.StaterootName("op"), OldStateroot: "rhcos"}
			require.NoError(t, ipconfig.WriteRequest(b.node.Files(), r, ipconfig.PostPivotConfig{}, ipconfig.AutoRollback{}))
			_, err := b.node.Deployments().Clone(t.Context(), r.NewStateroot)
			require.NoError(t, err)
			begun := []flow.Entry{{Kind: flow.KindBegin, Total: 2}, {Kind: flow.KindCommitted}}
			if c.once {
				begun = append(begun, flow.Entry{Kind: flow.KindNote, Message: ipconfig.NoteBootsOnce})
			} else {
				require.NoError(t, b.node.Deployments().SetDefault(t.Context(), r.NewStateroot))
			}
			boot, err := b.node.Power().BootID(t.Context())
			require.NoError(t, err)
			if c.boot != "" {
				boot = c.boot
			}
			var lines strings.Builder
			for i, e := range append(begun, c.entries...) {
				e.Version, e.Seq, e.Operation, e.Flow, e.Stateroot = flow.SchemaVersion, i+1, "op", ipconfig.FlowPrePivot, "rhcos"
				e.Boot, e.Time = boot, time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
				line, err := json.Marshal(e)
				require.NoError(t, err)
				lines.Write(append(line, '\n'))
			}
			require.NoError(t, b.node.Files().Write(operation.JournalPath("op"), []byte(lines.String()), 0o600))
			require.NoError(t, b.run("status"))
			require.Contains(t, b.out.String(), c.want)
		})
	}
}
