package pki

import "time"

// ObjectKey names a namespaced object.
type ObjectKey struct{ Namespace, Name string }

// SignerSpec is one line of the table of certificate authorities.
type SignerSpec struct {
	ID       string    // the name the other tables use
	CN       string    // "%d" is replaced by the Unix time of creation, as library-go names its signers
	Secret   ObjectKey // empty when the key is not kept in the cluster
	Validity time.Duration
}

// Namespaces that hold keys.
const (
	NSAPIServer          = "openshift-kube-apiserver"
	NSAPIServerOperator  = "openshift-kube-apiserver-operator"
	NSControllerOperator = "openshift-kube-controller-manager-operator"
	NSEtcd               = "openshift-etcd"
	NSConfig             = "openshift-config"
	NSConfigManaged      = "openshift-config-managed"
)

// Signers lists the authorities of an OpenShift control plane with their field names and life times.
func Signers() []SignerSpec {
	op := func(name string) ObjectKey { return ObjectKey{NSAPIServerOperator, name} }
	const tenYears = 3650 * Day
	return []SignerSpec{
		{"lb", "kube-apiserver-lb-signer", op("loadbalancer-serving-signer"), tenYears},
		{"localhost", "kube-apiserver-localhost-signer", op("localhost-serving-signer"), tenYears},
		{"service-network", "kube-apiserver-service-network-signer", op("service-network-serving-signer"), tenYears},
		{"recovery", NSAPIServerOperator + "_localhost-recovery-serving-signer@%d", op("localhost-recovery-serving-signer"), tenYears},
		{"to-kubelet", "kube-apiserver-to-kubelet-signer", op("kube-apiserver-to-kubelet-signer"), 365 * Day},
		{"control-plane", "kube-control-plane-signer", op("kube-control-plane-signer"), 365 * Day},
		{"node-admin", NSAPIServerOperator + "_node-system-admin-signer@%d", op("node-system-admin-signer"), 365 * Day},
		{"aggregator", NSAPIServerOperator + "_aggregator-client-signer@%d", op("aggregator-client-signer"), 30 * Day},
		{"csr", "kube-csr-signer_@%d", ObjectKey{NSControllerOperator, "csr-signer"}, 60 * Day},
		{"etcd", "openshift-etcd_etcd-signer@%d", ObjectKey{NSEtcd, "etcd-signer"}, 5 * 365 * Day},
		{"etcd-metric", "openshift-etcd_etcd-metric-signer@%d", ObjectKey{NSEtcd, "etcd-metric-signer"}, 5 * 365 * Day},
		{"ingress", "ingress-operator@%d", ObjectKey{"openshift-ingress-operator", "router-ca"}, 2 * 365 * Day},
		{ID: "admin", CN: "admin-kubeconfig-signer", Validity: tenYears},
	}
}

// BundleSpec is a CA bundle: the certificates of some signers in one text.
type BundleSpec struct {
	Signers    []string
	Key        string      // the data key, which is the file's name too
	ConfigMaps []ObjectKey // where the cluster keeps it
	Dirs       []string    // directories below static-pod-resources that hold it
}

// Bundles lists the CA bundles that components of the node read.
func Bundles() []BundleSpec {
	const ca = "ca-bundle.crt"
	api := func(name string) ObjectKey { return ObjectKey{NSAPIServer, name} }
	clientCA := []string{"admin", "csr", "to-kubelet", "control-plane", "node-admin"}
	serverCA := []string{"lb", "localhost", "service-network", "recovery"}
	return []BundleSpec{
		{clientCA, ca, []ObjectKey{api("client-ca"), {NSConfigManaged, "kube-apiserver-client-ca"}},
			[]string{"kube-apiserver-certs/configmaps/client-ca"}},
		{[]string{"aggregator"}, ca, []ObjectKey{api("aggregator-client-ca"), {NSConfigManaged, "kube-apiserver-aggregator-client-ca"}},
			[]string{"kube-apiserver-certs/configmaps/aggregator-client-ca"}},
		{serverCA, ca, []ObjectKey{api("kube-apiserver-server-ca"), api("kube-apiserver-server-ca-1"), {NSConfigManaged, "kube-apiserver-server-ca"}},
			[]string{"kube-apiserver-pod-1/configmaps/kube-apiserver-server-ca"}},
		{[]string{"csr"}, ca, []ObjectKey{api("kubelet-serving-ca"), api("kubelet-serving-ca-1"), {NSConfigManaged, "kubelet-serving-ca"}},
			[]string{"kube-apiserver-pod-1/configmaps/kubelet-serving-ca"}},
		{[]string{"etcd"}, ca, []ObjectKey{api("etcd-serving-ca"), api("etcd-serving-ca-1"), {NSConfig, "etcd-serving-ca"}, {NSEtcd, "etcd-ca-bundle"}},
			[]string{"kube-apiserver-pod-1/configmaps/etcd-serving-ca"}},
		{[]string{"etcd-metric"}, ca, []ObjectKey{{NSEtcd, "etcd-metrics-ca-bundle"}, {NSConfig, "etcd-metric-serving-ca"}}, nil},
		{[]string{"etcd"}, "server-ca-bundle.crt", []ObjectKey{{NSEtcd, "etcd-all-bundles"}}, etcdBundleDirs()},
		{[]string{"etcd-metric"}, "metrics-ca-bundle.crt", []ObjectKey{{NSEtcd, "etcd-all-bundles"}}, etcdBundleDirs()},
		{[]string{"admin"}, ca, []ObjectKey{{NSConfig, "admin-kubeconfig-client-ca"}}, nil},
		{[]string{"ingress"}, ca, []ObjectKey{{NSConfigManaged, "default-ingress-cert"}}, nil},
		{[]string{"csr"}, ca, []ObjectKey{{NSControllerOperator, "csr-signer-ca"}, {NSConfigManaged, "csr-controller-ca"}}, nil},
	}
}

func etcdBundleDirs() []string {
	return []string{"etcd-certs/configmaps/etcd-all-bundles", "etcd-pod-1/configmaps/etcd-all-bundles"}
}
