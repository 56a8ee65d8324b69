package hostnet

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/predicate"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// Owners and hosts are large, and there may be thousands: a cache of this controller keeps what it reads of them and nothing else, and
// indexes lead from each to the other. An event of one host so costs what that host concerns, however many others there are.

// Indexes, by what they lead from.
const (
	byConsumer       = "hostnet.consumer"       // of hosts and claims: kind/namespace/name of the consumer
	byInfrastructure = "hostnet.infrastructure" // of owners: kind/namespace/name of what they run on
	byHost           = "hostnet.host"           // of owners, claims and locks: namespace/name of the BareMetalHost
	byOwner          = "hostnet.owner"          // of claims: the owner's label
	byReservedPool   = "hostnet.reserved"       // of claims that were registered in advance: the pool
)

// keptPaths are what is kept of owners and hosts beside their metadata.
var keptPaths = [][]string{
	{"spec", "providerSpec", "value", "userData"}, {"spec", "bootstrap", "dataSecretName"}, {"spec", "infrastructureRef"},
	{"spec", "clusterName"}, {"spec", "userData"}, {"spec", "networkData"}, {"spec", "preprovisioningNetworkDataName"},
	{"spec", "consumerRef"}, {"status", "provisioning", "state"}, {"status", "conditions"}, {"status", "nodeRef"},
}

// keptOfNICs is what is kept of each interface that an inspection found.
var keptOfNICs = []string{"name", "mac", "pxe", "speedGbps", "vlanId", "vlans"}

// largeAnnotations are copies of whole objects that nothing here reads.
var largeAnnotations = []string{"kubectl.kubernetes.io/last-applied-configuration", "baremetalhost.metal3.io/status"}

// stripObject keeps what is read of an owner or host. What it is given is the cache's own.
func stripObject(in any) (any, error) {
	u, ok := in.(*unstructured.Unstructured)
	if !ok {
		return in, nil
	}
	out := &unstructured.Unstructured{Object: map[string]any{"metadata": u.Object["metadata"]}}
	out.SetGroupVersionKind(u.GroupVersionKind())
	out.SetManagedFields(nil)
	if annotations := out.GetAnnotations(); annotations != nil {
		for _, name := range largeAnnotations {
			delete(annotations, name)
		}
		out.SetAnnotations(annotations)
	}
	for _, path := range keptPaths {
		value, found, _ := unstructured.NestedFieldNoCopy(u.Object, path...)
		if !found {
			continue
		}
		if err := unstructured.SetNestedField(out.Object, value, path...); err != nil {
			return nil, fmt.Errorf("keep %s of %s %s: %w", strings.Join(path, "."), u.GetKind(), u.GetName(), err)
		}
	}
	return out, stripNICs(u, out)
}

func stripNICs(u, out *unstructured.Unstructured) error {
	list, found, _ := unstructured.NestedSlice(u.Object, "status", "hardware", "nics")
	if !found {
		return nil
	}
	for i, item := range list {
		of, ok := item.(map[string]any)
		if !ok {
			continue
		}
		kept := map[string]any{}
		for _, key := range keptOfNICs {
			if value, has := of[key]; has {
				kept[key] = value
			}
		}
		list[i] = kept
	}
	if err := unstructured.SetNestedSlice(out.Object, list, "status", "hardware", "nics"); err != nil {
		return fmt.Errorf("keep the interfaces of host %s: %w", u.GetName(), err)
	}
	return nil
}

// objectsOf is the cache of owners and hosts; made, with the indexes of claims and locks, when the first kind is served.
func (r *Reconciler) objectsOf(mgr ctrl.Manager) (cache.Cache, error) {
	if r.objects != nil {
		return r.objects, nil
	}
	c, err := cache.New(mgr.GetConfig(), cache.Options{HTTPClient: mgr.GetHTTPClient(), Scheme: mgr.GetScheme(),
		Mapper: mgr.GetRESTMapper(), DefaultTransform: stripObject})
	if err != nil {
		return nil, fmt.Errorf("make the cache of machines and hosts: %w", err)
	}
	if err := mgr.Add(c); err != nil {
		return nil, fmt.Errorf("start the cache of machines and hosts: %w", err)
	}
	for _, i := range []struct {
		of   client.Object
		name string
		key  client.IndexerFunc
	}{
		{&metal3.IPClaim{}, byOwner, func(o client.Object) []string { return keyList(o.GetLabels()[OwnerLabel]) }},
		{&metal3.IPClaim{}, byHost, func(o client.Object) []string { return keyList(hostIn(o.GetAnnotations()[metal3.HostAnnotation])) }},
		{&metal3.IPClaim{}, byConsumer, consumersOfClaim},
		{&metal3.IPClaim{}, byReservedPool, reservedPool},
		{&lockv1.AddressLock{}, byHost, keptHost},
	} {
		if err := mgr.GetFieldIndexer().IndexField(context.Background(), i.of, i.name, i.key); err != nil {
			return nil, fmt.Errorf("index %T by %s: %w", i.of, i.name, err)
		}
	}
	r.objects = c
	return c, nil
}

