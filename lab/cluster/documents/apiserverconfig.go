package documents

import "github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"

// apiServerConfig is kube-apiserver's config.yaml (KubeAPIServerConfig of kubecontrolplane.config.openshift.io/v1) with the
// fields that lab/apiserverflags turns into flags. Paths are those inside the pod.
func apiServerConfig(s site.Site) map[string]any {
	const (
		certs     = "/etc/kubernetes/static-pod-certs/"
		resources = "/etc/kubernetes/static-pod-resources/"
	)
	pair := func(name string) map[string]any {
		return map[string]any{"certFile": certs + "secrets/" + name + "/tls.crt", "keyFile": certs + "secrets/" + name + "/tls.key"}
	}
	recovery := map[string]any{
		"certFile": resources + "secrets/localhost-recovery-serving-certkey/tls.crt",
		"keyFile":  resources + "secrets/localhost-recovery-serving-certkey/tls.key",
	}
	serving := pair("service-network-serving-certkey")
	serving["bindAddress"] = s.ListenHost() + ":6443"
	serving["bindNetwork"] = "tcp"
	serving["clientCA"] = certs + "configmaps/client-ca/ca-bundle.crt"
	serving["minTLSVersion"] = "VersionTLS12"
	serving["namedCertificates"] = []any{
		pair("localhost-serving-cert-certkey"), pair("service-network-serving-certkey"),
		pair("external-loadbalancer-serving-certkey"), pair("internal-loadbalancer-serving-certkey"), recovery,
	}
	return map[string]any{
		"apiVersion":                   "kubecontrolplane.config.openshift.io/v1",
		"kind":                         "KubeAPIServerConfig",
		"aggregatorConfig":             map[string]any{"proxyClientInfo": pair("aggregator-client")},
		"apiServerArguments":           apiServerArguments(s, certs, resources),
		"serviceAccountPublicKeyFiles": []any{resources + "configmaps/sa-token-signing-certs", resources + "configmaps/bound-sa-token-signing-certs"},
		"servicesNodePortRange":        "30000-32767",
		"servicesSubnet":               s.ServicesSubnet(),
		"servingInfo":                  serving,
	}
}

// apiServerArguments are the flags that OpenShift passes through as they are, and one more: the grace period for watches. Without it
// an API server that is stopped may wait for its clients to end them until it is killed.
func apiServerArguments(s site.Site, certs, resources string) map[string]any {
	one := func(v string) []any { return []any{v} }
	return map[string]any{
		"allow-privileged":                   one("true"),
		"anonymous-auth":                     one("true"),
		"api-audiences":                      one("https://kubernetes.default.svc"),
		"authorization-mode":                 []any{"RBAC", "Node"},
		"enable-aggregator-routing":          one("true"),
		"endpoint-reconciler-type":           one("lease"),
		"etcd-cafile":                        one(resources + "configmaps/etcd-serving-ca/ca-bundle.crt"),
		"etcd-certfile":                      one(resources + "secrets/etcd-client/tls.crt"),
		"etcd-keyfile":                       one(resources + "secrets/etcd-client/tls.key"),
		"etcd-prefix":                        one("kubernetes.io"),
		"etcd-servers":                       etcdServers(s),
		"event-ttl":                          one("3h"),
		"kubelet-certificate-authority":      one(resources + "configmaps/kubelet-serving-ca/ca-bundle.crt"),
		"kubelet-client-certificate":         one(certs + "secrets/kubelet-client/tls.crt"),
		"kubelet-client-key":                 one(certs + "secrets/kubelet-client/tls.key"),
		"kubelet-preferred-address-types":    one("InternalIP"),
		"requestheader-allowed-names":        []any{"kube-apiserver-proxy", "system:kube-apiserver-proxy", "system:openshift-aggregator"},
		"requestheader-client-ca-file":       one(certs + "configmaps/aggregator-client-ca/ca-bundle.crt"),
		"requestheader-extra-headers-prefix": one("X-Remote-Extra-"),
		"requestheader-group-headers":        one("X-Remote-Group"),
		"requestheader-username-headers":     one("X-Remote-User"),
		"service-account-issuer":             one("https://kubernetes.default.svc"),
		"service-account-signing-key-file":   one(certs + "secrets/bound-service-account-signing-key/service-account.key"),
		"shutdown-delay-duration":            one("0s"),

		"shutdown-watch-termination-grace-period": one("1s"),

		"storage-backend":    one("etcd3"),
		"storage-media-type": one("application/vnd.kubernetes.protobuf"),
	}
}

// etcdServers is how the config observer writes etcd's endpoints: by address, and by localhost for the way back.
func etcdServers(s site.Site) []any {
	return []any{s.EtcdURL(), "https://localhost:2379"}
}
