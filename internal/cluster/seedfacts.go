package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// SeedFacts is what the API says of a cluster that an image is to be made of.
type SeedFacts struct {
	// ControlPlaneNodes and OtherNodes count the cluster's Node objects.
	ControlPlaneNodes, OtherNodes int
	// Name is that of the install-config, ID that of ClusterVersion.
	Name, ID string
	// FIPS is what the install-config asked for.
	FIPS bool
	// KlusterletServed: a hub's agent is, or was, installed; Klusterlets are its objects.
	KlusterletServed bool
	Klusterlets      []string
	// AddonNamespaces are those of the hub's addons.
	AddonNamespaces []string
	// PersistentVolumes, LocalVolumes and LVMClusters name storage that an image cannot carry.
	PersistentVolumes, LocalVolumes, LVMClusters []string
	// NetworkPolicies are NodeNetworkConfigurationPolicies, which an image carries.
	NetworkPolicies []string
	OADP            OADP
	// Encryption is how the cluster encrypts values in etcd; empty: it does not.
	Encryption string
	// Busy says which other operation is under way; empty for none.
	Busy string
	// ReservedCPUs and IsolatedCPUs are those of the performance profile; empty where there is none.
	ReservedCPUs, IsolatedCPUs string
}

// OADP is the backup operator, as far as it is installed.
type OADP struct {
	// Name is that of its ClusterServiceVersion, empty where it is not installed.
	Name, Version string
	// Applications are its DataProtectionApplications.
	Applications []string
}

// Kinds of optional operators that a seed cluster is asked about.
func klusterletKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "operator.open-cluster-management.io", Version: "v1", Kind: "Klusterlet"}
}

// addonNamespace begins the names of the namespaces of a hub's addons.
const addonNamespace = "open-cluster-management-addon-"

// ReadSeedFacts reads them all. A kind that the API does not serve has no objects.
func ReadSeedFacts(ctx context.Context, r kube.Reader) (SeedFacts, error) {
	var f SeedFacts
	var topology *TopologyError
	if _, err := SingleNode(ctx, r); errors.As(err, &topology) {
		f.ControlPlaneNodes, f.OtherNodes = topology.ControlPlane, topology.Workers
	} else if err != nil {
		return f, err
	} else {
		f.ControlPlaneNodes = 1
	}
	for _, read := range []func(context.Context, kube.Reader, *SeedFacts) error{
		readIdentity, readKlusterlet, readAddons, readStorage, readOADP, readOperations, readPerformance,
	} {
		if err := read(ctx, r, &f); err != nil {
			return f, err
		}
	}
	return f, nil
}

// readIdentity reads who the cluster is: the hub knows it by name and id.
func readIdentity(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	ic, err := ReadInstallConfig(ctx, r)
	if err != nil {
		return err
	}
	f.Name, f.FIPS = ic.ClusterName, ic.FIPS
	if f.ID, err = ClusterID(ctx, r); err != nil {
		return err
	}
	f.Encryption, err = EncryptionAtRest(ctx, r)
	return err
}

// ClusterID is the id in ClusterVersion "version"; empty where there is no such object.
func ClusterID(ctx context.Context, r kube.Reader) (string, error) {
	var v configv1.ClusterVersion
	err := r.Get(ctx, kube.Key{Name: "version"}, &v)
	if notServed(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get clusterversion version: %w", err)
	}
	return string(v.Spec.ClusterID), nil
}

func readKlusterlet(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	items, err := listObjects(ctx, r, klusterletKind())
	if notServed(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list klusterlets: %w", err)
	}
	f.KlusterletServed, f.Klusterlets = true, namesOf(items)
	return nil
}

// Klusterlets names the objects of a hub's agent; none where its kind is not served.
func Klusterlets(ctx context.Context, r kube.Reader) ([]string, error) {
	var f SeedFacts
	err := readKlusterlet(ctx, r, &f)
	return f.Klusterlets, err
}

