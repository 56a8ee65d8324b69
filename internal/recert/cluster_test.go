package recert

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// A made-up cluster that has one of everything, on two addresses, with neighbours whose addresses look alike.
const (
	oldV4, newV4 = "192.0.2.1", "198.51.100.20"
	oldV6, newV6 = "2001:db8::1", "2001:db8:77::20"
	lookalike    = "192.0.2.10"
	configPath   = "/var/lib/lca/workspace/recert_config.json"
	res          = "/etc/kubernetes/static-pod-resources/"
)

var testTime = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// builder collects a world.
type builder struct {
	t testing.TB
	w *world
}

func (b *builder) put(key string, value []byte) {
	b.w.rev++
	b.w.keys[rules.StoragePrefix+key] = host.KeyValue{Key: rules.StoragePrefix + key, Value: value, ModRevision: b.w.rev}
}

func (b *builder) object(key string, obj runtime.Object) { b.put(key, stored(b.t, obj)) }

func (b *builder) json(key string, obj any) {
	value, err := json.Marshal(obj)
	if err != nil {
		b.t.Fatal(err)
	}
	b.put(key, value)
}

func (b *builder) secret(ns, name string, data map[string]string, annotations ...string) {
	s := &corev1.Secret{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: map[string][]byte{}}
	for k, v := range data {
		s.Data[k] = []byte(v)
	}
	for i := 0; i+1 < len(annotations); i += 2 {
		if s.Annotations == nil {
			s.Annotations = map[string]string{"unrelated": "x"}
		}
		s.Annotations[annotations[i]] = annotations[i+1]
	}
	b.object("secrets/"+ns+"/"+name, s)
}

func (b *builder) configMap(ns, name string, data map[string]string) {
	b.object("configmaps/"+ns+"/"+name, &corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Data: data})
}

func (b *builder) file(path, text string) { b.w.files[path] = fakeFile{[]byte(text), 0o600} }

func mustJSON(v any) string {
	out, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(out)
}

// newWorld builds the cluster.
func newWorld(t testing.TB) *world {
	t.Helper()
	b := &builder{t: t, w: &world{files: map[string]fakeFile{}, keys: map[string]host.KeyValue{}, budget: -1,
		member: host.StoreMember{ID: 7, Name: "sno", PeerURLs: []string{"https://" + oldV4 + ":2380"}}}}
	b.certificates()
	b.texts()
	b.customResources()
	b.workloads()
	b.config(map[string]any{})
	return b.w
}

