package rules

import (
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/certs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// StoragePrefix is where an OpenShift kube-apiserver keeps its objects (--etcd-prefix=kubernetes.io).
const StoragePrefix = "/kubernetes.io/"

// AggregatedPrefix is where OpenShift's aggregated API servers keep their objects.
const AggregatedPrefix = "/openshift.io/"

// etcdVariables are those of etcd's environment that carry an address.
func etcdVariables() Within {
	return withinEnvironment("ALL_ETCD_ENDPOINTS", "ETCDCTL_ENDPOINTS", "NODE_*_ETCD_URL_HOST", "NODE_*_IP")
}

// apiServerURLs is where kube-apiserver's configuration names etcd.
func apiServerURLs() Within { return withinDocument("apiServerArguments/etcd-servers/**") }

// hostnamesAnnotation is where library-go's certificate controllers note what they issued a certificate for.
const hostnamesAnnotation = "metadata/annotations/auth.openshift.io|certificate-hostnames"

// etcdRules are the fields of the cluster's objects that carry an address of the node.
func etcdRules() []FieldRule {
	rule := func(keys, field string, in Within, why string) FieldRule {
		return FieldRule{keys, wire.FieldPath(field), in, why}
	}
	const (
		etcd     = "configmaps/openshift-etcd/"
		secrets  = "secrets/openshift-etcd/"
		operator = "operator.openshift.io/"
		names    = "names of the etcd certificate"
	)
	return append(nodeRules(), []FieldRule{
		rule(etcd+"etcd-endpoints*", "data/*", mapAnywhere, "endpoint of etcd"),
		rule(etcd+"etcd-pod*", "data/pod.yaml", mapAnywhere, "static pod of etcd"),
		rule(etcd+"restore-etcd-pod", "data/*", mapAnywhere, "static pod of etcd for a restore"),
		rule(etcd+"etcd-scripts*", "data/etcd.env", etcdVariables(), "environment of etcd's scripts"),
		rule(secrets+"etcd-peer*", hostnamesAnnotation, hostList, names),
		rule(secrets+"etcd-serving*", hostnamesAnnotation, hostList, names),
		rule("secrets/openshift-kube-apiserver/*", hostnamesAnnotation, hostList, "names of the API's certificate"),
		rule("configmaps/openshift-kube-apiserver/config*", "data/config.yaml", apiServerURLs(), "etcd URL of kube-apiserver"),
		rule("configmaps/openshift-apiserver/config*", "data/config.yaml", withinDocument("storageConfig/urls/*"),
			"etcd URL of openshift-apiserver"),
		rule("deployments/openshift-oauth-apiserver/apiserver", "spec/template/spec/containers/*/args/*", withinFlag("--etcd-servers"),
			"etcd URL of oauth-apiserver"),
		rule(operator+"kubeapiservers/cluster", "spec/observedConfig/**", mapAnywhere, "observed etcd URL"),
		rule(operator+"openshiftapiservers/cluster", "spec/observedConfig/storageConfig/urls/*", mapAnywhere, "observed etcd URL"),
		rule(operator+"authentications/cluster", "spec/observedConfig/oauthAPIServer/**", mapAnywhere, "observed etcd URL"),
		rule(operator+"networks/cluster", "metadata/annotations/networkoperator.openshift.io|ovn-cluster-initiator", mapAnywhere,
			"OVN cluster initiator"),
		rule("services/endpoints/*/*", "subsets/*/*/*/ip", mapAnywhere, "endpoints maintained by hand"),
		rule("endpointslices/*/*", "endpoints/*/addresses/*", mapAnywhere, "endpoint slice maintained by hand"),
	}...)
}

// cryptoPrefixes hold certificates and keys, in any of their texts.
func cryptoPrefixes() []string {
	return []string{"secrets/", "configmaps/", "validatingwebhookconfigurations/", "mutatingwebhookconfigurations/",
		"apiregistration.k8s.io/apiservices/", "apiextensions.k8s.io/customresourcedefinitions/",
		"machineconfiguration.openshift.io/machineconfigs/", "machineconfiguration.openshift.io/controllerconfigs/"}
}

// scannedPrefixes are read to report what still mentions an old address.
func scannedPrefixes() []string {
	return []string{"config.openshift.io/", "operator.openshift.io/"}
}

// essentialCertificates are those without which the control plane does not start on the new address: a run that
// cannot re-issue one of them changes nothing. They match etcd keys below the storage prefix, or the end of a file's path.
func essentialCertificates() (keys, files []string) {
	return []string{"secrets/openshift-etcd/etcd-peer-*", "secrets/openshift-etcd/etcd-serving-*", "secrets/openshift-etcd/etcd-all-certs"},
		[]string{"static-pod-resources/etcd-certs/secrets/etcd-all-certs/*"}
}

// IsEssential reports whether one of them is stored in a place.
func IsEssential(at certs.Place) bool {
	keys, files := essentialCertificates()
	name := strings.TrimPrefix(at.Container, StoragePrefix)
	return slices.ContainsFunc(keys, func(p string) bool { return MatchKey(p, name) }) ||
		slices.ContainsFunc(files, func(p string) bool { return MatchTail(p, at.Where) })
}

// HasEssentialPlace reports whether a certificate is one of them.
func HasEssentialPlace(cert *certs.Certificate) bool {
	return slices.ContainsFunc(cert.Places, IsEssential)
}
