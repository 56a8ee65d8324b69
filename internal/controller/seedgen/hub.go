package seedgen

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// detachCluster deletes the ManagedCluster, saved first, and waits until it and the hub's agents are gone.
func (r *Reconciler) detachCluster(ctx context.Context, _ *lcav1.SeedGenerator, o *observation) (outcome, error) {
	hub, mc, err := r.managedCluster(ctx, o.record)
	late := o.now.Sub(o.record.Since) >= hubPatience
	switch {
	case err != nil && late:
		return r.failGeneration(o, "the cluster could not be detached from its hub within 15 minutes: "+status.OneLine(err.Error()))
	case err != nil:
		return o.stayInPhase(msgDetaching+"; retrying: "+status.OneLine(err.Error()), whileHub), nil
	case mc == nil && o.record.Hub.UID == "":
		o.record.Hub = nil // it was deleted by someone else, and is not ours to restore
		return r.enterPhase(o, lcav1.SeedPreparing, msgPreparing)
	case mc == nil:
		return r.awaitAgentsGone(ctx, o, late)
	case o.record.Hub.UID == "":
		return r.saveManagedCluster(ctx, o, hub, mc)
	case string(mc.GetUID()) != o.record.Hub.UID:
		return r.endReimported(o)
	case mc.GetDeletionTimestamp() == nil:
		return r.deleteManagedCluster(ctx, o, hub, mc)
	case late:
		return r.failGeneration(o, fmt.Sprintf("ManagedCluster %s did not go within 15 minutes; its finalizers are %v: "+
			"repair what holds them on the hub", mc.GetName(), mc.GetFinalizers()))
	}
	return o.stayInPhase(fmt.Sprintf("%s: waiting until ManagedCluster %s is gone", msgDetaching, mc.GetName()), whileHub), nil
}

// managedCluster connects to the hub of the record and reads the cluster's object there; nil where there is none.
func (r *Reconciler) managedCluster(ctx context.Context, rec *record.Record) (client.Client, *unstructured.Unstructured, error) {
	kubeconfig, err := r.Node.Files.Read(record.HubFile)
	if err != nil {
		return nil, nil, fmt.Errorf("read the kubeconfig of the hub: %w", err)
	}
	hub, _, err := r.Hub(kubeconfig)
	if err != nil {
		return nil, nil, fmt.Errorf("connect to the hub: %w", err)
	}
	mc, err := cluster.GetManagedCluster(ctx, runtimeclient.NewReader(hub), rec.Hub.Cluster)
	return hub, mc, err
}

// saveManagedCluster saves what is lost with a ManagedCluster, and asks a last time who owns it.
func (r *Reconciler) saveManagedCluster(
	ctx context.Context, o *observation, hub client.Client, mc *unstructured.Unstructured,
) (outcome, error) {
	if owners := cluster.Owners(mc); len(owners) > 0 {
		return r.failGeneration(o, fmt.Sprintf("ManagedCluster %s now belongs to %v, which would create it again", mc.GetName(), owners))
	}
	if err := operation.WriteJSON(r.Node.Files, record.ManagedClusterFile, mc.Object); err != nil {
		return outcome{}, fmt.Errorf("save managedcluster %s: %w", mc.GetName(), err)
	}
	addons := &unstructured.Unstructured{}
	addons.SetGroupVersionKind(cluster.KlusterletAddonConfig())
	err := hub.Get(ctx, client.ObjectKey{Namespace: mc.GetName(), Name: mc.GetName()}, addons)
	switch {
	case err == nil:
		if err := operation.WriteJSON(r.Node.Files, record.AddonFile, addons.Object); err != nil {
			return outcome{}, fmt.Errorf("save klusterletaddonconfig %s: %w", mc.GetName(), err)
		}
	case !isMissing(err):
		return o.stayInPhase(msgDetaching+"; retrying: "+status.OneLine(err.Error()), whileHub), nil
	}
	o.record.Hub.UID = string(mc.GetUID())
	return r.enterPhase(o, lcav1.SeedDetaching, msgDetaching)
}

func (r *Reconciler) deleteManagedCluster(
	ctx context.Context, o *observation, hub client.Client, mc *unstructured.Unstructured,
) (outcome, error) {
	uid := types.UID(o.record.Hub.UID)
	err := hub.Delete(ctx, mc, client.PropagationPolicy(metav1.DeletePropagationForeground), client.Preconditions{UID: &uid})
	if err != nil && !apierrors.IsNotFound(err) && !apierrors.IsConflict(err) {
		why := fmt.Sprintf("%s; retrying: delete managedcluster %s: %s", msgDetaching, mc.GetName(), status.OneLine(err.Error()))
		return o.stayInPhase(why, whileHub), nil
	}
	return o.stayInPhase(msgDetaching, whileRunning), nil
}

// awaitAgentsGone waits until the hub's agents have left the cluster: one that runs would register it again.
func (r *Reconciler) awaitAgentsGone(ctx context.Context, o *observation, late bool) (outcome, error) {
	left, err := cluster.Klusterlets(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return outcome{}, fmt.Errorf("observe the hub's agents: %w", err)
	}
	if len(left) > 0 && late {
		return r.failGeneration(o, fmt.Sprintf("klusterlet %v is still on the cluster 15 minutes after ManagedCluster %s was deleted: "+
			"delete it with 'oc delete klusterlet --all'", left, o.record.Hub.Cluster))
	}
	if len(left) > 0 {
		return o.stayInPhase(fmt.Sprintf("%s: waiting until klusterlet %v is gone", msgDetaching, left), whileHub), nil
	}
	o.record.Hub.Detached = true
	return r.enterPhase(o, lcav1.SeedPreparing, msgPreparing)
}