func (b *builder) certificates() {
	t := b.t
	etcdCA, metricCA, csrCA := clustertest.Authority(t, "openshift-etcd_etcd-signer@1", "rsa"), clustertest.Authority(t, "metric-signer", "p384"), clustertest.Authority(t, "kube-csr-signer_@1", "p256")
	goneCA, edCA := clustertest.Authority(t, "gone", "p256"), clustertest.Authority(t, "ed", "ed25519")
	b.secret("openshift-etcd", "etcd-signer", map[string]string{"tls.crt": etcdCA.CertPEM, "tls.key": etcdCA.KeyPEM})
	b.secret("openshift-etcd", "etcd-metric-signer", map[string]string{"tls.crt": metricCA.CertPEM, "tls.key": metricCA.KeyPEM})
	b.secret("openshift-kube-controller-manager-operator", "csr-signer", map[string]string{"tls.crt": csrCA.CertPEM, "tls.key": csrCA.KeyPEM})
	b.secret("ns", "ed", map[string]string{"tls.crt": edCA.CertPEM, "tls.key": edCA.KeyPEM})
	names := []string{"localhost", "127.0.0.1", "::1", oldV4, oldV6, lookalike}
	peer := clustertest.Leaf(t, etcdCA, "rsa", "system:etcd-peer:sno", names...)
	serving := clustertest.Leaf(t, etcdCA, "p256", "system:etcd-server:sno", names...)
	metrics := clustertest.Leaf(t, metricCA, "p256", "system:etcd-metric:sno", names...)
	all := map[string]string{}
	for name, leaf := range map[string]*clustertest.Pair{"etcd-peer-sno": peer, "etcd-serving-sno": serving, "etcd-serving-metrics-sno": metrics} {
		chain := leaf.CertPEM + etcdCA.CertPEM
		b.secret("openshift-etcd", name, map[string]string{"tls.crt": chain, "tls.key": leaf.KeyPEM},
			"auth.openshift.io/certificate-hostnames", "127.0.0.1,"+oldV4+","+oldV6+",::1,localhost")
		all[name+".crt"], all[name+".key"] = chain, leaf.KeyPEM
		for _, dir := range []string{"etcd-certs", "etcd-pod-1"} {
			b.file(res+dir+"/secrets/etcd-all-certs/"+name+".crt", chain)
			b.file(res+dir+"/secrets/etcd-all-certs/"+name+".key", leaf.KeyPEM)
		}
	}
	b.secret("openshift-etcd", "etcd-all-certs", all)
	kubelet := clustertest.Leaf(t, csrCA, "p256", "system:node:sno", "sno", oldV4, oldV6)
	b.file("/var/lib/kubelet/pki/kubelet-server-2026-05-01.pem", kubelet.CertPEM+kubelet.KeyPEM)
	b.file("/var/lib/kubelet/pods/uid/volumes/tls.crt", kubelet.CertPEM)
	client := clustertest.Leaf(t, csrCA, "p256", "client", oldV4)
	kubeconfig := fmt.Sprintf("users:\n- name: u\n  user:\n    client-certificate-data: %s\n    client-key-data: %s\n",
		base64.StdEncoding.EncodeToString([]byte(client.CertPEM)), base64.StdEncoding.EncodeToString([]byte(client.KeyPEM)))
	b.file("/etc/kubernetes/kubeconfig", kubeconfig)
	b.configMap("ns", "kubeconfig", map[string]string{"kubeconfig": kubeconfig})
	edLeaf := clustertest.Leaf(t, edCA, "ed25519", oldV4, oldV6, "https://"+oldV4+":8443/x")
	b.secret("ns", "ed-leaf", map[string]string{"tls.crt": strings.ReplaceAll(edLeaf.CertPEM, "\n", "\r\n"), "tls.key": edLeaf.KeyPEM})
	self := clustertest.Leaf(t, nil, "p256", oldV4, oldV4)
	b.secret("ns", "self-signed", map[string]string{"tls.crt": self.CertPEM, "tls.key": self.KeyPEM})
	b.configMap("ns", "trusts-self-signed", map[string]string{"ca.crt": self.CertPEM})
	foreign := clustertest.Leaf(t, goneCA, "p256", "foreign", oldV4)
	b.secret("ns", "foreign", map[string]string{"tls.crt": foreign.CertPEM, "tls.key": foreign.KeyPEM})
	other := clustertest.Leaf(t, etcdCA, "p256", "other", lookalike)
	b.secret("ns", "unaffected", map[string]string{"tls.crt": other.CertPEM, "tls.key": other.KeyPEM})
	b.secret("kube-system", "kubeadmin", map[string]string{"kubeadmin": "hash"})
}

