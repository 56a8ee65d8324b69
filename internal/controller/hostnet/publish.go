package hostnet

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

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

// tagged says that the pools of an interface have a VLAN.
func (s served) tagged() bool {
	return slices.ContainsFunc(s.leases, func(l ipam.Lease) bool { return l.VLAN != 0 })
}

// find fills in the interfaces of the host.
func (h *host) find(all []served) (err error) {
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

// publish writes the Secret of an owner. Where the operator has no right to Secrets, an event says how to give it.
func (r *Reconciler) publish(ctx context.Context, o *unstructured.Unstructured, h *host, got []served) error {
	err := r.writeSecret(ctx, o, h, got)
	if apierrors.IsForbidden(err) {
		r.warn(o, "SecretForbidden", fmt.Sprintf("%v; bind ClusterRole lifecycle-agent-operator-machine-secrets in namespace %s",
			err, o.GetNamespace()))
	}
	return err
}

func (r *Reconciler) writeSecret(ctx context.Context, o *unstructured.Unstructured, h *host, got []served) error {
	data, err := r.render(ctx, o, got)
	if errors.Is(err, errNoBase) {
		r.warn(o, "BaseSecretMissing", err.Error()+"; the host's own config is written when it does")
		return err
	}
	if apierrors.IsForbidden(err) {
		return err
	}
	if err != nil {
		r.warn(o, "CanNotRender", err.Error())
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
		r.warn(o, "SecretOfAnother", fmt.Sprintf("Secret %s is not controlled by %s %s; it is not changed", name, o.GetKind(), o.GetName()))
		return nil
	case maps.EqualFunc(s.Data, data, bytes.Equal):
		return r.use(ctx, o, h)
	case h.settled():
		r.warn(o, "ConfigDiffers",
			fmt.Sprintf("host %s was provisioned with another config than Secret %s would have now; the Secret is not changed",
				h.NamespacedName, name))
		return nil
	}
	before := s.DeepCopy()
	s.Data = data
	if err := r.Client.Patch(ctx, s, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write Secret %s: %w", name, err)
	}
	return r.use(ctx, o, h)
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
	if h.settled() && slices.Contains(h.configs, name.Name) {
		r.warn(o, "SecretMadeAnew", fmt.Sprintf("host %s was provisioned with Secret %s, which was lost and is made anew; "+
			"compare the addresses in it with those of the host", h.NamespacedName, name))
	}
	return r.use(ctx, o, h)
}

// render writes the config of a host in the forms that consumers read.
func (r *Reconciler) render(ctx context.Context, o *unstructured.Unstructured, got []served) (map[string][]byte, error) {
	h := hostnet.Host{Name: o.GetName()}
	drive := hostnet.Host{Name: o.GetName()}
	for _, s := range got {
		l := s.asLink(s.nic, s.tagged())
		i, err := hostnet.FromLeases(l, s.leases...)
		if err != nil {
			return nil, err
		}
		h.Interfaces = append(h.Interfaces, i)
		i.MAC = s.nic.mac
		drive.Interfaces = append(drive.Interfaces, i)
	}
	base, err := r.base(ctx, o)
	if err != nil {
		return nil, err
	}
	form := ignition.Form(o.GetAnnotations()[FormAnnotation])
	if form == "" {
		form = ignition.Keyfile
	}
	data := map[string][]byte{}
	if data[userDataKey], err = ignition.Render(base, h, form); err != nil {
		return nil, err
	}
	// A config drive finds interfaces by their MAC addresses and by nothing else.
	if !slices.ContainsFunc(drive.Interfaces, func(i hostnet.Interface) bool { return i.MAC == "" }) {
		data[networkDataKey], err = networkdata.Render(drive)
	}
	return data, err
}

// base is the config of the owner's role; none is a host that needs nothing but its addresses.
func (r *Reconciler) base(ctx context.Context, o *unstructured.Unstructured) ([]byte, error) {
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

// use has an owner use its Secret: a Machine of OpenShift names it instead of its role's, which an annotation
// remembers, as long as no host is provisioned with that.
func (r *Reconciler) use(ctx context.Context, o *unstructured.Unstructured, h *host) error {
	path := []string{"spec", "providerSpec", "value", "userData", "name"}
	now, found, _ := unstructured.NestedString(o.Object, path...)
	if !found || now == secretName(o) || h.settled() {
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
