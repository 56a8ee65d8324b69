package recert

import (
	"path"
	"slices"
	"strings"
)

// diskRule names files that carry addresses, by the end of their path.
type diskRule struct {
	tail string
	in   within
	why  string
}

// diskRules are the files of the static pods' installers that mirror objects of the cluster.
func diskRules() []diskRule {
	const pod = "static pod of etcd"
	return append(nodeDiskRules(), []diskRule{
		{"etcd-pod.yaml", anywhere, pod},
		{"*etcd-pod/pod.yaml", anywhere, pod},
		{"restore-etcd-pod/quorum-restore-pod.yaml", anywhere, pod},
		{"etcd-scripts/etcd.env", etcdVariables(), "environment of etcd's scripts"},
		{"etcd-endpoints/*", anywhere, "endpoint of etcd"},
		{"kube-apiserver-pod-*/configmaps/config/config.yaml", apiServerURLs(), "etcd URL of kube-apiserver"},
	}...)
}

// cryptoFiles are the names of files that may hold certificates or keys.
func cryptoFiles() []string {
	return []string{"*.pem", "*.crt", "*.key", "*.pub", "*.crt.mcdorig", "*.key.mcdorig", "*.pub.mcdorig", "*kubeconfig", "kubeConfig",
		"currentconfig", "mcs-machine-config-content.json"}
}

// skippedDirs are not walked: what pods and their volumes hold is theirs and is made anew with them.
func skippedDirs() []string {
	const kubelet = "/var/lib/kubelet/"
	return []string{kubelet + "pods", kubelet + "plugins", kubelet + "plugins_registry", kubelet + "device-plugins"}
}

// kubeletServing is the certificate that the kubelet asks for by CSR when it has none that fits.
const kubeletServing = "/var/lib/kubelet/pki/kubelet-server-"

// matchTail compares a pattern with as many trailing steps of a file's path as it has.
func matchTail(pattern, file string) bool {
	steps := strings.Split(file, "/")
	n := strings.Count(pattern, "/") + 1
	return len(steps) >= n && matchKey(pattern, strings.Join(steps[len(steps)-n:], "/"))
}

func isCryptoFile(file string) bool {
	return slices.ContainsFunc(cryptoFiles(), func(p string) bool { return matchKey(p, path.Base(file)) })
}
