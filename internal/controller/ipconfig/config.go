package ipconfig

import (
	"context"
	"fmt"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// config carries the change on, from wherever it stands.
func (r *Reconciler) config(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) (outcome, error) {
	switch state {
	case ipconfig.StatePreparing:
		return r.prepare(ctx, ipc, o)
	case ipconfig.StateFinishing, ipconfig.StateFinishingForGood:
		return r.finish(ctx, ipc, o, state), nil
	case ipconfig.StateConfigFailed:
		return outcome{state: state, message: o.whyFailed(), again: atRest}, nil
	case ipconfig.StateFinishFailed, ipconfig.StateFinishFailedForGood:
		why := howItEnded(host.UnitIPConfiguration, o.units[host.UnitIPConfiguration], o.progress.PostPivot.Failure)
		return outcome{state: state, message: "ip-config post-pivot failed. error: " + why + o.wayBackGone(), again: atRest}, nil
	default:
		return outcome{state: state, again: atRest}, nil
	}
}

// prepare is Config in the old stateroot: check the request, hand it to lca-cli, look on.
func (r *Reconciler) prepare(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, error) {
	if o.request != nil {
		return r.lookOn(ctx, o), nil
	}
	if o.unreadable != "" {
		return failed("ip-config pre-pivot failed. error: " + o.unreadable), nil
	}
	if lost, err := r.requestLost(ipc); lost || err != nil {
		return failed(fmt.Sprintf("ip-config pre-pivot failed. error: the request of operation %s is gone from %s",
			ipc.Status.OperationID, host.Workspace)), err
	}
	if out, blocked, err := r.gate(ctx, o); blocked || err != nil {
		return preparing(msgConfig + "; waiting: " + out.message), err
	}
	switch {
	case o.blind != "":
		return preparing(msgStabilizing + o.blind), nil
	case len(inSync(ipc, o)) == 0:
		return outcome{state: ipconfig.StateConfiguredForGood, message: msgNothingToDo, again: atRest}, nil
	}
	facts, err := r.facts(ctx, ipc, o)
	if err != nil {
		return outcome{}, err
	}
	return r.begin(ctx, ipc, o, facts), nil
}

// begin hands an accepted request over once the cluster is healthy. The disk is measured and the link is asked
// last, because that takes the longest.
func (r *Reconciler) begin(ctx context.Context, ipc *lcav1.IPConfig, o observation, facts ipconfig.Facts) outcome {
	checks := ipconfig.Validate(ipc.Spec, facts)
	if refusal := ipconfig.Refusal(checks); refusal != nil {
		return refused(checks, refusal)
	}
	out := preparing(msgConfig)
	out.preflight = checks
	if problem := r.unhealthy(ctx, ipc, lcav1.SkipPreConfigurationHealthChecksAnnotation); problem != "" {
		out.message = msgStabilizing + problem
		return out
	}
	fresh := ipconfig.StaterootName(ipc.Status.OperationID)
	if err := r.surveyor().Measure(ctx, ipc.Spec, o.booted.Stateroot, fresh, &facts); err != nil {
		out.message = "The disk could not be measured, trying again: " + err.Error()
		return out
	}
	out.preflight = ipconfig.Validate(ipc.Spec, facts)
	if refusal := ipconfig.Refusal(out.preflight); refusal != nil {
		return refused(out.preflight, refusal)
	}
	if err := r.handOver(ctx, ipc, o); err != nil {
		out.message = "The node did not take the request, trying again: " + err.Error()
		return out
	}
	out.again, out.plan = whileRunning, r.planOf(ipc, o, facts)
	return out
}

func refused(checks []lcav1.PreflightCheck, refusal error) outcome {
	out := failed("config validation failed: " + refusal.Error())
	out.preflight = checks
	return out
}

func (r *Reconciler) surveyor() ipconfig.Surveyor {
	return ipconfig.Surveyor{
		Files: r.Node.Files, Disk: r.Node.Disk, Deployments: r.Node.Deployments, Prober: r.Node.Prober, Now: r.Now,
	}
}

// planOf sums up what lca-cli is going to do, for people; lca-cli works it out for itself.
func (r *Reconciler) planOf(ipc *lcav1.IPConfig, o observation, facts ipconfig.Facts) *lcav1.PlanSummary {
	plan := &lcav1.PlanSummary{
		Stateroot: ipconfig.StaterootName(ipc.Status.OperationID), DiskBytes: facts.Need.Bytes,
		ExpectedOutageSeconds: int64(ipconfig.LastOutage(r.Node.Files).Seconds()),
	}
	request := ipconfig.BuildRequest(ipc.Status.OperationID, o.booted.Stateroot, ipc.Spec, o.current)
	if doc, err := ipconfig.RenderNetwork(request, o.uplink); err == nil {
		if text, err := doc.Encode(); err == nil {
			plan.NMState = string(text)
		}
	}
	return plan
}

func preparing(message string) outcome {
	return outcome{state: ipconfig.StatePreparing, message: message, again: whileWaiting}
}

func failed(message string) outcome {
	return outcome{state: ipconfig.StateConfigFailed, message: message, again: atRest}
}

// requestLost says that lca-cli has worked on the operation of which the request is gone.
func (r *Reconciler) requestLost(ipc *lcav1.IPConfig) (bool, error) {
	if ipc.Status.OperationID == "" {
		return false, nil
	}
	entries, err := ipconfig.ReadEntries(r.Node.Files, ipc.Status.OperationID)
	return len(entries) > 0, err
}

// facts gathers what validation needs beyond the observation.
func (r *Reconciler) facts(ctx context.Context, ipc *lcav1.IPConfig, o observation) (ipconfig.Facts, error) {
	dnsmasq, err := cluster.HasDnsmasqMachineConfig(ctx, r.Reader)
	if err != nil {
		return ipconfig.Facts{}, err
	}
	settings, err := cluster.ReadNetworkSettings(ctx, r.Reader)
	if err != nil {
		return ipconfig.Facts{}, err
	}
	f := ipconfig.Facts{
		Current: o.current, ControlPlaneNodes: 1, DnsmasqMachineConfig: dnsmasq,
		ClusterNetworks: o.installConfig.ClusterNetworks, ServiceNetworks: o.installConfig.ServiceNetworks,
		JoinNetworks: settings.InternalNetworks, Proxy: ipconfig.Proxy(settings.Proxy),
		LeftoverStateroots: o.ours, RecertImage: r.recertImage(ipc),
	}
	if o.topology != nil {
		f.ControlPlaneNodes, f.OtherNodes = o.topology.ControlPlane, o.topology.Workers
	}
	r.surveyor().Look(ctx, o.booted.Stateroot, &f)
	return f, nil
}

// lookOn follows a pre-pivot that was handed over, and starts it (again) where it does
// not run though it has not ended: the runner knows from the journal how to go on.
func (r *Reconciler) lookOn(ctx context.Context, o observation) outcome {
	unit := o.units[host.UnitPrePivot]
	out := preparing(trouble(host.UnitPrePivot, unit, o.progress.PrePivot))
	out.again = whileRunning
	if unit.Running() {
		return out
	}
	if o.busy != nil {
		out.message += "; waiting: " + (&host.BusyError{Holder: *o.busy}).Error()
	}
	if err := r.again(ctx, o, &r.preparing, host.UnitPrePivot, "pre-pivot"); err != nil {
		out.message = "The node did not take the request, trying again: " + err.Error()
	}
	return out
}

// trouble says that a flow is under way, and what it is struggling with.
func trouble(name string, unit host.UnitState, p ipconfig.FlowProgress) string {
	switch {
	case p.Failure != "":
		return msgConfig + "; it is tried again or taken back after a failure: " + p.Failure
	case unit.Sub == "auto-restart":
		return msgConfig + "; " + howItEnded(name, unit, "") + "; it is started again"
	}
	return msgConfig
}

// whyFailed tells why the node runs its old network; empty where status knows and the node does not.
func (o observation) whyFailed() string {
	switch {
	case o.request == nil:
		return ""
	case !o.inOld():
		return fmt.Sprintf("the node runs stateroot %s, which operation %s does not know", o.booted.Stateroot, o.request.OperationID)
	case o.cameBack() && o.progress.Automatic():
		return o.progress.Cause
	case o.cameBack():
		return msgUncontrolled
	}
	return "ip-config pre-pivot failed. error: " +
		howItEnded(host.UnitPrePivot, o.units[host.UnitPrePivot], o.progress.PrePivot.Failure)
}
