package rules

import (
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// Deletion names objects that are wrong on another address and that the cluster recreates by itself.
type Deletion struct {
	Prefix string
	Why    string
	// Keep returns why an object of the prefix is kept, or nothing; nil keeps none.
	Keep func(meta wire.Metadata, key string) string
	// Named marks objects with the node's name, which are deleted only with the name.
	Named bool
}

func deletionRules() []Deletion {
	return []Deletion{
		{Prefix: "pods/", Why: "its controller recreates it with a new address", Keep: keepBarePods},
		{Prefix: "leases/", Why: "leaders and heartbeats from before the change"},
		{Prefix: "masterleases/", Why: "heartbeat of kube-apiserver on the old address"},
		{Prefix: "services/endpoints/", Why: "recreated from its Service", Keep: keepForeignEndpoints},
		{Prefix: "endpointslices/", Why: "recreated from its Service", Keep: keepForeignSlices},
		{Prefix: "csinodes/", Why: "the kubelet registers it again under the node's new name", Named: true},
		{Prefix: "machineconfiguration.openshift.io/machineconfignodes/", Why: "recreated for the node's new name", Named: true},
		{Prefix: "tuned.openshift.io/profiles/", Why: "recreated for the node's new name", Named: true},
	}
}

// NodePrefix holds the Node objects; one that carries an old address is deleted after everything else, because
// it may be the only record of the old address.
const NodePrefix = "minions/"

// keepBarePods keeps pods without a controller.
func keepBarePods(meta wire.Metadata, _ string) string {
	if _, mirror := meta.Annotations["kubernetes.io/config.mirror"]; meta.Owned || mirror {
		return ""
	}
	return "no controller would recreate this pod"
}

const keptByHand = "maintained by hand, no controller would recreate it"

func keepForeignEndpoints(meta wire.Metadata, key string) string {
	_, labelled := meta.Labels["endpoints.kubernetes.io/managed-by"]
	_, triggered := meta.Annotations["endpoints.kubernetes.io/last-change-trigger-time"]
	if labelled || triggered || strings.HasSuffix(key, "/default/kubernetes") {
		return ""
	}
	return keptByHand
}

func keepForeignSlices(meta wire.Metadata, key string) string {
	controllers := []string{"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"}
	manager := meta.Labels["endpointslice.kubernetes.io/managed-by"]
	if slices.Contains(controllers, manager) || strings.HasSuffix(key, "/default/kubernetes") {
		return ""
	}
	return keptByHand
}