// addIndexes adds the indexes of a kind of owners, or of hosts.
func (r *Reconciler) addIndexes(in cache.Cache, gvk schema.GroupVersionKind) error {
	indexes := map[string]client.IndexerFunc{
		byInfrastructure: func(o client.Object) []string {
			c, ok := infrastructureOf(o.(*unstructured.Unstructured))
			if !ok {
				return nil
			}
			return keyList(c.indexKey())
		},
		byHost: func(o client.Object) []string { return keyList(o.GetAnnotations()[hostAnnotation]) },
	}
	if gvk == HostKind() {
		indexes = map[string]client.IndexerFunc{byConsumer: func(o client.Object) []string {
			c, ok := consumerOf(o.(*unstructured.Unstructured))
			if !ok {
				return nil
			}
			return keyList(c.indexKey())
		}}
	}
	for name, key := range indexes {
		if err := in.IndexField(context.Background(), newObject(gvk), name, key); err != nil {
			return fmt.Errorf("index %s by %s: %w", gvk.Kind, name, err)
		}
	}
	return nil
}

func keyList(key string) []string {
	if key == "" {
		return nil
	}
	return []string{key}
}

// hostIn is the BareMetalHost, as namespace/name, in the identity of an interface: namespace/name/interface. Empty where it is only a name.
func hostIn(identity string) string {
	parts := strings.SplitN(identity, "/", 3)
	if len(parts) < 2 {
		return ""
	}
	return parts[0] + "/" + parts[1]
}

// consumersOfClaim are what a host names that runs for a claim.
func consumersOfClaim(o client.Object) (keys []string) {
	c := o.(*metal3.IPClaim)
	var owner consumer
	if ref := metav1.GetControllerOf(c); ref != nil {
		owner = consumer{kind: ref.Kind, namespace: c.Namespace, name: ref.Name}
	}
	for _, of := range rememberedConsumers(owner, c) {
		if of.name != "" {
			keys = append(keys, of.indexKey())
		}
	}
	return keys
}

// reservedPool is the pool of a claim that was registered in advance.
func reservedPool(o client.Object) []string {
	if _, registered := o.GetLabels()[metal3.PreRegisteredLabel]; !registered {
		return nil
	}
	return keyList(o.(*metal3.IPClaim).Spec.Pool.Name)
}

// keptHost is the host that a lock keeps an address for.
func keptHost(o client.Object) []string {
	if l := o.(*lockv1.AddressLock); l.Spec.State == lockv1.LockReserved {
		return keyList(hostIn(l.Spec.Host))
	}
	return nil
}

// objectReader reads owners and hosts.
func (r *Reconciler) objectReader() client.Reader {
	if r.objects != nil {
		return r.objects
	}
	return r.Client
}

// keptFieldsChanged leaves out updates of what is not kept of an object: a host reports its state every minute.
func keptFieldsChanged() predicate.Predicate {
	return predicate.Funcs{UpdateFunc: func(e event.UpdateEvent) bool {
		before, ok := e.ObjectOld.(*unstructured.Unstructured)
		after, both := e.ObjectNew.(*unstructured.Unstructured)
		if !ok || !both || before.GetResourceVersion() == after.GetResourceVersion() { // the latter is a resync
			return true
		}
		return !equality.Semantic.DeepEqual(withoutVersion(before), withoutVersion(after))
	}}
}

func withoutVersion(o *unstructured.Unstructured) map[string]any {
	out := o.DeepCopy()
	out.SetResourceVersion("")
	out.SetGeneration(0)
	return out.Object
}
