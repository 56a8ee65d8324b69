package recert

import (
	"slices"
	"strings"
)

// deletion names objects that the cluster makes again by itself and that are wrong on another address.
type deletion struct {
	prefix string
	why    string
	// keep says why an object of the prefix stays after all; nil keeps none.
	keep func(meta metadata, key string) string
	// named marks what is named for the node, and goes only with its name.
	named bool
}

func deletions() []deletion {
	return []deletion{
		{prefix: "pods/", why: "its address is gone and its controller makes it again", keep: keepBarePods},
		{prefix: "leases/", why: "leaders and heartbeats of before the change"},
		{prefix: "masterleases/", why: "heartbeat of kube-apiserver on the old address"},
		{prefix: "services/endpoints/", why: "made again from its Service", keep: keepForeignEndpoints},
		{prefix: "endpointslices/", why: "made again from its Service", keep: keepForeignSlices},
		{prefix: "csinodes/", why: "the kubelet registers it again under the node's new name", named: true},
		{prefix: "machineconfiguration.openshift.io/machineconfignodes/", why: "made again for the node's new name", named: true},
		{prefix: "tuned.openshift.io/profiles/", why: "made again for the node's new name", named: true},
	}
}

// nodePrefix holds the Node objects; one that carries an old address is deleted after everything else, because
// it may be the only record of what the old address was. The kubelet registers the node again.
const nodePrefix = "minions/"

// metadata is what the rules want to know of ObjectMeta.
type metadata struct {
	labels, annotations map[string]string
	owned               bool
}

func (o *object) metadata() (metadata, error) {
	meta := metadata{labels: map[string]string{}, annotations: map[string]string{}}
	err := o.walk(func(at []string, text string) {
		if len(at) < 3 || at[0] != "metadata" {
			return
		}
		switch at[1] {
		case "labels":
			meta.labels[at[2]] = text
		case "annotations":
			meta.annotations[at[2]] = text
		case "ownerReferences":
			meta.owned = true
		}
	})
	return meta, err
}

// keepBarePods spares pods that nobody would make again.
func keepBarePods(meta metadata, _ string) string {
	if _, mirror := meta.annotations["kubernetes.io/config.mirror"]; meta.owned || mirror {
		return ""
	}
	return "no controller would make this pod again"
}

const keptByHand = "kept by hand, nobody would make it again"

func keepForeignEndpoints(meta metadata, key string) string {
	_, labelled := meta.labels["endpoints.kubernetes.io/managed-by"]
	_, triggered := meta.annotations["endpoints.kubernetes.io/last-change-trigger-time"]
	if labelled || triggered || strings.HasSuffix(key, "/default/kubernetes") {
		return ""
	}
	return keptByHand
}

func keepForeignSlices(meta metadata, key string) string {
	controllers := []string{"endpointslice-controller.k8s.io", "endpointslicemirroring-controller.k8s.io"}
	manager := meta.labels["endpointslice.kubernetes.io/managed-by"]
	if slices.Contains(controllers, manager) || strings.HasSuffix(key, "/default/kubernetes") {
		return ""
	}
	return keptByHand
}
