package cluster

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// listObjects reads all objects of a kind that may not be installed.
func listObjects(
	ctx context.Context, r kube.Reader, gvk schema.GroupVersionKind, opts ...kube.Selection,
) ([]unstructured.Unstructured, error) {
	var l unstructured.UnstructuredList
	gvk.Kind += "List"
	l.SetGroupVersionKind(gvk)
	if err := r.List(ctx, &l, opts...); err != nil {
		return nil, err
	}
	return l.Items, nil
}

func objectName(u unstructured.Unstructured) string {
	if u.GetNamespace() == "" {
		return u.GetName()
	}
	return u.GetNamespace() + "/" + u.GetName()
}

// sriovNodeStates must have been applied. Where SR-IOV is installed, the node has one.
func sriovNodeStates(ctx context.Context, r kube.Reader) ([]Finding, error) {
	items, err := listObjects(ctx, r, schema.GroupVersionKind{Group: "sriovnetwork.openshift.io", Version: "v1",
		Kind: "SriovNetworkNodeState"})
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return []Finding{{Reason: "SR-IOV is installed but has not reported the node's state"}}, nil
	}
	var found []Finding
	for _, u := range items {
		if sync, _, _ := unstructured.NestedString(u.Object, "status", "syncStatus"); sync != "Succeeded" {
			found = append(found, Finding{Object: objectName(u), Reason: fmt.Sprintf("sync status is %q, not Succeeded", sync)})
		}
	}
	return found, nil
}

// backupLocations: every DataProtectionApplication must be reconciled and, where there
// is one, every backup storage location available.
func backupLocations(ctx context.Context, r kube.Reader) ([]Finding, error) {
	apps, err := listObjects(ctx, r, schema.GroupVersionKind{Group: "oadp.openshift.io", Version: "v1alpha1",
		Kind: "DataProtectionApplication"})
	if err != nil || len(apps) == 0 {
		return nil, err
	}
	var found []Finding
	for _, u := range apps {
		if problem := notReconciled(u); problem != "" {
			found = append(found, Finding{Object: objectName(u), Reason: problem})
		}
	}
	locations, err := listObjects(ctx, r, schema.GroupVersionKind{Group: "velero.io", Version: "v1", Kind: "BackupStorageLocation"})
	if err != nil && !notServed(err) { // OADP can be installed without Velero's kinds
		return found, fmt.Errorf("list backup storage locations: %w", err)
	}
	for _, u := range locations {
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "Available" {
			found = append(found, Finding{Object: objectName(u), Reason: fmt.Sprintf("backup storage location is %q, not Available",
				phase)})
		}
	}
	return found, nil
}

func notReconciled(u unstructured.Unstructured) string {
	for _, c := range conditionsOf(u.Object) {
		if c.kind != "Reconciled" {
			continue
		}
		if c.status == "True" {
			return ""
		}
		return formatReason("not reconciled", c.reason, c.message)
	}
	return "not reconciled"
}

// agentName begins the name of the ClusterServiceVersion of the agent that OpenShift's catalog has. This product is not
// installed by OLM.
const agentName = "lifecycle-agent"

// OtherAgent names the ClusterServiceVersion of the agent from OpenShift's catalog, where that is installed: it serves an
// IPConfig of the same name. Empty means that there is none.
func OtherAgent(ctx context.Context, r kube.Reader) (string, error) {
	items, err := listOriginalCSVs(ctx, r)
	if notServed(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for another lifecycle agent: %w", err)
	}
	for _, u := range items {
		if strings.HasPrefix(u.GetName(), agentName+".") {
			return u.GetNamespace() + "/" + u.GetName(), nil
		}
	}
	return "", nil
}

// listOriginalCSVs are the ClusterServiceVersions without the copies that OLM makes in each namespace.
func listOriginalCSVs(ctx context.Context, r kube.Reader) ([]unstructured.Unstructured, error) {
	original, err := labels.NewRequirement("olm.copiedFrom", selection.DoesNotExist, nil)
	if err != nil {
		return nil, fmt.Errorf("select original ClusterServiceVersions: %w", err)
	}
	return listObjects(ctx, r, schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "ClusterServiceVersion"},
		kube.Selection{Labels: labels.NewSelector().Add(*original)})
}

// clusterServiceVersions must have succeeded.
func clusterServiceVersions(ctx context.Context, r kube.Reader) ([]Finding, error) {
	items, err := listOriginalCSVs(ctx, r)
	if err != nil {
		return nil, err
	}
	var found []Finding
	for _, u := range items {
		if strings.Contains(u.GetName(), agentName) {
			continue
		}
		if phase, _, _ := unstructured.NestedString(u.Object, "status", "phase"); phase != "Succeeded" {
			found = append(found, Finding{Object: objectName(u), Reason: fmt.Sprintf("phase is %q, not Succeeded", phase)})
		}
	}
	return found, nil
}
