package seedgen

import (
	"context"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// How long until the next reconciliation.
const (
	onward       = 50 * time.Millisecond // a phase has begun and is written
	whileRunning = 2 * time.Second
	whileHub     = 10 * time.Second
	whileWaiting = 20 * time.Second
)

// outcome is the result of one reconciliation; report.go turns it into status.
type outcome struct {
	phase lcav1.SeedGeneratorPhase
	// message goes into the condition of the phase; empty keeps what it says.
	message string
	// accepted is the id of a generation that was just accepted.
	accepted  string
	preflight []lcav1.PreflightCheck
	// foreign: the generation under way is that of a SeedGenerator that was deleted.
	foreign bool
	again   time.Duration
}

// Messages of conditions, the field's where it has them.
const (
	msgChecking    = "Starting seed generation"
	msgStabilizing = "Waiting for system to stabilize: "
	msgDetaching   = "Detaching the cluster from its hub"
	msgPreparing   = "Preparing for seed generation"
	msgPulling     = "Pulling recert image"
	msgLaunching   = "Launching imager container"
	msgImaging     = "Generating the seed image"
	msgFinalizing  = "Finalizing seed generation"
	msgCompleted   = "Seed Generation completed"
	msgFailed      = "Seed generation failed: "
	msgTryAgain    = "; to try again, annotate seedgenerator seedimage with " + lcav1.TriggerReconcileAnnotation + " or change its spec"
	msgCancelled   = "the SeedGenerator was deleted"
)

// phase is one row of the table of phases under a record.
type phase struct {
	name lcav1.SeedGeneratorPhase
	// does takes the next step. It changes the record and has it written.
	does func(*Reconciler, context.Context, *lcav1.SeedGenerator, *observation) (outcome, error)
	// abort: a failure that is noted while the phase runs ends it at once; else the phase sees to its end itself.
	abort bool
}

// changingPhases lists every phase in which something is changed, in order.
func changingPhases() []phase {
	return []phase{
		{lcav1.SeedDetaching, (*Reconciler).detachCluster, true},
		{lcav1.SeedPreparing, (*Reconciler).prepareRequest, true},
		{lcav1.SeedImaging, (*Reconciler).followImage, false},
		{lcav1.SeedRestoring, (*Reconciler).restoreCluster, false},
		{lcav1.SeedCompleted, (*Reconciler).endGeneration, false},
		{lcav1.SeedFailed, (*Reconciler).endGeneration, false},
	}
}

// decideStep takes the next step.
func (r *Reconciler) decideStep(ctx context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	switch {
	case o.unreadable != "":
		return r.forgetUnreadable(ctx, sg, o)
	case o.record == nil:
		return r.beginGeneration(ctx, sg, o)
	}
	mine := sg != nil && string(sg.UID) == o.record.UID
	if !mine {
		if err := r.cancelGeneration(o); err != nil {
			return outcome{}, err
		}
	} else if err := r.consumeAnnotation(ctx, sg, lcav1.TriggerReconcileAnnotation); err != nil {
		return outcome{}, err
	}
	out, err := r.advancePhase(ctx, sg, o)
	out.foreign = !mine
	return out, err
}

// advancePhase takes the next step of the generation under way.
func (r *Reconciler) advancePhase(ctx context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	for _, p := range changingPhases() {
		if p.name != o.record.Phase {
			continue
		}
		if p.abort && o.record.Failure != "" {
			return r.enterPhase(o, lcav1.SeedRestoring, msgFinalizing)
		}
		return p.does(r, ctx, sg, o)
	}
	return r.failGeneration(o, "the record has the unknown phase "+string(o.record.Phase))
}

// enterPhase begins a phase.
func (r *Reconciler) enterPhase(o *observation, name lcav1.SeedGeneratorPhase, message string) (outcome, error) {
	o.record.Enter(name, o.now)
	return outcome{phase: name, message: message, again: onward}, record.Write(r.Node.Files, o.record)
}

// failGeneration ends the generation: what was taken away is brought back first.
func (r *Reconciler) failGeneration(o *observation, why string) (outcome, error) {
	if o.record.Failure == "" {
		o.record.Failure = why
	}
	return r.enterPhase(o, lcav1.SeedRestoring, msgFinalizing)
}

// stayInPhase asks for another reconciliation of the same phase.
func (o *observation) stayInPhase(message string, again time.Duration) outcome {
	return outcome{phase: o.record.Phase, message: message, again: again}
}

// cancelGeneration notes that the SeedGenerator was deleted. A generation that has published its image is brought to its end.
func (r *Reconciler) cancelGeneration(o *observation) error {
	if o.record.Cancelled || o.record.Ended() {
		return nil
	}
	o.record.Cancelled = true
	if o.record.Failure == "" && !o.progress.Published() {
		o.record.Failure = msgCancelled
	}
	return record.Write(r.Node.Files, o.record)
}

// endGeneration forgets a generation once status says how it ended.
func (r *Reconciler) endGeneration(_ context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	rec := o.record
	reported := sg != nil && sg.Status.OperationID == rec.OperationID && sg.Status.Phase == rec.Phase
	if reported || rec.Cancelled {
		return o.stayInPhase("", onward), record.Remove(r.Node.Files)
	}
	return o.stayInPhase(endMessage(rec), onward), nil
}

// concludeGeneration ends a generation: the record says so before status does.
func (r *Reconciler) concludeGeneration(o *observation, as lcav1.SeedGeneratorPhase) (outcome, error) {
	out, err := r.enterPhase(o, as, "")
	out.message = endMessage(o.record)
	return out, err
}

func endMessage(rec *record.Record) string {
	message := msgCompleted
	if rec.Phase == lcav1.SeedFailed {
		message = msgFailed + rec.Failure + msgTryAgain
	}
	for _, w := range rec.Warnings {
		message += "; warning: " + w
	}
	return message
}

// forgetUnreadable reports a record that cannot be read, and removes it when a person says that nothing is left to be restored.
func (r *Reconciler) forgetUnreadable(ctx context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	if sg == nil {
		r.Log.Warn("the record of a seed generation cannot be read", "error", o.unreadable)
		return outcome{again: whileWaiting}, nil
	}
	if _, told := sg.Annotations[lcav1.ManualCleanupAnnotation]; told {
		if err := record.Remove(r.Node.Files); err != nil {
			return outcome{}, err
		}
		return outcome{phase: lcav1.SeedFailed, message: msgFailed + o.unreadable + msgTryAgain, again: onward},
			r.consumeAnnotation(ctx, sg, lcav1.ManualCleanupAnnotation)
	}
	return outcome{phase: lcav1.SeedFailed, again: whileWaiting, message: msgFailed + o.unreadable +
		"; restore what its files beside it hold, then annotate seedgenerator seedimage with " + lcav1.ManualCleanupAnnotation}, nil
}
