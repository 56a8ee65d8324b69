package clustertest

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"hash/fnv"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func compact(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// texts makes the configurations that name the node, and their copies on disk.
func (m *maker) texts() {
	v4, neighbour := m.site.V4.String(), m.site.Neighbour.String()
	node, own, known := m.site.Node, m.variable(), m.site.Known
	pod := fmt.Sprintf("env:\n- name: NODE_%s_IP\n  value: \"%s\" # ours\n- name: ALL\n  value: https://%s:2379,https://[%s]:2379,https://%s:2379\n# see %s\n",
		own, v4, v4, m.spell("pod"), neighbour, m.lookalikes())
	pod += fmt.Sprintf("- name: \"NODE_%s_ETCD_NAME\"\n  value: \"%s\"\n- name: OTHER\n  value: %s\n", own, node, known)
	pod += fmt.Sprintf("args:\n- exec etcd --cert=/etc/etcd-peer-%s.crt --key=etcd-serving-%s.key --name=${NODE_%s_ETCD_NAME} etcd-peer-%s2.crt etcd-peer-%s.example.com.crt NODE_%s_2_IP\n",
		node, node, own, known, known, known)
	env := fmt.Sprintf("export ALL_ETCD_ENDPOINTS=\"https://%s:2379\"\nexport NODE_%s_IP=\"%s\"\nexport NODE_%s_ETCD_URL_HOST=\"[%s]\"\nexport OTHER=%s\n",
		v4, own, v4, own, m.spell("env"), m.site.Bystander[0])
	env += fmt.Sprintf("export NODE_%s_ETCD_NAME=\"%s\"\nexport ETCDCTL_CERT=\"/x/etcd-peer-%s.crt\"\nexport NODE_%s_2_ETCD_NAME=\"%s\"\n", own, node, node, known, known)
	api := compact(map[string]any{"apiServerArguments": map[string]any{"etcd-servers": []string{"https://" + v4 + ":2379", "https://localhost:2379"},
		"advertise-address": []string{m.site.Bystander[0].String()}}})
	for _, suffix := range []string{"", "-6", "-7"} {
		m.configMap(etcdNS, "etcd-pod"+suffix, map[string]string{"pod.yaml": pod, "version": "x"})
		m.configMap(etcdNS, "etcd-endpoints"+suffix, map[string]string{"MTky": v4})
		m.configMap("openshift-kube-apiserver", "config"+suffix, map[string]string{"config.yaml": api})
	}
	m.configMap(etcdNS, "restore-etcd-pod", map[string]string{"pod.yaml": pod, "quorum-restore-pod.yaml": pod})
	m.configMap(etcdNS, "etcd-scripts", map[string]string{"etcd.env": env, "other": "echo " + m.site.Bystander[0].String()})
	m.apiServer(map[string]string{"config.yaml": compact(map[string]any{"storageConfig": map[string]any{"urls": []string{"https://" + v4 + ":2379"}}})})
	monitor := fmt.Sprintf("args: [\"--node-name=%s\", \"--node-name=%s-2\", \"%s\"]\n", node, known, known)
	m.configMap("openshift-kube-apiserver", "kube-apiserver-pod-3", map[string]string{"kube-apiserver-startup-monitor-pod.yaml": monitor, "pod.yaml": known})
	m.file("/etc/kubernetes/manifests/kube-apiserver-startup-monitor-pod.yaml", monitor)
	m.configMap("ns", "user", map[string]string{"note": fmt.Sprintf("my node is %s, or %s", m.site.Bystander[0], m.site.Bystander[1])})
	install := fmt.Sprintf("baseDomain: %s # ours\nmetadata:\n  name: \"%s\"\nnetworking:\n  machineNetwork:\n  - cidr: %s # ours\n  - cidr: %s\n", m.site.Domain, m.site.Name, m.site.Networks[0], m.site.Networks[1])
	for _, ns := range []string{"kube-system", etcdNS} {
		m.configMap(ns, "cluster-config-v1", map[string]string{"install-config": install})
	}
	m.secret("kube-system", "kubeadmin", map[string]string{"kubeadmin": "a hash"}, nil)
	m.file("/etc/kubernetes/manifests/etcd-pod.yaml", pod)
	for _, dir := range []string{"etcd-pod-6", "etcd-pod-7", "etcd-certs"} {
		m.file(staticPod+dir+"/configmaps/etcd-pod/pod.yaml", pod)
		m.file(staticPod+dir+"/configmaps/etcd-endpoints/MTky", v4)
		m.file(staticPod+dir+"/configmaps/restore-etcd-pod/pod.yaml", pod)
		m.file(staticPod+dir+"/configmaps/restore-etcd-pod/quorum-restore-pod.yaml", pod)
		m.file(staticPod+dir+"/configmaps/etcd-scripts/etcd.env", env)
	}
	m.file(staticPod+"kube-apiserver-pod-3/configmaps/config/config.yaml", api)
	m.file("/etc/kubernetes/unrelated", "see "+m.site.Bystander[0].String())
}

// apiServer makes what openshift-apiserver is deployed from, and the Deployment in which its operator notes hashes of that.
func (m *maker) apiServer(config map[string]string) {
	const ns, note = "openshift-apiserver", "operator.openshift.io/dep-openshift-apiserver."
	bundle := map[string]string{"ca-bundle.crt": "none"}
	m.configMap(ns, "config", config)
	m.configMap(ns, "trusted-ca-bundle", bundle)
	notes := map[string]string{note + "config.configmap": dataHash(config), note + "trusted-ca-bundle.configmap": dataHash(bundle),
		note + "image-import-ca.configmap": "made otherwise", "operator.openshift.io/spec-hash": "of the specification"}
	m.object("deployments/"+ns+"/apiserver", &appsv1.Deployment{TypeMeta: kind("apps/v1", "Deployment"),
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "apiserver", Annotations: notes},
		Spec:       appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{ObjectMeta: metav1.ObjectMeta{Annotations: notes}}}})
}

