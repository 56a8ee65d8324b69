package clustertest

import (
	"fmt"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

func kind(version, name string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: version, Kind: name}
}

// webhooks hand out an authority, and a certificate that signed itself and names the node.
func (m *maker) webhooks(service, own string) {
	const v1 = "admissionregistration.k8s.io/v1"
	validating := &admissionv1.ValidatingWebhookConfiguration{TypeMeta: kind(v1, "ValidatingWebhookConfiguration"), ObjectMeta: metav1.ObjectMeta{Name: "v"}}
	mutating := &admissionv1.MutatingWebhookConfiguration{TypeMeta: kind(v1, "MutatingWebhookConfiguration"), ObjectMeta: metav1.ObjectMeta{Name: "m"}}
	for i, bundle := range []string{service, own} {
		name, client := fmt.Sprintf("w%d.example.com", i), admissionv1.WebhookClientConfig{CABundle: []byte(bundle)}
		validating.Webhooks = append(validating.Webhooks, admissionv1.ValidatingWebhook{Name: name, ClientConfig: client})
		mutating.Webhooks = append(mutating.Webhooks, admissionv1.MutatingWebhook{Name: name, ClientConfig: client})
	}
	m.object("validatingwebhookconfigurations/v", validating)
	m.object("mutatingwebhookconfigurations/m", mutating)
	m.custom("apiregistration.k8s.io/apiservices/v1.x.example.com", map[string]any{"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1.x.example.com"}, "spec": map[string]any{"caBundle": encode64(own), "group": "x.example.com", "version": "v1"}})
	m.custom("apiextensions.k8s.io/customresourcedefinitions/xs.example.com", map[string]any{"apiVersion": "apiextensions.k8s.io/v1",
		"kind": "CustomResourceDefinition", "metadata": map[string]any{"name": "xs.example.com"},
		"spec": map[string]any{"conversion": map[string]any{"strategy": "Webhook", "webhook": map[string]any{"clientConfig": map[string]any{"caBundle": encode64(own)}}}}})
	m.machineConfigs(own)
}

func (m *maker) machineConfigs(own string) {
	const mco = "machineconfiguration.openshift.io/"
	files := []any{
		map[string]any{"path": "/etc/dnsmasq.d/script", "contents": map[string]any{"source": "data:text/plain;charset=utf-8;base64," + encode64("HOST_IP="+m.site.Bystander[0].String())}},
		map[string]any{"path": "/etc/own.crt", "contents": map[string]any{"source": "data:;base64," + encode64(own)}},
		map[string]any{"path": "/etc/other.pem", "contents": map[string]any{"source": "data:,plain%20text"}},
	}
	config := map[string]any{"apiVersion": mco + "v1", "kind": "MachineConfig", "metadata": map[string]any{"name": "50-master"},
		"spec": map[string]any{"config": map[string]any{"ignition": map[string]any{"version": "3.4.0"}, "storage": map[string]any{"files": files}}}}
	m.custom(mco+"machineconfigs/50-master", config)
	m.custom(mco+"controllerconfigs/machine-config-controller", map[string]any{"apiVersion": mco + "v1", "kind": "ControllerConfig",
		"metadata": map[string]any{"name": "machine-config-controller"},
		"spec":     map[string]any{"kubeAPIServerServingCAData": encode64(own), "rootCAData": encode64(own), "clusterDNSIP": "172.30.0.10"}})
	m.file("/etc/machine-config-daemon/currentconfig", string(asJSON(config)))
}