func (b *builder) texts() {
	pod := "env:\n- name: NODE_sno_IP\n  value: \"" + oldV4 + "\"\n- name: ALL\n  value: https://" + oldV4 + ":2379,https://[2001:DB8:0::1]:2379,https://" + lookalike + ":2379\n"
	env := "export ALL_ETCD_ENDPOINTS=\"https://" + oldV4 + ":2379\"\nexport NODE_sno_IP=\"" + oldV4 + "\"\nexport NODE_sno_ETCD_URL_HOST=\"[" + oldV6 + "]\"\n"
	config := mustJSON(map[string]any{"apiServerArguments": map[string]any{"etcd-servers": []string{"https://" + oldV4 + ":2379", "https://localhost:2379"}}})
	for _, suffix := range []string{"", "-1"} {
		b.configMap("openshift-etcd", "etcd-pod"+suffix, map[string]string{"pod.yaml": pod, "version": "1"})
		b.configMap("openshift-etcd", "etcd-endpoints"+suffix, map[string]string{"MTky": oldV4})
		b.configMap("openshift-kube-apiserver", "config"+suffix, map[string]string{"config.yaml": config})
	}
	b.configMap("openshift-etcd", "restore-etcd-pod", map[string]string{"pod.yaml": pod, "quorum-restore-pod.yaml": pod})
	b.configMap("openshift-etcd", "etcd-scripts", map[string]string{"etcd.env": env, "other": "echo " + oldV4})
	b.configMap("openshift-apiserver", "config", map[string]string{"config.yaml": mustJSON(map[string]any{"storageConfig": map[string]any{"urls": []string{"https://" + oldV4 + ":2379"}}})})
	b.configMap("ns", "user", map[string]string{"note": "my node is " + oldV4, "other": lookalike})
	install := "networking:\n  machineNetwork:\n  - cidr: 192.0.2.0/24 # ours\n  - cidr: 2001:db8::/64\n"
	b.configMap("kube-system", "cluster-config-v1", map[string]string{"install-config": install})
	b.configMap("openshift-etcd", "cluster-config-v1", map[string]string{"install-config": install})
	b.file("/etc/kubernetes/manifests/etcd-pod.yaml", pod)
	b.file(res+"etcd-pod-1/configmaps/etcd-pod/pod.yaml", pod)
	b.file(res+"etcd-pod-1/configmaps/etcd-endpoints/MTky", oldV4)
	b.file(res+"etcd-certs/configmaps/restore-etcd-pod/pod.yaml", pod)
	b.file(res+"etcd-certs/configmaps/restore-etcd-pod/quorum-restore-pod.yaml", pod)
	b.file(res+"etcd-certs/configmaps/etcd-scripts/etcd.env", env)
	b.file(res+"kube-apiserver-pod-1/configmaps/config/config.yaml", config)
	b.file("/etc/kubernetes/unrelated", "see "+oldV4)
}

func (b *builder) customResources() {
	servers := []string{"https://" + oldV4 + ":2379"}
	operator := func(kind string, observed map[string]any) map[string]any {
		return map[string]any{"apiVersion": "operator.openshift.io/v1", "kind": kind, "metadata": map[string]any{"name": "cluster"},
			"spec": map[string]any{"observedConfig": observed, "unsupported": "café & <co>"}}
	}
	args := map[string]any{"apiServerArguments": map[string]any{"etcd-servers": servers}}
	b.json("operator.openshift.io/kubeapiservers/cluster", operator("KubeAPIServer", args))
	b.json("operator.openshift.io/openshiftapiservers/cluster", operator("OpenShiftAPIServer", map[string]any{"storageConfig": map[string]any{"urls": servers}}))
	b.json("operator.openshift.io/authentications/cluster", operator("Authentication", map[string]any{"oauthAPIServer": args}))
	b.json("operator.openshift.io/networks/cluster", map[string]any{"kind": "Network", "metadata": map[string]any{
		"annotations": map[string]any{"networkoperator.openshift.io/ovn-cluster-initiator": oldV4}}})
	b.json("config.openshift.io/proxies/cluster", map[string]any{"kind": "Proxy", "status": map[string]any{"noProxy": ".svc,192.0.2.0/24," + oldV4}})
	b.json("config.openshift.io/clusterversions/version", map[string]any{"kind": "ClusterVersion", "status": map[string]any{"conditions": []any{
		map[string]any{"type": "Progressing", "status": "False", "message": "Cluster version is 4.22.0", "lastTransitionTime": "2026-01-01T00:00:00Z"},
		map[string]any{"type": "Available", "status": "True", "message": "Done applying 4.22.0", "lastTransitionTime": "2026-01-01T00:00:00Z"},
	}}})
	script := base64.StdEncoding.EncodeToString([]byte("HOST_IP=" + oldV4))
	b.json("machineconfiguration.openshift.io/machineconfigs/50-master-dnsmasq-configuration", map[string]any{"kind": "MachineConfig",
		"spec": map[string]any{"config": map[string]any{"storage": map[string]any{"files": []any{
			map[string]any{"path": "/x", "contents": map[string]any{"source": "data:text/plain;charset=utf-8;base64," + script}}}}}}})
	b.object("deployments/openshift-oauth-apiserver/apiserver", &appsv1.Deployment{TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"},
		Spec: appsv1.DeploymentSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c",
			Args: []string{"exec oauth-apiserver start \\\n  --etcd-servers=https://" + oldV4 + ":2379 \\\n  --v=2"}}}}}}})
}

