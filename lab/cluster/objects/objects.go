// Package objects has what the API of a lab node's cluster holds from the start, and creates it through an API server.
//
// It is called by lab/cluster. Like all of lab/cluster it imports nothing of the product.
package objects

import (
	"bytes"
	"embed"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

//go:embed *.yaml
var objectTemplates embed.FS

// objectView is what the templates of the cluster's objects may say.
type objectView struct {
	documents.View
	EtcdURL          string
	Version          string // of OpenShift
	ReleaseImage     string
	RenderedMaster   string
	Namespaces       []string
	ClusterOperators []string
	Pools            []pool
}

type pool struct {
	Name     string
	Machines int
}

// All lists everything to create, in an order in which it can be created; CRDs aside.
func All(s site.Site, id *pki.Identity, tx documents.Texts, mc documents.MachineConfigs) ([]*unstructured.Unstructured, error) {
	secretList, err := secrets(s, id)
	if err != nil {
		return nil, err
	}
	mapList, err := configMaps(s, id, tx)
	if err != nil {
		return nil, err
	}
	templated, err := templatedObjects(objectView{
		View: documents.NewView(s), EtcdURL: s.EtcdURL(), Version: "4.22.0",
		ReleaseImage:   "quay.io/openshift-release-dev/ocp-release@sha256:4444444444444444444444444444444444444444444444444444444444444444",
		RenderedMaster: mc.Master.GetName(), Namespaces: namespaces(secretList, mapList), ClusterOperators: clusterOperators(),
		Pools: []pool{{"master", 1}, {"worker", 0}},
	})
	if err != nil {
		return nil, err
	}
	out := append(templated, mc.Dnsmasq.DeepCopy(), mc.Master.DeepCopy())
	for _, secret := range secretList {
		if out, err = appendObject(out, secret); err != nil {
			return nil, err
		}
	}
	for _, m := range mapList {
		if out, err = appendObject(out, m); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func appendObject(list []*unstructured.Unstructured, obj any) ([]*unstructured.Unstructured, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, fmt.Errorf("convert a %T: %w", obj, err)
	}
	return append(list, &unstructured.Unstructured{Object: content}), nil
}

// templatedObjects renders the templates of this folder in the order of their names.
func templatedObjects(v objectView) ([]*unstructured.Unstructured, error) {
	files, err := fs.Glob(objectTemplates, "*.yaml")
	if err != nil {
		return nil, fmt.Errorf("list the object templates: %w", err)
	}
	var out []*unstructured.Unstructured
	for _, file := range files {
		text, err := objectTemplates.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read %s: %w", file, err)
		}
		rendered, err := documents.Render(file, string(text), v)
		if err != nil {
			return nil, err
		}
		parsed, err := parseObjects([]byte(rendered))
		if err != nil {
			return nil, fmt.Errorf("parse %s: %w", file, err)
		}
		out = append(out, parsed...)
	}
	return out, nil
}

// parseObjects reads a stream of YAML documents, skipping empty ones.
func parseObjects(text []byte) ([]*unstructured.Unstructured, error) {
	decoder := utilyaml.NewYAMLOrJSONDecoder(bytes.NewReader(text), 4096)
	var out []*unstructured.Unstructured
	for {
		obj := &unstructured.Unstructured{}
		err := decoder.Decode(&obj.Object)
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return nil, err
		}
		if len(obj.Object) > 0 {
			out = append(out, obj)
		}
	}
}

// namespaces are those the objects need and those OpenShift has for the parts the product looks at.
func namespaces(secretList []*corev1.Secret, mapList []*corev1.ConfigMap) []string {
	set := map[string]bool{operatorNamespace: true, "openshift-oauth-apiserver": true, "openshift-machine-config-operator": true,
		"openshift-ingress": true, "openshift-cluster-version": true, "openshift-kube-scheduler": true, "openshift-ovn-kubernetes": true}
	for _, s := range secretList {
		set[s.Namespace] = true
	}
	for _, m := range mapList {
		set[m.Namespace] = true
	}
	delete(set, "kube-system")
	var out []string
	for ns := range set {
		out = append(out, ns)
	}
	sort.Strings(out)
	return out
}

func clusterOperators() []string {
	return []string{"authentication", "config-operator", "dns", "etcd", "ingress", "kube-apiserver", "kube-controller-manager",
		"kube-scheduler", "machine-config", "network", "node-tuning", "openshift-apiserver", "operator-lifecycle-manager", "storage"}
}
