package change_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
)

// ask does what the operator does when stage Config is accepted.
func (w *world) ask(ctx context.Context, to, from site) error {
	if err := w.request(ctx, to, from); err != nil {
		return err
	}
	return w.launch(ctx, ipconfig.UnitPrePivot, "ip-config", "pre-pivot")
}

// request writes the files of an operation.
func (w *world) request(ctx context.Context, to, from site) error {
	spec := lcav1.IPConfigSpec{
		IPv4:       &lcav1.IPv4Config{Address: to.address, MachineNetwork: to.network, Gateway: to.gateway},
		DNSServers: []string{cmp.Or(w.dns, to.dns)}, Probes: w.probes,
	}
	if w.edit != nil {
		w.edit(&spec)
	}
	now := ipconfig.Current{IPv4: &lcav1.IPStatus{Address: from.address, MachineNetwork: from.network, Gateway: from.gateway}}
	return w.hand(ctx, spec, now)
}

// hand writes the files of an operation on a node as it was observed.
func (w *world) hand(ctx context.Context, spec lcav1.IPConfigSpec, now ipconfig.Current) error {
	all, err := w.node.Deployments().List(ctx)
	if err != nil {
		return err
	}
	booted, err := host.Booted(all)
	if err != nil {
		return err
	}
	w.ops++
	id := operation.NewID(w.clock.now.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
	req := ipconfig.BuildRequest(id, booted.Stateroot, spec, now)
	auto := ipconfig.AutoRollbackFor(&lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Annotations: w.annotations}, Spec: spec})
	return ipconfig.WriteRequest(w.node.Files(), req, w.post, auto)
}

func (w *world) launch(ctx context.Context, unit string, words ...string) error {
	_ = w.node.Transients().Forget(ctx, unit)
	return w.node.Transients().Launch(ctx, host.Transient{Unit: unit, Argv: append([]string{host.CLI}, words...), Restart: true})
}

// operator does, on a node that came to rest, what the operator does: it goes on with an
// unfinished pre-pivot, and asks for what the user wants next. It says whether it did anything.
func (w *world) operator(ctx context.Context) (bool, error) {
	op, err := w.open(ctx)
	if errors.Is(err, ipconfig.ErrNoRequest) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	progress, err := ipconfig.ReadProgress(w.node.Files(), op.Request.OperationID)
	if err != nil {
		return false, err
	}
	switch {
	case progress.Cleanup.Running():
		return true, w.launch(ctx, ipconfig.UnitCleanup, "ip-config", "cleanup")
	case op.InNewStateroot() && progress.Rollback.Running():
		return true, w.launch(ctx, ipconfig.UnitRollback, "ip-config", "rollback")
	case !op.InNewStateroot() && progress.PrePivot.Running() && !progress.PrePivot.Committed:
		return true, w.launch(ctx, ipconfig.UnitPrePivot, "ip-config", "pre-pivot")
	case op.InNewStateroot() && progress.PostPivot.Finished && w.then != nil:
		then := w.then
		w.then = nil
		return true, then(w)
	}
	return false, nil
}

// Live implements flowtest.World.
func (w *world) Live(bomb *flowtest.Bomb) error {
	ctx := context.Background()
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.killOnly)
	if err := w.node.Run(ctx, func(ctx context.Context) error { return w.ask(ctx, newSite, oldSite) }); err != nil {
		return err
	}
	return w.rest(ctx)
}

// arm makes the bomb cut the power, or kill lca-cli alone.
// rest lets node and operator go on until neither has anything to do.
func (w *world) rest(ctx context.Context) error {
	for range 20 {
		if err := w.node.Settle(ctx, maxBoots); err != nil {
			return err
		}
		busy := false
		err := w.node.Run(ctx, func(ctx context.Context) (err error) {
			busy, err = w.operator(ctx)
			return err
		})
		if err != nil && !errors.Is(err, hosttest.PowerCut) && !errors.Is(err, hosttest.Rebooted) {
			return err
		}
		if !busy && err == nil {
			return w.node.Settle(ctx, maxBoots)
		}
	}
	return errors.New("node and operator go round in circles")
}

// Again implements flowtest.World: clean up and change once more, to a third site.
func (w *world) Again() error {
	ctx := context.Background()
	w.bomb, w.then = nil, nil
	verdict, err := w.Judge()
	if err != nil {
		return err
	}
	from := oldSite
	if verdict == "new" {
		from = newSite
	}
	for _, what := range []func(context.Context) error{
		func(ctx context.Context) error { return w.launch(ctx, ipconfig.UnitCleanup, "ip-config", "cleanup") },
		func(ctx context.Context) error { return w.ask(ctx, farSite, from) },
	} {
		if err := w.node.Run(ctx, what); err != nil {
			return err
		}
		if err := w.rest(ctx); err != nil {
			return err
		}
	}
	d := w.node.Describe()
	if err := w.node.ClusterUp(); err != nil {
		return err
	}
	if got := d.Stateroots[d.Booted].Keystore; len(got) != 1 || got[0] != farSite.address {
		return fmt.Errorf("changed once more, the cluster in %s is at %v; failures: %v", d.Booted, got, w.node.Failures())
	}
	return nil
}