func (b *builder) workloads() {
	pod := func(ns, name string, annotations map[string]string, owner string) {
		p := &corev1.Pod{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Pod"}, ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Annotations: annotations}}
		if owner != "" {
			p.OwnerReferences = []metav1.OwnerReference{{Kind: owner, Name: "x"}}
		}
		b.object("pods/"+ns+"/"+name, p)
	}
	pod("openshift-etcd", "etcd-sno", map[string]string{"kubernetes.io/config.mirror": "x"}, "")
	pod("ns", "owned", nil, "ReplicaSet")
	pod("ns", "bare", nil, "")
	b.object("minions/sno", &corev1.Node{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Node"}, ObjectMeta: metav1.ObjectMeta{Name: "sno", Labels: map[string]string{"rack": "7"}},
		Spec: corev1.NodeSpec{Taints: []corev1.Taint{{Key: "edge", Effect: corev1.TaintEffectNoSchedule}}},
		Status: corev1.NodeStatus{Addresses: []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: oldV6},
			{Type: corev1.NodeHostName, Address: "sno"}, {Type: corev1.NodeInternalIP, Address: oldV4}}}})
	b.object("leases/kube-node-lease/sno", &coordinationv1.Lease{TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}})
	endpoints := func(ns, name string, labels map[string]string) {
		//nolint:staticcheck // clusters hold Endpoints, deprecated or not
		b.object("services/endpoints/"+ns+"/"+name, &corev1.Endpoints{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Endpoints"},
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
			Subsets:    []corev1.EndpointSubset{{Addresses: []corev1.EndpointAddress{{IP: oldV4}, {IP: lookalike}}}}})
		if labels != nil {
			labels = map[string]string{"endpointslice.kubernetes.io/managed-by": "endpointslice-controller.k8s.io"}
		}
		b.object("endpointslices/"+ns+"/"+name, &discoveryv1.EndpointSlice{TypeMeta: metav1.TypeMeta{APIVersion: "discovery.k8s.io/v1", Kind: "EndpointSlice"},
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Labels: labels},
			Endpoints:  []discoveryv1.Endpoint{{Addresses: []string{oldV4}}}})
	}
	endpoints("default", "kubernetes", nil)
	endpoints("ns", "managed", map[string]string{"endpoints.kubernetes.io/managed-by": "endpoint-controller"})
	endpoints("ns", "by-hand", nil)
}

// config writes recert_config.json as the flow does, with the given keys on top.
func (b *builder) config(extra map[string]any) {
	cfg := map[string]any{
		"ip_change_only": true, "etcd_endpoint": "localhost:2379",
		"crypto_dirs":                []string{"/kubelet", "/kubernetes", "/machine-config-daemon"},
		"cluster_customization_dirs": []string{"/kubelet", "/kubernetes", "/machine-config-daemon"},
		"crypto_files":               []string{"/host-etc/mcs-machine-config-content.json"},
		"ip":                         []string{newV4, newV6}, "machine_network_cidr": []string{"198.51.100.0/24", "2001:db8:77::/64"},
	}
	for k, v := range extra {
		if v == nil {
			delete(cfg, k)
			continue
		}
		cfg[k] = v
	}
	b.file(configPath, mustJSON(cfg))
}
