package relocation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/workqueue"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	ctrlreconcile "sigs.k8s.io/controller-runtime/pkg/reconcile"

	v1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const (
	// lookAgain is how often what is in place is compared with what is wanted; no part watches the objects that it changes.
	lookAgain = 5 * time.Minute
	// tryAgain is how soon a part is tried again that waits for an operator of the cluster.
	tryAgain = 15 * time.Second
)

// Reconciler carries the ClusterRelocation out.
type Reconciler struct {
	// Client reads its own object from a cache; Direct reads and writes everything else without one.
	Client client.Client
	Direct *reconcile.Reconciler
	Log    *slog.Logger
	Now    func() time.Time
}

// Reconcile brings every part about, and goes on with the others where one fails.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	o := &v1beta1.ClusterRelocation{}
	if err := r.Client.Get(ctx, req.NamespacedName, o); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err) // the logger names the object
	}
	if o.DeletionTimestamp != nil {
		return ctrl.Result{}, r.revertOriginals(ctx, o)
	}
	config, problems, err := decodeObject(o)
	if err != nil {
		return ctrl.Result{}, err
	}
	report := newReport(o, r.Now())
	if len(problems) > 0 {
		report.addProblems(problems)
		return ctrl.Result{}, r.publishStatus(ctx, o, report)
	}
	if err := r.ensureFinalizer(ctx, o); err != nil {
		return ctrl.Result{}, err
	}
	result, err := r.carryOut(ctx, config, report)
	return result, errors.Join(err, r.publishStatus(ctx, o, report))
}

// carryOut applies all parts in their order. A part that fails does not hold up the others.
func (r *Reconciler) carryOut(ctx context.Context, config siteconfig.SiteConfig, report *report) (ctrl.Result, error) {
	result := ctrl.Result{RequeueAfter: lookAgain}
	var errs []error
	for _, part := range reconcile.Parts() {
		out, err := r.Direct.Apply(ctx, part, config)
		report.addPart(part, out, err)
		switch {
		case errors.Is(err, reconcile.ErrWaiting):
			result.RequeueAfter = tryAgain
		case err != nil:
			errs = append(errs, fmt.Errorf("%s: %w", part.Name, err))
		}
		if len(out.Changed) > 0 {
			r.Log.Info("part of the site's configuration changed", "part", part.Name, "places", out.Changed, "drifted", out.Drifted)
		}
	}
	report.summarizeParts(config)
	if len(errs) > 0 {
		return ctrl.Result{}, errors.Join(errs...)
	}
	return result, nil
}

// ensureFinalizer keeps the object until its originals are restored.
func (r *Reconciler) ensureFinalizer(ctx context.Context, o *v1beta1.ClusterRelocation) error {
	before := o.DeepCopy()
	if !controllerutil.AddFinalizer(o, v1beta1.Finalizer) {
		return nil
	}
	if err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("add the finalizer to ClusterRelocation %s: %w", o.Name, err)
	}
	return nil
}

// revertOriginals restores every original and removes the finalizer. What another client has changed since stays as it is, and is logged.
func (r *Reconciler) revertOriginals(ctx context.Context, o *v1beta1.ClusterRelocation) error {
	if !controllerutil.ContainsFinalizer(o, v1beta1.Finalizer) {
		return nil
	}
	kept, err := r.Direct.Revert(ctx)
	if err != nil {
		return fmt.Errorf("give the originals back: %w", err)
	}
	for _, place := range kept {
		r.Log.Warn("changed by somebody else since, and left as it is", "place", place)
	}
	before := o.DeepCopy()
	controllerutil.RemoveFinalizer(o, v1beta1.Finalizer)
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := client.IgnoreNotFound(r.Client.Patch(ctx, o, patch)); err != nil {
		return fmt.Errorf("take the finalizer off ClusterRelocation %s: %w", o.Name, err)
	}
	return nil
}

// publishStatus writes the status where it says something new.
func (r *Reconciler) publishStatus(ctx context.Context, o *v1beta1.ClusterRelocation, report *report) error {
	after := o.DeepCopy()
	after.Status.Conditions, after.Status.ObservedGeneration = report.conditions.Items, o.Generation
	slices.SortFunc(after.Status.Conditions, func(a, b metav1.Condition) int { return strings.Compare(a.Type, b.Type) })
	if slices.EqualFunc(o.Status.Conditions, after.Status.Conditions, sameCondition) {
		return nil
	}
	return status.Patch(ctx, r.Client, o, after) // names the object
}

func sameCondition(a, b metav1.Condition) bool {
	return a.Type == b.Type && a.Status == b.Status && a.Reason == b.Reason && a.Message == b.Message &&
		a.ObservedGeneration == b.ObservedGeneration
}

// decodeObject reads the object as a site configuration, as the file of the same kind is read on site.
func decodeObject(o *v1beta1.ClusterRelocation) (siteconfig.SiteConfig, []siteconfig.Problem, error) {
	bare := &v1beta1.ClusterRelocation{Spec: o.Spec}
	bare.APIVersion, bare.Kind, bare.Name = v1beta1.GroupVersion.String(), "ClusterRelocation", o.Name
	text, err := json.Marshal(bare)
	if err != nil {
		return siteconfig.SiteConfig{}, nil, fmt.Errorf("encode ClusterRelocation %s: %w", o.Name, err)
	}
	config, problems := siteconfig.Decode(text)
	for i := range problems {
		problems[i].Line = 0 // of a text that nobody sees
	}
	return config, problems, nil
}

// SetupWithManager runs the controller when the object's spec changes, or its deletion is asked for.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	err := ctrl.NewControllerManagedBy(mgr).Named("relocation").
		For(&v1beta1.ClusterRelocation{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: 1, RateLimiter: newRateLimiter()}).
		Complete(r)
	if err != nil {
		return fmt.Errorf("set up the relocation controller: %w", err)
	}
	return nil
}

// newRateLimiter spaces out reconciliations that fail, as they do while the API server takes its new certificate.
func newRateLimiter() workqueue.TypedRateLimiter[ctrlreconcile.Request] {
	return workqueue.NewTypedItemExponentialFailureRateLimiter[ctrlreconcile.Request](time.Second, time.Minute)
}
