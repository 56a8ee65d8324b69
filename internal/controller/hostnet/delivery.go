package hostnet

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ConditionDelivered, on a Machine, says whether its host was provisioned with the machine's own config.
const ConditionDelivered = "HostConfigDelivered"

// Reasons of the condition.
const (
	reasonDelivered = "Delivered"
	reasonMissed    = "StartedWithoutOwnConfig"
)

// Metrics of this controller.
type Metrics struct{ missed *prometheus.CounterVec }

// NewMetrics makes the metrics and registers them.
func NewMetrics(registry prometheus.Registerer) (*Metrics, error) {
	m := &Metrics{missed: prometheus.NewCounterVec(prometheus.CounterOpts{Namespace: "lifecycle_agent", Subsystem: "hostnet",
		Name: "hosts_started_without_own_config_total",
		Help: "Hosts whose provisioning began without the config that sets their addresses."},
		[]string{"kind"})}
	if err := registry.Register(m.missed); err != nil {
		return nil, fmt.Errorf("register a metric of host networks: %w", err)
	}
	return m, nil
}

// judge reports, once its host is being provisioned, whether an owner's own config is what the host was given: nothing can be
// changed any more then, and a host without it lacks its addresses.
func (r *Reconciler) judge(ctx context.Context, o *unstructured.Unstructured, h *host) error {
	if h == nil || !h.settled() || h.state == "externally provisioned" {
		return nil
	}
	own := secretName(o)
	status, reason := metav1.ConditionTrue, reasonDelivered
	message := fmt.Sprintf("host %s was given Secret %s", h.NamespacedName, own)
	if !slices.Contains(h.configs, own) {
		status, reason = metav1.ConditionFalse, reasonMissed
		message = fmt.Sprintf("host %s is provisioned without Secret %s, and so without its addresses; provision it again",
			h.NamespacedName, own)
	}
	changed, err := r.condition(ctx, o, status, reason, message)
	if err != nil || !changed || reason == reasonDelivered {
		return err
	}
	r.Metrics.missed.WithLabelValues(o.GetKind()).Inc()
	r.warn(o, reasonMissed, message)
	return nil
}

// condition writes the condition where the kind has such; changed says that it was not so before.
func (r *Reconciler) condition(
	ctx context.Context, o *unstructured.Unstructured, status metav1.ConditionStatus, reason, message string,
) (changed bool, err error) {
	list, _, err := unstructured.NestedSlice(o.Object, "status", "conditions")
	if err != nil {
		return false, fmt.Errorf("read the conditions of %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	i := slices.IndexFunc(list, func(c any) bool {
		m, ok := c.(map[string]any)
		return ok && m["type"] == ConditionDelivered
	})
	if i >= 0 {
		if m, ok := list[i].(map[string]any); ok && m["status"] == string(status) && m["message"] == message {
			return false, nil
		}
		list = slices.Delete(list, i, i+1)
	}
	if o.GetKind() != "Machine" { // other kinds' conditions belong to their controllers; the last report is remembered until a restart
		former, _ := r.reported.Swap(o.GetUID(), message)
		return former != message, nil
	}
	before := o.DeepCopy()
	list = append(list, map[string]any{"type": ConditionDelivered, "status": string(status), "reason": reason, "message": message,
		"lastTransitionTime": r.Now().UTC().Format(time.RFC3339)})
	if err := unstructured.SetNestedSlice(o.Object, list, "status", "conditions"); err != nil {
		return false, fmt.Errorf("set a condition of %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := r.Client.Status().Patch(ctx, o, patch); err != nil {
		return false, fmt.Errorf("write condition %s of %s %s/%s: %w", ConditionDelivered, o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return true, nil
}