func readAddons(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	items, err := listObjects(ctx, r, schema.GroupVersionKind{Version: "v1", Kind: "Namespace"})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, name := range namesOf(items) {
		if strings.HasPrefix(name, addonNamespace) {
			f.AddonNamespaces = append(f.AddonNamespaces, name)
		}
	}
	return nil
}

func readStorage(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	for _, kind := range []struct {
		is schema.GroupVersionKind
		to *[]string
	}{
		{schema.GroupVersionKind{Version: "v1", Kind: "PersistentVolume"}, &f.PersistentVolumes},
		{schema.GroupVersionKind{Group: "local.storage.openshift.io", Version: "v1", Kind: "LocalVolume"}, &f.LocalVolumes},
		{schema.GroupVersionKind{Group: "lvm.topolvm.io", Version: "v1alpha1", Kind: "LVMCluster"}, &f.LVMClusters},
		{schema.GroupVersionKind{Group: "nmstate.io", Version: "v1", Kind: "NodeNetworkConfigurationPolicy"}, &f.NetworkPolicies},
	} {
		items, err := listObjects(ctx, r, kind.is)
		if notServed(err) {
			continue
		}
		if err != nil {
			return fmt.Errorf("list %s: %w", kind.is.Kind, err)
		}
		*kind.to = namesOf(items)
	}
	return nil
}

func readOADP(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	versions, err := listOriginalCSVs(ctx, r)
	if err != nil && !notServed(err) {
		return fmt.Errorf("list clusterserviceversions: %w", err)
	}
	for _, u := range versions {
		if strings.HasPrefix(u.GetName(), "oadp-operator.") {
			f.OADP.Name = u.GetName()
			f.OADP.Version, _, _ = unstructured.NestedString(u.Object, "spec", "version")
		}
	}
	items, err := listObjects(ctx, r, schema.GroupVersionKind{Group: "oadp.openshift.io", Version: "v1alpha1",
		Kind: "DataProtectionApplication"})
	if err != nil && !notServed(err) {
		return fmt.Errorf("list dataprotectionapplications: %w", err)
	}
	f.OADP.Applications = namesOf(items)
	return nil
}

// readOperations asks the kinds of other operations whether one is under way.
func readOperations(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	busy, err := ImageBasedUpgradeBusy(ctx, r)
	if err != nil {
		return err
	}
	if busy {
		f.Busy = "ImageBasedUpgrade " + imageBasedUpgradeName + " is not Idle"
		return nil
	}
	var ipc unstructured.Unstructured
	ipc.SetGroupVersionKind(schema.GroupVersionKind{Group: "lca.openshift.io", Version: "v1", Kind: "IPConfig"})
	err = r.Get(ctx, kube.Key{Name: "ipconfig"}, &ipc)
	if notServed(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("get ipconfig ipconfig: %w", err)
	}
	for _, c := range conditionsOf(ipc.Object) {
		if c.kind == "Idle" && c.status != "True" && c.reason != "Blocked" {
			f.Busy = "IPConfig ipconfig is not Idle"
		}
	}
	return nil
}

// readPerformance reads the CPUs that the node's performance profile reserves.
func readPerformance(ctx context.Context, r kube.Reader, f *SeedFacts) error {
	items, err := listObjects(ctx, r, schema.GroupVersionKind{Group: "performance.openshift.io", Version: "v2", Kind: "PerformanceProfile"})
	if notServed(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("list performanceprofiles: %w", err)
	}
	for _, u := range items {
		f.ReservedCPUs, _, _ = unstructured.NestedString(u.Object, "spec", "cpu", "reserved")
		f.IsolatedCPUs, _, _ = unstructured.NestedString(u.Object, "spec", "cpu", "isolated")
	}
	return nil
}

func namesOf(items []unstructured.Unstructured) []string {
	var names []string
	for _, u := range items {
		names = append(names, objectName(u))
	}
	slices.Sort(names)
	return names
}
