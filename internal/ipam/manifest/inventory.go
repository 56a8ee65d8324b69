// Package manifest reads pools, claims and addresses from YAML as users and installers
// write them, and answers for them without a cluster: what a claim would get, what is
// registered in advance, what a host's interfaces are given.
//
// kubectl-lca's ipam verbs call it, all with the one Inventory. It imports the API's types,
// the arithmetic and the renderers' model, and does no I/O.
package manifest

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/yaml"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// Inventory is everything of address management that was read.
type Inventory struct {
	Pools         []*metal3.IPPool
	Claims        []*metal3.IPClaim
	Addresses     []*metal3.IPAddress
	CAPIClaims    []*capi.IPAddressClaim
	CAPIAddresses []*capi.IPAddress
	Locks         []*lockv1.AddressLock
	// Hosts are BareMetalHosts, by name.
	Hosts []*metav1.PartialObjectMetadata
	// Leased is what the cluster's metal3 leases itself.
	Leased []kinds.Leased
}

// The groups that are read.
const (
	metal3Group = "ipam.metal3.io"
	capiGroup   = "ipam.cluster.x-k8s.io"
	lockGroup   = "ipam.lca.openshift.io"
)

// Read adds the documents of a file; its name is for the errors. Lists are opened; what
// is not of address management is passed over; an unknown field is an error, since a
// misspelt one would otherwise be lost in silence.
func (v *Inventory) Read(name string, r io.Reader) error {
	docs := utilyaml.NewYAMLReader(bufio.NewReader(r))
	for n := 1; ; n++ {
		raw, err := docs.Read()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = v.readDocument(raw)
		}
		if err != nil {
			return fmt.Errorf("%s: document %d: %w", name, n, err)
		}
	}
}

func (v *Inventory) readDocument(raw []byte) error {
	if len(bytes.TrimSpace(raw)) == 0 {
		return nil
	}
	var head struct {
		metav1.TypeMeta `json:",inline"`
		Items           []any `json:"items"`
	}
	if err := decodeLoose(raw, &head); err != nil {
		return err
	}
	for _, item := range head.Items {
		one, err := yaml.Marshal(item)
		if err == nil {
			err = v.readDocument(one)
		}
		if err != nil {
			return err
		}
	}
	gvk := head.GroupVersionKind()
	return v.readObject(gvk.Group, gvk.Version, gvk.Kind, raw)
}

func (v *Inventory) readObject(group, version, kind string, raw []byte) error {
	switch group + "/" + kind {
	case metal3Group + "/IPPool":
		return decodeInto(raw, &v.Pools)
	case metal3Group + "/IPClaim":
		return decodeInto(raw, &v.Claims)
	case metal3Group + "/IPAddress":
		return decodeInto(raw, &v.Addresses)
	case capiGroup + "/IPAddressClaim":
		if version == "v1beta1" { // its status has fields of its own, and nothing here reads them
			return addLoosely(raw, &v.CAPIClaims)
		}
		return decodeInto(raw, &v.CAPIClaims)
	case capiGroup + "/IPAddress":
		return addLoosely(raw, &v.CAPIAddresses)
	case lockGroup + "/AddressLock":
		return decodeInto(raw, &v.Locks)
	case kinds.ProvisioningKind().Group + "/" + kinds.ProvisioningKind().Kind:
		return v.readProvisioning(raw)
	case kinds.ProvisioningKind().Group + "/BareMetalHost":
		return v.readHost(raw)
	case "/ConfigMap":
		return v.configMap(raw)
	}
	return nil
}

// readProvisioning reads what OpenShift's metal3 leases.
func (v *Inventory) readProvisioning(raw []byte) error {
	o := &unstructured.Unstructured{}
	if err := decodeLoose(raw, &o.Object); err != nil {
		return err
	}
	leased, err := kinds.LeasedByProvisioning(o)
	v.Leased = append(v.Leased, leased...)
	return err
}

// configMap reads what metal3's own dnsmasq leases.
func (v *Inventory) configMap(raw []byte) error {
	o := &corev1.ConfigMap{}
	if err := decodeLoose(raw, o); err != nil {
		return err
	}
	leased, err := kinds.LeasedByConfigMap(o)
	v.Leased = append(v.Leased, leased...)
	return err
}

func decodeInto[T any](raw []byte, to *[]*T) error {
	o := new(T)
	if err := decodeStrict(raw, o); err != nil {
		return err
	}
	return storeOnce(o, to)
}

func addLoosely[T any](raw []byte, to *[]*T) error {
	o := new(T)
	if err := decodeLoose(raw, o); err != nil {
		return err
	}
	return storeOnce(o, to)
}

// storeOnce stores an object once; in a file without namespaces all is in "default".
func storeOnce[T any](o *T, to *[]*T) error {
	m, ok := any(o).(metav1.Object)
	if !ok {
		return nil
	}
	if _, cluster := any(o).(*lockv1.AddressLock); m.GetNamespace() == "" && !cluster {
		m.SetNamespace(metav1.NamespaceDefault)
	}
	for _, other := range *to {
		if p, ok := any(other).(metav1.Object); ok && p.GetNamespace() == m.GetNamespace() && p.GetName() == m.GetName() {
			return fmt.Errorf("%s/%s appears twice", m.GetNamespace(), m.GetName())
		}
	}
	*to = append(*to, o)
	return nil
}
