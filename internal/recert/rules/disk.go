package rules

import (
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
)

// DiskRule names files that carry addresses, by the end of their path.
type DiskRule struct {
	Tail string
	In   Within
	Why  string
}

// diskRules are the files of the static pods' installers that mirror objects of the cluster.
func diskRules() []DiskRule {
	const pod = "static pod of etcd"
	return append(nodeDiskRules(), []DiskRule{
		{"etcd-pod.yaml", mapAnywhere, pod},
		{"*etcd-pod/pod.yaml", mapAnywhere, pod},
		{"restore-etcd-pod/quorum-restore-pod.yaml", mapAnywhere, pod},
		{"etcd-scripts/etcd.env", etcdVariables(), "environment of etcd's scripts"},
		{"etcd-endpoints/*", mapAnywhere, "endpoint of etcd"},
		{"kube-apiserver-pod-*/configmaps/config/config.yaml", apiServerURLs(), "etcd URL of kube-apiserver"},
	}...)
}

// cryptoFiles are the names of files that may hold certificates or keys.
func cryptoFiles() []string {
	return []string{"*.pem", "*.crt", "*.key", "*.pub", "*.crt.mcdorig", "*.key.mcdorig", "*.pub.mcdorig", "*kubeconfig", "kubeConfig",
		"currentconfig", "mcs-machine-config-content.json"}
}

// SkippedDirs are not read: pods and their volumes are recreated.
func SkippedDirs() []string {
	const kubelet = "/var/lib/kubelet/"
	return []string{kubelet + "pods", kubelet + "plugins", kubelet + "plugins_registry", kubelet + "device-plugins"}
}

// kubeletServing is the certificate that the kubelet requests by CSR when it has none that fits.
const kubeletServing = "/var/lib/kubelet/pki/kubelet-server-"

// IsKubeletServing reports whether a certificate belongs to the kubelet's own server alone.
func IsKubeletServing(cert *certs.Certificate) bool {
	return !slices.ContainsFunc(cert.Places, func(at certs.Place) bool { return !strings.HasPrefix(at.Where, kubeletServing) })
}

// kubeletOwn are the certificates that the kubelet requests by CSR.
const kubeletOwn = "/var/lib/kubelet/pki/"

// IsKubeletOwn reports whether the kubelet requested a certificate.
func IsKubeletOwn(cert *certs.Certificate) bool {
	return slices.ContainsFunc(cert.Places, func(at certs.Place) bool { return strings.HasPrefix(at.Where, kubeletOwn) })
}

// IsCSRSigner reports whether an authority is the one that signs what kubelets request.
func IsCSRSigner(cert *certs.Certificate) bool {
	return slices.ContainsFunc(cert.Places, func(at certs.Place) bool {
		name := strings.TrimPrefix(at.Container, StoragePrefix)
		return name == "secrets/openshift-kube-controller-manager-operator/csr-signer" ||
			name == "secrets/openshift-kube-controller-manager/csr-signer"
	})
}

// MatchTail compares a pattern with as many trailing steps of a file's path as it has.
func MatchTail(pattern, file string) bool {
	steps := strings.Split(file, "/")
	n := strings.Count(pattern, "/") + 1
	return len(steps) >= n && MatchKey(pattern, strings.Join(steps[len(steps)-n:], "/"))
}

// IsCryptoFile reports whether a file may hold certificates or keys.
func IsCryptoFile(file string) bool {
	return slices.ContainsFunc(cryptoFiles(), func(p string) bool { return MatchKey(p, path.Base(file)) })
}
