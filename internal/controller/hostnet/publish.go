package hostnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/ignition"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/networkdata"
)

// served is an interface and what it was given.
type served struct {
	link
	leases []ipam.Lease
	nic    nic
}

// isTagged says that the pools of an interface have a VLAN.
func (s served) isTagged() bool {
	return slices.ContainsFunc(s.leases, func(l ipam.Lease) bool { return l.VLAN != 0 })
}

// findInterfaces fills in the interfaces of the host.
func (h *host) findInterfaces(all []served) (err error) {
	for i := range all {
		if all[i].nic, err = h.interfaceOf(all[i].link); err != nil {
			return err
		}
	}
	return nil
}

// errNoBase: a base config may be made after the machines that need it.
var errNoBase = errors.New("does not exist")

// baseRetry is how soon a base Secret that does not exist is looked for again.
const baseRetry = 5 * time.Second

// Keys of the Secret.
const (
	userDataKey    = "userData"
	networkDataKey = "networkData"
)

// publishSecret writes the Secret of an owner. Where the operator has no right to Secrets, an event says how to give it.
func (r *Reconciler) publishSecret(ctx context.Context, o *unstructured.Unstructured, h *host, got []served) error {
	err := r.writeSecret(ctx, o, h, got)
	if apierrors.IsForbidden(err) {
		r.warnOwner(o, "SecretForbidden", fmt.Sprintf("%v; bind ClusterRole lifecycle-agent-operator-machine-secrets in namespace %s",
			err, o.GetNamespace()))
	}
	return err
}