// endReimported ends a generation whose cluster was imported again before its copy was made.
func (r *Reconciler) endReimported(o *observation) (outcome, error) {
	o.record.Hub.Reimported = true
	if o.record.Failure == "" {
		o.record.Failure = fmt.Sprintf("ManagedCluster %s was created again on the hub %s while the cluster was detached, and the hub "+
			"imports the cluster: find what created it (GitOps, another administrator) and stop it first",
			o.record.Hub.Cluster, o.record.Hub.Server)
	}
	return outcome{phase: o.record.Phase, message: msgFinalizing, again: onward}, record.Write(r.Node.Files, o.record)
}

// watchHub says whether the cluster is imported again before the copy is made. A hub that does not answer imports nothing.
func (r *Reconciler) watchHub(ctx context.Context, o *observation) bool {
	if o.record.Hub == nil || !o.record.Hub.Detached || o.isCaptured() {
		return false
	}
	_, mc, err := r.managedCluster(ctx, o.record)
	if err != nil {
		r.Log.Warn("the hub cannot be watched", "op", o.record.OperationID, "error", err)
		return false
	}
	return mc != nil
}

// reattachPatience is how long a restored cluster may take to become Available before a person is asked.
const reattachPatience = 30 * time.Minute

// reattachCluster gives the cluster back to its hub. It returns a message while it is not done.
func (r *Reconciler) reattachCluster(ctx context.Context, o *observation) (waiting string, err error) {
	h := o.record.Hub
	if h == nil || h.Reattached || h.GivenUp {
		return "", nil
	}
	if h.UID == "" { // nothing was deleted
		h.Reattached = true
		return "", record.Write(r.Node.Files, o.record)
	}
	hub, mc, err := r.managedCluster(ctx, o.record)
	switch {
	case err != nil:
		return fmt.Sprintf("the hub does not answer, retrying (to leave it to a person, annotate seedgenerator seedimage with %s): %s",
			lcav1.ManualCleanupAnnotation, status.OneLine(err.Error())), nil
	case mc == nil:
		if err := r.createSaved(ctx, hub, record.ManagedClusterFile); err != nil {
			return "ManagedCluster " + h.Cluster + " could not be created, retrying: " + status.OneLine(err.Error()), nil
		}
		return "ManagedCluster " + h.Cluster + " is restored", r.noteRestored(o)
	case mc.GetDeletionTimestamp() != nil:
		return "waiting until the old ManagedCluster " + h.Cluster + " is gone", nil
	case h.Restored.IsZero():
		return "ManagedCluster " + h.Cluster + " exists", r.noteRestored(o)
	}
	return r.awaitAvailable(ctx, o, hub, mc)
}

func (r *Reconciler) noteRestored(o *observation) error {
	if o.record.Hub.Restored.IsZero() {
		o.record.Hub.Restored = o.now
	}
	return record.Write(r.Node.Files, o.record)
}

// awaitAvailable waits for the hub's own judgement, and restores the addons as soon as their namespace is there.
func (r *Reconciler) awaitAvailable(
	ctx context.Context, o *observation, hub client.Client, mc *unstructured.Unstructured,
) (waiting string, err error) {
	h := o.record.Hub
	if _, err := r.Node.Files.Stat(record.AddonFile); err == nil {
		if err := r.createSaved(ctx, hub, record.AddonFile); err != nil {
			r.Log.Info("the addons of the cluster are not restored yet", "op", o.record.OperationID, "error", err)
		} else if err := r.Node.Files.Remove(record.AddonFile); err != nil {
			return "", fmt.Errorf("remove %s: %w", record.AddonFile, err)
		}
	}
	available, why := cluster.ManagedClusterAvailable(mc)
	switch {
	case available:
		h.Reattached = true
	case o.now.Sub(h.Restored) >= reattachPatience:
		h.GivenUp = true
		o.record.Warnings = append(o.record.Warnings, fmt.Sprintf("ManagedCluster %s was restored on the hub and is %s after 30 minutes: "+
			"import the cluster on the hub by hand", h.Cluster, why))
	default:
		return "waiting until ManagedCluster " + h.Cluster + " is Available: " + why, nil
	}
	return "", record.Write(r.Node.Files, o.record)
}

// createSaved creates a saved object. One that exists already is left as it is.
func (r *Reconciler) createSaved(ctx context.Context, hub client.Client, file string) error {
	o := &unstructured.Unstructured{}
	if err := operation.ReadJSON(r.Node.Files, file, &o.Object); err != nil {
		return err
	}
	for _, field := range []string{"resourceVersion", "uid", "creationTimestamp", "generation", "managedFields", "selfLink",
		"deletionTimestamp", "deletionGracePeriodSeconds", "finalizers", "ownerReferences"} {
		unstructured.RemoveNestedField(o.Object, "metadata", field)
	}
	unstructured.RemoveNestedField(o.Object, "status")
	if err := hub.Create(ctx, o); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create %s %s on the hub: %w", o.GetKind(), o.GetName(), err)
	}
	return nil
}

// giveUp leaves the hub to a person, who asked for it.
func (r *Reconciler) giveUp(o *observation) error {
	h := o.record.Hub
	h.GivenUp = true
	o.record.Warnings = append(o.record.Warnings,
		fmt.Sprintf("ManagedCluster %s was not restored on the hub: import the cluster by hand", h.Cluster))
	return record.Write(r.Node.Files, o.record)
}
