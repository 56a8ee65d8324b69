package ipconfig

import (
	"cmp"
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// advanceConfig advances the change.
func (r *Reconciler) advanceConfig(ctx context.Context, ipc *lcav1.IPConfig, o observation, state ipconfig.State) (outcome, error) {
	switch state {
	case ipconfig.StatePreparing:
		return r.prepareChange(ctx, ipc, o)
	case ipconfig.StateFinishing, ipconfig.StateFinishingNoRollback:
		return r.finishChange(ctx, ipc, o, state), nil
	case ipconfig.StateConfigFailed:
		out := outcome{state: state, message: o.failureMessage(), again: atRest}
		if r.adoptJournal(o) {
			out.again = atOnce // it is evidence
		}
		return out, nil
	case ipconfig.StateFinishFailed, ipconfig.StateFinishFailedNoRollback:
		why := nodejob.HowItEnded(ipconfig.UnitIPConfiguration, o.units[ipconfig.UnitIPConfiguration], o.progress.PostPivot.Failure)
		message := appendBlocked("ip-config post-pivot failed. error: "+why, o.rollbackBlocked(), o.givenUp())
		return outcome{state: state, message: message, again: atRest}, nil
	default:
		out := outcome{state: state, again: atRest}
		if !meta.IsStatusConditionTrue(ipc.Status.Conditions, lcav1.ConditionConfigCompleted) {
			out.message = msgConfigured // it was lost; the record of the stateroot has it
		}
		r.confirmChange(o)
		return out, nil
	}
}

// confirmChange records in the stateroot that runs that the change is proved: an agent that has lost everything else finds it there. The
// change is complete also where it cannot be written; it is tried again.
func (r *Reconciler) confirmChange(o observation) {
	if !o.inNew() || o.isProved() {
		return
	}
	var back *operation.Deployed
	if d, ok := stateroot.BackBy(o.record, o.request.OldStateroot)(o.deployments); ok {
		back = operation.NameOf(d)
	}
	if err := operation.Confirm(r.Node.Files, o.booted, o.request.Made(back, o.now), o.now); err != nil {
		r.Log.Warn("the stateroot's record does not say that the change is proved; retrying", "op", o.request.OperationID, "error", err)
	}
}

// prepareChange carries out Config in the old stateroot: validate, hand the request to lca-cli, await the reboot.
func (r *Reconciler) prepareChange(ctx context.Context, ipc *lcav1.IPConfig, o observation) (outcome, error) {
	if o.request != nil {
		return r.awaitPrePivot(ctx, o), nil
	}
	if o.unreadable != "" {
		return failedOutcome("ip-config pre-pivot failed. error: " + o.unreadable), nil
	}
	if lost, err := r.requestLost(ipc); lost || err != nil {
		return failedOutcome(fmt.Sprintf("ip-config pre-pivot failed. error: the request of operation %s is missing from %s",
			ipc.Status.OperationID, host.Workspace)), err
	}
	if blocked, err := r.nodeTaken(ctx, o); err != nil {
		return outcome{}, err
	} else if blocked != nil {
		return preparingOutcome(msgConfig + "; waiting: " + blocked.String()), nil
	}
	switch {
	case o.unobserved != nil:
		return preparingOutcome(o.unobserved.String()), nil
	case len(ipconfig.InSync(ipc.Spec, o.current)) == 0:
		return outcome{state: ipconfig.StateConfiguredNoRollback, message: msgNothingToDo, again: atRest}, nil
	}
	facts, err := r.gatherFacts(ctx, ipc, o)
	if err != nil {
		return outcome{}, err
	}
	return r.handOverRequest(ctx, ipc, o, facts), nil
}

// handOverRequest hands an accepted request over once the cluster is healthy. Measuring the disk and probing the link take longest
// and come last.
func (r *Reconciler) handOverRequest(ctx context.Context, ipc *lcav1.IPConfig, o observation, facts preflight.Facts) outcome {
	checks := preflight.Validate(ipc.Spec, facts)
	if refusal := preflight.Refusal(checks); refusal != nil {
		return refusedOutcome(checks, refusal)
	}
	out := preparingOutcome(msgConfig)
	out.preflight = checks
	if blocked := r.blockUnhealthy(ctx, ipc, lcav1.SkipPreConfigurationHealthChecksAnnotation); blocked != nil {
		out.message = blocked.String()
		return out
	}
	request := requestOf(ipc, o)
	want, err := network.Render(request, o.uplink)
	if err != nil {
		return refusedOutcome(checks, err)
	}
	pair := stateroot.Pair{Old: request.OldStateroot, New: request.NewStateroot}
	if err := r.newSurveyor().Measure(ctx, ipc.Spec, pair, want, &facts); err != nil {
		out.message = "The disk could not be measured, retrying: " + err.Error()
		return out
	}
	out.preflight = preflight.Validate(ipc.Spec, facts)
	if refusal := preflight.Refusal(out.preflight); refusal != nil {
		return refusedOutcome(out.preflight, refusal)
	}
	if err := r.handOver(ctx, ipc, o); err != nil {
		out.message = msgNotStarted + err.Error()
		return out
	}
	out.again, out.plan = whileRunning, r.planOf(ipc, o, facts, want)
	return out
}

func refusedOutcome(checks []lcav1.PreflightCheck, refusal error) outcome {
	out := failedOutcome("config validation failed: " + refusal.Error())
	out.preflight = checks
	return out
}

func (r *Reconciler) newSurveyor() preflight.Surveyor {
	return preflight.Surveyor{
		Files: r.Node.Files, Disk: r.Node.Disk, Deployments: r.Node.Deployments, OneTimeBoot: r.Node.OneTimeBoot,
		Prober: r.Node.Prober, Kernel: r.Node.Kernel, Units: r.Node.Units, Now: r.Now,
	}
}

// requestOf is the request that would be handed to lca-cli.
func requestOf(ipc *lcav1.IPConfig, o observation) ipconfig.Request {
	return ipconfig.BuildRequest(ipc.Status.OperationID, o.booted.Stateroot, ipc.Spec, o.current)
}

// planOf summarizes for people what lca-cli is going to do; lca-cli does not read it.
func (r *Reconciler) planOf(ipc *lcav1.IPConfig, o observation, facts preflight.Facts, want netstate.Document) *lcav1.PlanSummary {
	plan := &lcav1.PlanSummary{
		Stateroot: ipconfig.StaterootName(ipc.Status.OperationID), DiskBytes: facts.Need.Bytes,
		ExpectedOutageSeconds: int64(change.LastOutage(r.Node.Files).Seconds()),
	}
	if text, err := want.Encode(); err == nil {
		plan.NMState = string(text)
	}
	plan.UplinkExtras = o.current.Carry(ipc.Spec).Texts()
	return plan
}

func preparingOutcome(message string) outcome {
	return outcome{state: ipconfig.StatePreparing, message: message, again: whileWaiting}
}

func failedOutcome(message string) outcome {
	return outcome{state: ipconfig.StateConfigFailed, message: message, again: atRest}
}

// requestLost says that the operation has a journal but no request.
func (r *Reconciler) requestLost(ipc *lcav1.IPConfig) (bool, error) {
	if ipc.Status.OperationID == "" {
		return false, nil
	}
	entries, err := operation.ReadEntries(r.Node.Files, ipc.Status.OperationID)
	if err != nil {
		return false, fmt.Errorf("read the journal of operation %s: %w", ipc.Status.OperationID, err)
	}
	return len(entries) > 0, nil
}

// gatherFacts gathers what validation needs beyond the observation.
func (r *Reconciler) gatherFacts(ctx context.Context, ipc *lcav1.IPConfig, o observation) (preflight.Facts, error) {
	dnsmasq, err := cluster.HasDnsmasqMachineConfig(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return preflight.Facts{}, fmt.Errorf("observe dnsmasq's configuration: %w", err)
	}
	settings, err := cluster.ReadNetworkSettings(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return preflight.Facts{}, fmt.Errorf("observe the cluster's network settings: %w", err)
	}
	encryption, err := cluster.EncryptionAtRest(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return preflight.Facts{}, fmt.Errorf("observe the encryption of etcd: %w", err)
	}
	f := preflight.Facts{
		Encryption: encryption,
		Current:    o.current, ControlPlaneNodes: 1, DnsmasqMachineConfig: dnsmasq,
		ClusterNetworks: o.installConfig.ClusterNetworks, ServiceNetworks: o.installConfig.ServiceNetworks,
		JoinNetworks: settings.InternalNetworks, Proxy: preflight.Proxy(settings.Proxy),
		LeftoverStateroots: o.unbooted, RecertImage: r.recertImage(ipc),
	}
	if o.topology != nil {
		f.ControlPlaneNodes, f.OtherNodes = o.topology.ControlPlane, o.topology.Workers
	}
	r.newSurveyor().Look(ctx, o.booted.Stateroot, &f)
	return f, nil
}

// awaitPrePivot follows a pre-pivot that was handed over, and restarts it where it does not run though it has not ended: it
// resumes from its journal.
func (r *Reconciler) awaitPrePivot(ctx context.Context, o observation) outcome {
	unit := o.units[ipconfig.UnitPrePivot]
	out := preparingOutcome(flowMessage(ipconfig.UnitPrePivot, unit, o.progress.PrePivot))
	out.again = whileRunning
	if unit.Running() {
		return out
	}
	if o.holder != nil {
		out.message += "; waiting: " + lockHeld(o.holder).String()
	}
	if err := r.retryJob(ctx, o, &r.preparing, cliJob(ipconfig.UnitPrePivot, "pre-pivot")); err != nil {
		out.message = msgNotStarted + err.Error()
	}
	return out
}

// flowMessage says that a flow is in progress, and what failed in it so far.
func flowMessage(name string, unit host.UnitState, p flow.FlowProgress) string {
	switch {
	case p.Failure != "":
		return msgConfig + "; retrying or undoing after a failure: " + p.Failure
	case unit.Sub == "auto-restart":
		return msgConfig + "; " + nodejob.HowItEnded(name, unit, "") + "; systemd restarts it"
	}
	return msgConfig
}

// adoptJournal keeps what the new system has journaled, where it came to no rollback that would have handed it back.
func (r *Reconciler) adoptJournal(o observation) (adopted bool) {
	if o.unproved == "" {
		return false
	}
	adopted, err := stateroot.AdoptJournal(r.Node.Files, o.request.OperationID, o.request.NewStateroot)
	if err != nil {
		r.Log.Warn("the journal of the new system could not be kept", "op", o.request.OperationID, "error", err)
	}
	return adopted
}

// failureMessage says why the node runs its old network; empty where only status knows.
func (o observation) failureMessage() string {
	switch {
	case o.request == nil:
		return ""
	case !o.inOld():
		return fmt.Sprintf("the node runs stateroot %s, which is not part of operation %s", o.booted.Stateroot, o.request.OperationID)
	case o.hasReturned() && o.progress.Automatic():
		return o.progress.Cause
	case o.hasReturned() && o.lastResort:
		return msgLastResort + o.request.NewStateroot + "; see " + ipconfig.LastResortLog + o.waitedFor()
	case o.unproved != "":
		return o.unproved + o.waitedFor() + "; its logs are below " + host.InVar(o.request.NewStateroot, "/var/log/journal")
	case o.hasReturned():
		return msgUncontrolled + host.InVar(o.request.NewStateroot, "/var/log/journal") + o.waitedFor()
	}
	return "ip-config pre-pivot failed. error: " +
		nodejob.HowItEnded(ipconfig.UnitPrePivot, o.units[ipconfig.UnitPrePivot], o.progress.PrePivot.Failure)
}

// waitedFor says what the new system last waited for, unless its journal says that the step was done.
func (o observation) waitedFor() string {
	post := o.progress.PostPivot
	if o.waiting == nil || post.Begun && (post.Finished || post.Step != o.waiting.Step) {
		return ""
	}
	return "; step " + o.waiting.Step + " waited for: " + o.waiting.Missing
}

// handOver gives the request to lca-cli. It is idempotent. The request is written last of the files and from then on is
// the operation.
func (r *Reconciler) handOver(ctx context.Context, ipc *lcav1.IPConfig, o observation) error {
	if err := r.InstallCLI.Install(); err != nil {
		return fmt.Errorf("install lca-cli: %w", err)
	}
	if err := r.exportObject(ipc); err != nil {
		return err
	}
	request := requestOf(ipc, o)
	request.PullSecretRefName = ipc.Annotations[lcav1.RecertPullSecretAnnotation]
	post := ipconfig.PostPivotConfig{RecertImage: r.recertImage(ipc)}
	if err := ipconfig.WriteRequest(r.Node.Files, request, post, ipconfig.AutoRollbackFor(ipc)); err != nil {
		return fmt.Errorf("write the request of operation %s: %w", request.OperationID, err)
	}
	r.preparing.Reset()
	return r.retryJob(ctx, o, &r.preparing, cliJob(ipconfig.UnitPrePivot, "pre-pivot"))
}

// recertImage is the image of recert that the annotation selects; present but empty it selects the one that the operator
// was shipped with. Without the annotation recert runs in lca-cli and needs none.
func (r *Reconciler) recertImage(ipc *lcav1.IPConfig) string {
	image, asked := ipc.Annotations[lcav1.RecertImageAnnotation]
	if asked && image == "" {
		return cmp.Or(r.RecertImage, "(none named)")
	}
	return image
}
