package cluster

import (
	"fmt"
	"time"
)

// objectKey names a namespaced object.
type objectKey struct{ Namespace, Name string }

// signerSpec is one line of the table of certificate authorities.
type signerSpec struct {
	ID       string    // the name the other tables use
	CN       string    // "%d" is replaced by the Unix time of creation, as library-go names its signers
	Secret   objectKey // empty when the key is not kept in the cluster
	Validity time.Duration
}

const (
	nsAPIServer         = "openshift-kube-apiserver"
	nsAPIServerOperator = "openshift-kube-apiserver-operator"
	nsControllerOp      = "openshift-kube-controller-manager-operator"
	nsEtcd              = "openshift-etcd"
	nsConfig            = "openshift-config"
	nsConfigManaged     = "openshift-config-managed"
)

// signers lists the authorities of an OpenShift control plane with their field names and life times.
func signers() []signerSpec {
	op := func(name string) objectKey { return objectKey{nsAPIServerOperator, name} }
	const tenYears = 3650 * day
	return []signerSpec{
		{"lb", "kube-apiserver-lb-signer", op("loadbalancer-serving-signer"), tenYears},
		{"localhost", "kube-apiserver-localhost-signer", op("localhost-serving-signer"), tenYears},
		{"service-network", "kube-apiserver-service-network-signer", op("service-network-serving-signer"), tenYears},
		{"recovery", nsAPIServerOperator + "_localhost-recovery-serving-signer@%d", op("localhost-recovery-serving-signer"), tenYears},
		{"to-kubelet", "kube-apiserver-to-kubelet-signer", op("kube-apiserver-to-kubelet-signer"), 365 * day},
		{"control-plane", "kube-control-plane-signer", op("kube-control-plane-signer"), 365 * day},
		{"node-admin", nsAPIServerOperator + "_node-system-admin-signer@%d", op("node-system-admin-signer"), 365 * day},
		{"aggregator", nsAPIServerOperator + "_aggregator-client-signer@%d", op("aggregator-client-signer"), 30 * day},
		{"csr", "kube-csr-signer_@%d", objectKey{nsControllerOp, "csr-signer"}, 60 * day},
		{"etcd", "openshift-etcd_etcd-signer@%d", objectKey{nsEtcd, "etcd-signer"}, 5 * 365 * day},
		{"etcd-metric", "openshift-etcd_etcd-metric-signer@%d", objectKey{nsEtcd, "etcd-metric-signer"}, 5 * 365 * day},
		{"ingress", "ingress-operator@%d", objectKey{"openshift-ingress-operator", "router-ca"}, 2 * 365 * day},
		{ID: "admin", CN: "admin-kubeconfig-signer", Validity: tenYears},
	}
}

// bundleSpec is a CA bundle: the certificates of some signers in one text.
type bundleSpec struct {
	Signers    []string
	Key        string      // the data key, which is the file's name too
	ConfigMaps []objectKey // where the cluster keeps it
	Dirs       []string    // directories below static-pod-resources that hold it
}

// bundles lists the CA bundles that components of the node read.
func bundles() []bundleSpec {
	const ca = "ca-bundle.crt"
	api := func(name string) objectKey { return objectKey{nsAPIServer, name} }
	clientCA := []string{"admin", "csr", "to-kubelet", "control-plane", "node-admin"}
	serverCA := []string{"lb", "localhost", "service-network", "recovery"}
	return []bundleSpec{
		{clientCA, ca, []objectKey{api("client-ca"), {nsConfigManaged, "kube-apiserver-client-ca"}},
			[]string{"kube-apiserver-certs/configmaps/client-ca"}},
		{[]string{"aggregator"}, ca, []objectKey{api("aggregator-client-ca"), {nsConfigManaged, "kube-apiserver-aggregator-client-ca"}},
			[]string{"kube-apiserver-certs/configmaps/aggregator-client-ca"}},
		{serverCA, ca, []objectKey{api("kube-apiserver-server-ca"), api("kube-apiserver-server-ca-1"), {nsConfigManaged, "kube-apiserver-server-ca"}},
			[]string{"kube-apiserver-pod-1/configmaps/kube-apiserver-server-ca"}},
		{[]string{"csr"}, ca, []objectKey{api("kubelet-serving-ca"), api("kubelet-serving-ca-1"), {nsConfigManaged, "kubelet-serving-ca"}},
			[]string{"kube-apiserver-pod-1/configmaps/kubelet-serving-ca"}},
		{[]string{"etcd"}, ca, []objectKey{api("etcd-serving-ca"), api("etcd-serving-ca-1"), {nsConfig, "etcd-serving-ca"}, {nsEtcd, "etcd-ca-bundle"}},
			[]string{"kube-apiserver-pod-1/configmaps/etcd-serving-ca"}},
		{[]string{"etcd-metric"}, ca, []objectKey{{nsEtcd, "etcd-metrics-ca-bundle"}, {nsConfig, "etcd-metric-serving-ca"}}, nil},
		{[]string{"etcd"}, "server-ca-bundle.crt", []objectKey{{nsEtcd, "etcd-all-bundles"}}, etcdBundleDirs()},
		{[]string{"etcd-metric"}, "metrics-ca-bundle.crt", []objectKey{{nsEtcd, "etcd-all-bundles"}}, etcdBundleDirs()},
		{[]string{"admin"}, ca, []objectKey{{nsConfig, "admin-kubeconfig-client-ca"}}, nil},
		{[]string{"ingress"}, ca, []objectKey{{nsConfigManaged, "default-ingress-cert"}}, nil},
		{[]string{"csr"}, ca, []objectKey{{nsControllerOp, "csr-signer-ca"}, {nsConfigManaged, "csr-controller-ca"}}, nil},
	}
}

func etcdBundleDirs() []string {
	return []string{"etcd-certs/configmaps/etcd-all-bundles", "etcd-pod-1/configmaps/etcd-all-bundles"}
}

// newAuthorities makes a fresh key pair for every signer, by ID.
func newAuthorities(now time.Time) (map[string]*KeyPair, error) {
	cas := map[string]*KeyPair{}
	for _, spec := range signers() {
		ca, err := newAuthority(now, signerName(spec.CN, now), spec.Validity)
		if err != nil {
			return nil, fmt.Errorf("make the signer %s: %w", spec.ID, err)
		}
		cas[spec.ID] = ca
	}
	return cas, nil
}

func signerName(cn string, now time.Time) string {
	if len(cn) > 2 && cn[len(cn)-2:] == "%d" {
		return fmt.Sprintf(cn, now.Unix())
	}
	return cn
}