// workloads makes what comes and goes, and the node.
func (m *maker) workloads() {
	for i := range 3 + m.size.Objects/50 {
		name := fmt.Sprintf("pod-%d", i)
		m.pod(name, map[string]string{}, true)
		m.gone("leases/kube-node-lease/"+name, &coordinationv1.Lease{TypeMeta: kind("coordination.k8s.io/v1", "Lease"), ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	m.pod("bare", nil, false)
	m.pod("mirror", map[string]string{"kubernetes.io/config.mirror": "x"}, false)
	node := &corev1.Node{TypeMeta: kind("v1", "Node"),
		ObjectMeta: metav1.ObjectMeta{Name: m.site.Node, Labels: map[string]string{"rack": "7"},
			Annotations: map[string]string{"alpha.kubernetes.io/provided-node-ip": m.site.V4.String()}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "edge", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{
			Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: m.spell("node")}, {Type: corev1.NodeHostName, Address: m.site.Node},
				{Type: corev1.NodeInternalIP, Address: m.site.V4.String()}}}}
	if m.site.Node == m.site.Known { // a renamed node registers by itself
		m.object("minions/"+m.site.Node, node)
	}
	m.endpoints("default", "kubernetes", true)
	m.endpoints("ns", "managed", true)
	m.endpoints("ns", "by-hand", false)
}

// gone stores what a move deletes so that it is made again.
func (m *maker) gone(key string, obj runtime.Object) {
	if !m.site.Moved {
		m.object(key, obj)
	}
}

func (m *maker) pod(name string, annotations map[string]string, owned bool) {
	p := &corev1.Pod{TypeMeta: kind("v1", "Pod"), ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name, Annotations: annotations}}
	if owned {
		p.OwnerReferences = []metav1.OwnerReference{{Kind: "ReplicaSet", Name: "x"}}
	}
	if owned || annotations != nil {
		m.gone("pods/ns/"+name, p)
		return
	}
	m.object("pods/ns/"+name, p)
}

// endpoints are those that a controller makes, or kept by hand: then the node's address in them follows.
func (m *maker) endpoints(ns, name string, managed bool) {
	addresses := []string{m.site.V4.String(), m.site.Neighbour.String()}
	meta := metav1.ObjectMeta{Namespace: ns, Name: name}
	slice := &discoveryv1.EndpointSlice{TypeMeta: kind("discovery.k8s.io/v1", "EndpointSlice"), ObjectMeta: meta, Endpoints: []discoveryv1.Endpoint{{Addresses: addresses}}}
	//nolint:staticcheck // clusters hold Endpoints, deprecated or not
	whole := &corev1.Endpoints{TypeMeta: kind("v1", "Endpoints"), ObjectMeta: meta,
		Subsets: []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: addresses[0]}, {IP: addresses[1]}}}}}
	if !managed {
		m.object("services/endpoints/"+ns+"/"+name, whole)
		m.object("endpointslices/"+ns+"/"+name, slice)
		return
	}
	whole.Labels = map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
	slice.Labels = map[string]string{"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}
	m.gone("services/endpoints/"+ns+"/"+name, whole)
	m.gone("endpointslices/"+ns+"/"+name, slice)
}

// services makes what the service authority signs: most of a cluster's leaves.
func (m *maker) services(ca *Pair, bundle string) {
	for i := range m.size.Objects / 3 {
		ns := fmt.Sprintf("app-%d", i%97)
		name := fmt.Sprintf("service-%d", i)
		m.tls(ns, name, m.issue(request{cn: name + "." + ns + ".svc", parent: ca, names: []string{name + "." + ns + ".svc"}}), ca)
		if i%20 == 0 {
			m.file(fmt.Sprintf("%skube-apiserver-pod-%d/secrets/service/tls.crt", staticPod, i), ca.CertPEM)
		}
		if i%30 == 0 {
			m.configMap(ns, fmt.Sprintf("trusted-ca-%d", i), map[string]string{"ca-bundle.crt": bundle})
		}
	}
}

// filler makes the objects that have nothing to do with the node.
func (m *maker) filler() {
	for i := range m.size.Objects / 3 {
		ns, name := fmt.Sprintf("app-%d", i%97), fmt.Sprintf("config-%d", i)
		text := "servers: 10.0.0.1, fd00::1\n"
		if i%10 == 0 { // most never heard of the node
			text += fmt.Sprintf("upstream: %s\n", m.lookalikes())
		}
		for range m.rand("length " + name).IntN(12) {
			text += "a: line of a configuration, as they go on and on and on\n"
		}
		m.configMap(ns, name, map[string]string{"config.yaml": text})
		m.object("deployments/"+ns+"/"+name, &appsv1.Deployment{TypeMeta: kind("apps/v1", "Deployment"), ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}})
	}
}