// dataHash is how library-go's operators hash a config map.
func dataHash(data map[string]string) string {
	sum := fnv.New32()
	if err := json.NewEncoder(sum).Encode(data); err != nil {
		panic(err)
	}
	return base64.URLEncoding.EncodeToString(sum.Sum(nil))
}

// customResources makes the operators' own objects.
func (m *maker) customResources() {
	servers := []string{"https://" + m.site.V4.String() + ":2379", "https://[" + m.spell("servers") + "]:2379"}
	operator := func(name, resource string, observed map[string]any) {
		m.custom("operator.openshift.io/"+resource+"/cluster", map[string]any{"apiVersion": "operator.openshift.io/v1", "kind": name,
			"metadata": map[string]any{"name": "cluster", "annotations": map[string]any{"networkoperator.openshift.io/ovn-cluster-initiator": m.site.V4.String()}},
			"spec":     map[string]any{"observedConfig": observed, "unsupported": "café & <co> " + m.site.Bystander[0].String()}})
	}
	args := map[string]any{"apiServerArguments": map[string]any{"etcd-servers": servers}}
	operator("Network", "networks", map[string]any{})
	m.nodeStatuses()
	m.zone()
	annotated := m.site.V4
	m.site.V4 = m.site.Bystander[0] // others' annotations stay
	operator("KubeAPIServer", "kubeapiservers", args)
	operator("OpenShiftAPIServer", "openshiftapiservers", map[string]any{"storageConfig": map[string]any{"urls": servers}})
	operator("Authentication", "authentications", map[string]any{"oauthAPIServer": args})
	m.site.V4 = annotated
	m.custom("config.openshift.io/proxies/cluster", map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "Proxy", "metadata": map[string]any{"name": "cluster"},
		"status": map[string]any{"noProxy": ".svc," + m.site.Bystander[0].String()}})
	m.clusterVersion()
	m.object("deployments/openshift-oauth-apiserver/apiserver", &appsv1.Deployment{TypeMeta: kind("apps/v1", "Deployment"),
		ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-oauth-apiserver", Name: "apiserver"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c",
			Args: []string{"exec oauth-apiserver start \\\n  --etcd-servers=https://" + m.site.V4.String() + ":2379 \\\n  --v=2"}}}}}}})
}

// clusterVersion says that the cluster is available, or after a move that nobody knows.
func (m *maker) clusterVersion() {
	status, message, since := "True", "Done applying 4.22.0", "2026-01-01T00:00:00Z"
	if m.site.Moved {
		status, message, since = "False", "Cluster version status unknown", Now().Format("2006-01-02T15:04:05Z")
	}
	m.custom("config.openshift.io/clusterversions/version", map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "ClusterVersion",
		"metadata": map[string]any{"name": "version"}, "status": map[string]any{"conditions": []any{
			map[string]any{"type": "Progressing", "status": "False", "message": "Cluster version is 4.22.0", "lastTransitionTime": "2026-01-01T00:00:00Z"},
			map[string]any{"type": "Available", "status": status, "message": message, "lastTransitionTime": since}}}})
}

// nodeStatuses is what operators and others note of the node by its name.
func (m *maker) nodeStatuses() {
	for name, resource := range map[string]string{"Etcd": "etcds", "KubeControllerManager": "kubecontrollermanagers", "KubeScheduler": "kubeschedulers"} {
		m.custom("operator.openshift.io/"+resource+"/cluster", map[string]any{"apiVersion": "operator.openshift.io/v1", "kind": name,
			"metadata": map[string]any{"name": "cluster"}, "status": map[string]any{"nodeStatuses": []any{
				map[string]any{"nodeName": m.site.Node, "currentRevision": 7}, map[string]any{"nodeName": m.site.Known + "2", "currentRevision": 7}}}})
	}
	m.custom("machine.openshift.io/machines/openshift-machine-api/m-0", map[string]any{"apiVersion": "machine.openshift.io/v1beta1", "kind": "Machine",
		"metadata": map[string]any{"name": "m-0"}, "status": map[string]any{"nodeRef": map[string]any{"kind": "Node", "name": m.site.Node}}})
	csi := func(name string) map[string]any {
		return map[string]any{"apiVersion": "storage.k8s.io/v1", "kind": "CSINode", "metadata": map[string]any{"name": name}}
	}
	if m.site.Node == m.site.Known { // or else it was deleted so that the kubelet makes its own
		m.custom("csinodes/"+m.site.Node, csi(m.site.Node))
	}
	m.custom("csinodes/"+m.site.Known+"2", csi(m.site.Known+"2"))
}