func (r *Reconciler) writeSecret(ctx context.Context, o *unstructured.Unstructured, h *host, got []served) error {
	data, err := r.renderConfig(ctx, o, got)
	if errors.Is(err, errNoBase) {
		r.warnOwner(o, "BaseSecretMissing", err.Error()+"; the host's own config is written when it does")
		return err
	}
	if apierrors.IsForbidden(err) {
		return err
	}
	if err != nil {
		r.warnOwner(o, "CanNotRender", err.Error())
		return fmt.Errorf("render the config of %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	s := &corev1.Secret{}
	name := types.NamespacedName{Namespace: o.GetNamespace(), Name: secretName(o)}
	err = r.Reader.Get(ctx, name, s)
	switch {
	case apierrors.IsNotFound(err):
		return r.createSecret(ctx, o, h, name, data)
	case err != nil:
		return fmt.Errorf("read Secret %s: %w", name, err)
	case !metav1.IsControlledBy(s, o):
		r.warnOwner(o, "SecretOfAnother", fmt.Sprintf("Secret %s is not controlled by %s %s; it is not changed",
			name, o.GetKind(), o.GetName()))
		return nil
	case maps.EqualFunc(s.Data, data, bytes.Equal):
		return r.useSecret(ctx, o, h)
	case h.isProvisioned():
		r.warnOwner(o, "ConfigDiffers",
			fmt.Sprintf("host %s was provisioned with another config than Secret %s would have now; the Secret is not changed",
				h.NamespacedName, name))
		return nil
	}
	before := s.DeepCopy()
	s.Data = data
	if err := r.Client.Patch(ctx, s, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	return r.useSecret(ctx, o, h)
}

func (r *Reconciler) createSecret(
	ctx context.Context, o *unstructured.Unstructured, h *host, name types.NamespacedName, data map[string][]byte,
) error {
	s := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: name.Namespace, Name: name.Name,
		OwnerReferences: []metav1.OwnerReference{*metav1.NewControllerRef(o, o.GroupVersionKind())}},
		Data: data}
	if err := r.Client.Create(ctx, s); err != nil {
		return fmt.Errorf("create Secret %s: %w", name, err)
	}
	r.Events.Eventf(o, nil, corev1.EventTypeNormal, "HostConfigWritten", "Configure", "%s",
		status.ClipNote("Secret "+name.String()+" holds the host's own config"))
	if h.isProvisioned() && slices.Contains(h.configs, name.Name) {
		r.warnOwner(o, "SecretMadeAnew", fmt.Sprintf("host %s was provisioned with Secret %s, which was lost and is made anew; "+
			"compare the addresses in it with those of the host", h.NamespacedName, name))
	}
	return r.useSecret(ctx, o, h)
}

// renderConfig writes the config of a host in the forms that consumers read.
func (r *Reconciler) renderConfig(ctx context.Context, o *unstructured.Unstructured, got []served) (map[string][]byte, error) {
	h := hostnet.Host{Name: o.GetName()}
	drive := hostnet.Host{Name: o.GetName()}
	for _, s := range got {
		l := s.asLink(s.nic, s.isTagged())
		i, err := hostnet.FromLeases(l, s.leases...)
		if err != nil {
			return nil, fmt.Errorf("derive the host's network: %w", err)
		}
		h.Interfaces = append(h.Interfaces, i)
		i.MAC = s.nic.mac
		drive.Interfaces = append(drive.Interfaces, i)
	}
	base, err := r.readBase(ctx, o)
	if err != nil {
		return nil, err
	}
	form := ignition.Form(o.GetAnnotations()[FormAnnotation])
	if form == "" {
		form = ignition.Keyfile
	}
	data := map[string][]byte{}
	if data[userDataKey], err = ignition.Render(base, h, form); err != nil {
		return nil, fmt.Errorf("render the Ignition config: %w", err)
	}
	// A config drive finds interfaces by their MAC addresses and by nothing else.
	if !slices.ContainsFunc(drive.Interfaces, func(i hostnet.Interface) bool { return i.MAC == "" }) {
		data[networkDataKey], err = networkdata.Render(drive)
	}
	return data, err
}

// readBase reads the config of the owner's role; none is a host that needs nothing but its addresses.
func (r *Reconciler) readBase(ctx context.Context, o *unstructured.Unstructured) ([]byte, error) {
	name := baseSecret(o)
	if name == "" {
		return nil, nil
	}
	s := &corev1.Secret{}
	err := r.Reader.Get(ctx, types.NamespacedName{Namespace: o.GetNamespace(), Name: name}, s)
	if apierrors.IsNotFound(err) {
		return nil, fmt.Errorf("base Secret %s/%s %w", o.GetNamespace(), name, errNoBase)
	}
	if err != nil {
		return nil, fmt.Errorf("read base Secret %s/%s: %w", o.GetNamespace(), name, err)
	}
	return baseOf(s)
}

// baseOf is the config that a Secret of a role holds.
func baseOf(s *corev1.Secret) ([]byte, error) {
	for _, key := range []string{userDataKey, "value"} {
		if data, ok := s.Data[key]; ok {
			return data, nil
		}
	}
	return nil, fmt.Errorf("base Secret %s/%s has neither key %s nor value", s.Namespace, s.Name, userDataKey)
}

// useSecret has an owner use its Secret: a Machine of OpenShift names it instead of its role's, which an annotation
// remembers, as long as no host is provisioned with that.
func (r *Reconciler) useSecret(ctx context.Context, o *unstructured.Unstructured, h *host) error {
	path := []string{"spec", "providerSpec", "value", "userData", "name"}
	now, found, _ := unstructured.NestedString(o.Object, path...)
	if !found || now == secretName(o) || h.isProvisioned() {
		return nil
	}
	before := o.DeepCopy()
	annotations := o.GetAnnotations()
	annotations[BaseAnnotation] = now
	o.SetAnnotations(annotations)
	if err := unstructured.SetNestedField(o.Object, secretName(o), path...); err != nil {
		return fmt.Errorf("name the Secret in %s %s: %w", o.GetKind(), o.GetName(), err)
	}
	if err := r.Client.Patch(ctx, o, client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})); err != nil {
		return fmt.Errorf("name its own config in %s %s/%s: %w", o.GetKind(), o.GetNamespace(), o.GetName(), err)
	}
	return nil
}

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

// reportDelivery reports, once its host is being provisioned, whether an owner's own config is what the host was given: nothing can be
// changed any more then, and a host without it lacks its addresses.
func (r *Reconciler) reportDelivery(ctx context.Context, o *unstructured.Unstructured, h *host) error {
	if h == nil || !h.isProvisioned() || h.state == "externally provisioned" {
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
	changed, err := r.setDelivered(ctx, o, status, reason, message)
	if err != nil || !changed || reason == reasonDelivered {
		return err
	}
	r.Metrics.missed.WithLabelValues(o.GetKind()).Inc()
	r.warnOwner(o, reasonMissed, message)
	return nil
}

// setDelivered writes the condition where the kind has such; changed says that it was not so before.
func (r *Reconciler) setDelivered(
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
