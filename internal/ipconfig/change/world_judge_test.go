package change_test

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
)

// Judge implements flowtest.World.
func (w *world) Judge() (string, error) {
	d := w.node.Describe()
	if d.Default != d.Booted {
		return "", fmt.Errorf("%s runs but %s boots next", d.Booted, d.Default)
	}
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster in %s is down: %w", d.Booted, err)
	}
	verdict, want := "old", oldSite
	if d.Booted != oldStateroot {
		verdict, want = "new", newSite
	}
	state := d.Stateroots[d.Booted]
	for what, have := range map[string][]string{"profiles": state.Profiles, "keystore": state.Keystore, "dnsmasq": {state.DNSName}} {
		for _, a := range have {
			if prefix, err := netip.ParsePrefix(a); err == nil {
				a = prefix.Addr().String()
			}
			if a != want.address {
				return "", fmt.Errorf("%s of the %s stateroot %s: have %v, want %s", what, verdict, d.Booted, have, want.address)
			}
		}
	}
	if !slices.Contains(state.Enabled, host.UnitKubelet) {
		return "", fmt.Errorf("kubelet would not start at the next boot of %s", d.Booted)
	}
	if verdict == "new" {
		return verdict, w.over(state)
	}
	return verdict, nil
}

// over says whether a change that was kept has come to its end, with nobody left who would begin it anew.
func (w *world) over(state hosttest.StaterootState) error {
	op, err := w.open(context.Background())
	if errors.Is(err, ipconfig.ErrNoRequest) {
		return nil // cleaned up
	}
	if err != nil {
		return err
	}
	progress, err := ipconfig.ReadProgress(w.node.Files(), op.Request.OperationID)
	if err != nil {
		return err
	}
	if !progress.PostPivot.Finished {
		return fmt.Errorf("post-pivot of %s stands still: %+v", op.Request.OperationID, progress.PostPivot)
	}
	if slices.Contains(state.Enabled, ipconfig.UnitIPConfiguration) {
		return fmt.Errorf("%s is still enabled though all is done", ipconfig.UnitIPConfiguration)
	}
	return nil
}

func plansOf(t *testing.T) []flow.Plan {
	o := ipconfig.Request{OperationID: "x", NewStateroot: "n", OldStateroot: "o"}
	plans := []flow.Plan{
		(&change.PrePivot{Request: o}).Plan(), (&change.PostPivot{Request: o}).Plan(), (&change.Rollback{Request: o}).Plan(),
	}
	for _, p := range plans {
		require.NoError(t, p.Validate())
	}
	return plans
}
