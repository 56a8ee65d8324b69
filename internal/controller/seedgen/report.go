package seedgen

import (
	"context"
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/singleton"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// reportStatus writes the status that observation and outcome amount to, if it changed, and publishes events and metrics.
func (r *Reconciler) reportStatus(ctx context.Context, sg *lcav1.SeedGenerator, o observation, out outcome) error {
	if sg == nil {
		return nil // nothing to report on: events would be about an object that is gone
	}
	before := sg.DeepCopy()
	sg.Status = projectStatus(sg, o, out)
	if equality.Semantic.DeepEqual(before.Status, sg.Status) {
		return nil
	}
	if err := status.Patch(ctx, r.Client, before, sg); err != nil {
		return fmt.Errorf("report on seedgenerator: %w", err)
	}
	r.Metrics.measureChange(before.Status, sg.Status)
	r.publishChanges(ctx, before, sg, o)
	return nil
}

// projectStatus computes the whole status. It is the only place that does.
func projectStatus(sg *lcav1.SeedGenerator, o observation, out outcome) lcav1.SeedGeneratorStatus {
	s := sg.Status.DeepCopy()
	if out.foreign {
		l := status.NewConditions(s.Conditions, sg.Generation, o.now)
		l.Set(lcav1.ConditionSeedGenInProgress, metav1.ConditionTrue, lcav1.ReasonInProgress,
			fmt.Sprintf("Waiting until generation %s of a deleted SeedGenerator has ended (phase %s)",
				o.record.OperationID, o.record.Phase))
		l.Summarize(status.Reconciling, lcav1.ReasonInProgress, l.Message(lcav1.ConditionSeedGenInProgress))
		s.Conditions = l.Items
		return *s
	}
	if out.accepted != "" {
		started := apiTime(o.now)
		*s = lcav1.SeedGeneratorStatus{ObservedGeneration: sg.Generation, OperationID: out.accepted, StartedAt: &started}
	}
	if out.phase != "" {
		s.Phase = out.phase
	}
	if out.preflight != nil {
		s.Preflight = out.preflight
	}
	s.Step = stepOf(s.Phase, s.Step, o, out.message)
	s.History = historyFor(s.History, o, s.Phase)
	projectOperation(s, o)
	s.Conditions = conditionsFor(s.Conditions, sg.Generation, o, s.Phase, out.message)
	if hasEnded(s.Phase) && s.CompletedAt == nil {
		at := apiTime(o.now)
		s.CompletedAt = &at
	}
	return *s
}

// projectOperation fills in what record, journal and outcome say.
func projectOperation(s *lcav1.SeedGeneratorStatus, o observation) {
	if o.record == nil {
		return
	}
	s.Evidence, s.Preflight = o.evidence, o.record.Preflight
	if h := o.record.Hub; h != nil {
		s.Hub = &lcav1.SeedHubStatus{Server: h.Server, ManagedCluster: h.Cluster}
	}
	if image := o.outcome; image != nil {
		s.Image = imageStatus(*image)
	}
	if o.secrets != nil {
		s.Secrets = secretsStatus(o.secrets)
	}
	s.ImagerStep = imagerStep(o.progress.Create)
	if s.Phase == lcav1.SeedCompleted {
		s.ImagerStep = nil
	}
}

func imageStatus(o seed.Outcome) *lcav1.SeedImageStatus {
	image := &lcav1.SeedImageStatus{
		PullSpec: byDigest(o.Image, o.Digest), Digest: o.Digest, SizeBytes: o.Size, Signed: o.Signed, TagUnread: o.TagUnread,
	}
	for _, l := range o.Layers {
		image.Layers = append(image.Layers, lcav1.SeedImageLayer{Name: l.Content, Digest: l.Digest, SizeBytes: l.Size, Reused: l.Reused})
		if l.Reused {
			image.ReusedBytes += l.Size
		}
	}
	return image
}

func imagerStep(p flow.FlowProgress) *lcav1.StepStatus {
	if p.Step == "" {
		return nil
	}
	message := p.Title
	if p.Failure != "" {
		message = p.Failure
	}
	s := &lcav1.StepStatus{Name: p.Step, Index: int32(p.Index), Total: int32(p.Total), Message: status.Clip(message)}
	if !p.StepStarted.IsZero() {
		at := apiTime(p.StepStarted)
		s.StartTime = &at
	}
	return s
}

// phaseOrder lists every phase before the end.
func phaseOrder() []lcav1.SeedGeneratorPhase {
	return []lcav1.SeedGeneratorPhase{lcav1.SeedChecking, lcav1.SeedStabilizing, lcav1.SeedDetaching, lcav1.SeedPreparing,
		lcav1.SeedImaging, lcav1.SeedRestoring}
}

func hasEnded(p lcav1.SeedGeneratorPhase) bool {
	return p == lcav1.SeedCompleted || p == lcav1.SeedFailed
}

// stepOf is the place of the phase among all phases.
func stepOf(p lcav1.SeedGeneratorPhase, before *lcav1.StepStatus, o observation, message string) *lcav1.StepStatus {
	if hasEnded(p) || p == "" {
		return nil
	}
	s := &lcav1.StepStatus{
		Name: string(p), Index: int32(slices.Index(phaseOrder(), p) + 1), Total: int32(len(phaseOrder())), Message: status.Clip(message),
	}
	at := apiTime(o.now)
	switch {
	case o.record != nil:
		at = apiTime(o.record.Since)
	case before != nil && before.Name == s.Name:
		at = *before.StartTime
	}
	s.StartTime = &at
	return s
}

// historyFor adds the phases that have begun; each ends where the next begins, and all have ended when the generation has.
func historyFor(before []lcav1.PhaseHistory, o observation, p lcav1.SeedGeneratorPhase) []lcav1.PhaseHistory {
	h := slices.Clone(before)
	begun := []record.Milestone{{Phase: p, At: o.now}}
	if o.record != nil {
		begun = o.record.Phases
	}
	for _, m := range begun {
		if hasEnded(m.Phase) {
			closeLast(h, m.At)
			continue
		}
		if slices.ContainsFunc(h, func(e lcav1.PhaseHistory) bool { return e.Phase == string(m.Phase) }) {
			continue
		}
		closeLast(h, m.At)
		at := apiTime(m.At)
		h = append(h, lcav1.PhaseHistory{Phase: string(m.Phase), StartTime: &at})
	}
	return h
}

func closeLast(h []lcav1.PhaseHistory, at time.Time) {
	if n := len(h); n > 0 && h[n-1].CompletionTime == nil {
		t := apiTime(at)
		h[n-1].CompletionTime = &t
	}
}

// conditionsFor computes the conditions: NodeObserved and HubDetached first, and of those about the generation the newest last.
func conditionsFor(
	before []metav1.Condition, generation int64, o observation, p lcav1.SeedGeneratorPhase, message string,
) []metav1.Condition {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	l := status.NewConditions(slices.Clone(before), generation, o.now)
	if meta.FindStatusCondition(l.Items, lcav1.ConditionNodeObserved) != nil {
		singleton.SetObserved(l, "")
	}
	if o.record != nil {
		setHub(l, o.record)
	}
	if message == "" {
		message = l.Message(lcav1.ConditionSeedGenInProgress)
	}
	switch p {
	case lcav1.SeedCompleted:
		l.Set(lcav1.ConditionSeedGenInProgress, no, lcav1.ReasonCompleted, message)
		l.Set(lcav1.ConditionSeedGenCompleted, yes, lcav1.ReasonCompleted, message)
	case lcav1.SeedFailed:
		l.Set(lcav1.ConditionSeedGenInProgress, no, lcav1.ReasonFailed, message)
		l.Set(lcav1.ConditionSeedGenCompleted, no, lcav1.ReasonFailed, message)
	default:
		l.Drop(lcav1.ConditionSeedGenCompleted)
		l.Set(lcav1.ConditionSeedGenInProgress, yes, lcav1.ReasonInProgress, message)
	}
	summarizePhase(l, p, message)
	slices.SortStableFunc(l.Items, func(a, b metav1.Condition) int { return rankCondition(a) - rankCondition(b) })
	return l.Items
}

// summarizePhase repeats it for programs that know no kind. A hub that did not take the cluster back needs a person.
func summarizePhase(l *status.Conditions, p lcav1.SeedGeneratorPhase, message string) {
	hub := meta.FindStatusCondition(l.Items, lcav1.ConditionHubDetached)
	switch {
	case p == lcav1.SeedFailed:
		l.Summarize(status.Stalled, lcav1.ReasonFailed, message)
	case !hasEnded(p):
		l.Summarize(status.Reconciling, lcav1.ReasonInProgress, message)
	case hub != nil && hub.Reason == lcav1.ReasonNotReattached:
		l.Summarize(status.Stalled, hub.Reason, hub.Message)
	default:
		l.Summarize(status.Settled, "", "")
	}
}

func rankCondition(c metav1.Condition) int {
	switch c.Type {
	case lcav1.ConditionNodeObserved:
		return 0
	case lcav1.ConditionReconciling, lcav1.ConditionStalled:
		return 1
	case lcav1.ConditionHubDetached:
		return 2
	}
	return 3
}

// setHub sets HubDetached.
func setHub(l *status.Conditions, rec *record.Record) {
	const yes, no = metav1.ConditionTrue, metav1.ConditionFalse
	h := rec.Hub
	if h == nil {
		return
	}
	name := "ManagedCluster " + h.Cluster + " on the hub " + h.Server
	set := func(is metav1.ConditionStatus, reason, message string) {
		l.Set(lcav1.ConditionHubDetached, is, reason, message)
	}
	restoring := rec.Phase == lcav1.SeedRestoring || rec.Ended()
	switch {
	case h.GivenUp:
		set(yes, lcav1.ReasonNotReattached, name+" has to be restored by hand")
	case h.Reattached && h.Reimported:
		set(no, lcav1.ReasonReimported, name+" was created again by someone else")
	case h.Reattached:
		set(no, lcav1.ReasonReattached, name+" is restored and Available")
	case h.Reimported:
		set(no, lcav1.ReasonReimported, name+" was created again by someone else")
	case restoring && h.UID != "":
		set(yes, lcav1.ReasonReattaching, name+" is being restored")
	case h.Detached:
		set(yes, lcav1.ReasonDetached, name+" was deleted; it is restored when the image is made")
	default:
		set(no, lcav1.ReasonDetaching, name+" is being deleted")
	}
}

// byDigest replaces the tag of a pull specification.
func byDigest(image, digest string) string {
	for i := len(image) - 1; i >= 0 && image[i] != '/'; i-- {
		if image[i] == ':' {
			return image[:i] + "@" + digest
		}
	}
	return image + "@" + digest
}

// apiTime returns a time as the API keeps it: whole seconds.
func apiTime(t time.Time) metav1.Time { return metav1.NewTime(t.Truncate(time.Second)) }
