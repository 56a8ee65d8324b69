package clustertest

import "fmt"

const (
	etcdNS    = "openshift-etcd"
	staticPod = "/etc/kubernetes/static-pod-resources/"
)

// nodeNames are what a certificate of etcd names: addresses, and once more as DNS names.
func (m *maker) nodeNames() []string {
	return []string{"localhost", "127.0.0.1", "::1", m.site.V4.String(), m.site.V6.String(), m.site.Neighbour.String(), m.site.Node}
}

// controlPlane makes what etcd and the kubelet serve with, in all the places where OpenShift keeps copies.
func (m *maker) controlPlane() {
	signer := m.issue(request{cn: "openshift-etcd_etcd-signer@1", kind: RSA, ca: true})
	old := m.issue(request{cn: "openshift-etcd_etcd-signer@0", kind: RSA, ca: true, serial: 9})
	metric := m.issue(request{cn: "openshift-etcd_etcd-metric-signer@1", kind: P384, ca: true})
	m.tls(etcdNS, "etcd-signer", signer)
	m.tls(etcdNS, "etcd-metric-signer", metric)
	bundle := old.crt + signer.crt // the old signer stays trusted; its key is gone
	m.configMap(etcdNS, "etcd-ca-bundle", map[string]string{"ca-bundle.crt": bundle})
	m.configMap("openshift-config", "etcd-serving-ca", map[string]string{"ca-bundle.crt": bundle})
	hostnames := fmt.Sprintf("%s,%s,127.0.0.1,::1,localhost,%s", m.site.V4, m.site.V6, m.site.Node)
	all := map[string]string{}
	node := m.site.Node
	for _, c := range []struct {
		name, user string
		parent     *pair
		kind       Algorithm
	}{{"etcd-peer-" + node, "system:etcd-peer:", signer, RSA}, {"etcd-serving-" + node, "system:etcd-server:", signer, P256},
		{"etcd-serving-metrics-" + node, "system:etcd-metric:", metric, P256}} {
		p := m.leaf(request{cn: c.user + node, id: c.user, parent: c.parent, kind: c.kind, names: m.nodeNames()})
		chain := p.crt + c.parent.crt
		m.secret(etcdNS, c.name, map[string]string{"tls.crt": chain, "tls.key": p.pem},
			map[string]string{"auth.openshift.io/certificate-hostnames": hostnames, "auth.openshift.io/certificate-not-after": "2029-01-01T00:00:00Z",
				"openshift.io/description": "certificate of " + node + ", signed by " + m.site.Known + "-signer"})
		all[c.name+".crt"], all[c.name+".key"] = chain, p.pem
		for _, dir := range []string{"etcd-certs", "etcd-pod-6", "etcd-pod-7"} {
			m.file(staticPod+dir+"/secrets/etcd-all-certs/"+c.name+".crt", chain)
			m.file(staticPod+dir+"/secrets/etcd-all-certs/"+c.name+".key", p.pem)
			m.file(staticPod+dir+"/configmaps/etcd-ca-bundle/ca-bundle.crt", bundle)
		}
	}
	for _, revision := range []string{"", "-6", "-7"} {
		m.secret(etcdNS, "etcd-all-certs"+revision, all, nil)
	}
	m.kubelet()
}

func (m *maker) kubelet() {
	const ns = "openshift-kube-controller-manager-operator"
	top := m.issue(request{cn: "kube-csr-signer-signer", kind: RSA, ca: true})
	signer := m.issue(request{cn: "kube-csr-signer_@1", parent: top, kind: P256, ca: true, serial: 1})
	m.tls(ns, "csr-signer-signer", top)
	m.tls(ns, "csr-signer", signer, top)
	m.configMap("openshift-config-managed", "csr-controller-ca", map[string]string{"ca-bundle.crt": top.crt + signer.crt})
	user := "system:node:" + m.site.Node
	serving := m.leaf(request{cn: user, id: "serving", parent: signer, names: []string{m.site.Node, m.site.V4.String(), m.site.V6.String()}})
	client := m.leaf(request{cn: user, id: "client", parent: signer, serial: 2})
	near := m.issue(request{cn: "system:node:" + m.site.Known + "2", parent: signer, names: []string{m.site.Known + ".nip.io", "a-" + m.site.Known}})
	m.tls("awkward", "near-the-node", near, signer)
	m.file("/var/lib/kubelet/pki/kubelet-server-2026-05-01-00-00-00.pem", serving.crt+serving.pem)
	m.file("/var/lib/kubelet/pki/kubelet-client-2026-05-01-00-00-00.pem", client.crt+client.pem)
	m.file("/var/lib/kubelet/kubeconfig", kubeconfig("https://api-int."+m.site.Zone()+":6443", top.crt+signer.crt, client))
	theirs := m.issue(request{cn: "system:node:" + m.site.Known, parent: signer, serial: 3, names: []string{m.site.Bystander[0].String()}})
	m.file("/var/lib/kubelet/pods/uid/volumes/kubernetes.io~projected/tls.crt", theirs.crt)
}

// signers makes the authorities of the API's endpoints, with what they sign; nothing in their trees names an address
// of the node, but for a client or two.
func (m *maker) signers() {
	const ns = "openshift-kube-apiserver-operator"
	bundle := ""
	for i, name := range []string{"loadbalancer-serving-signer", "localhost-serving-signer", "service-network-serving-signer",
		"aggregator-client-signer", "kube-control-plane-signer", "kube-apiserver-to-kubelet-signer", "node-system-admin-signer"} {
		kind := Algorithm(m.rand("kind of " + name).IntN(4))
		rotated := m.issue(request{cn: "openshift-kube-apiserver-operator_" + name, kind: P256, ca: true, serial: int64(i)})
		signer := m.issue(request{cn: "openshift-kube-apiserver-operator_" + name, kind: kind, ca: true, serial: int64(100 + i)})
		m.tls(ns, name, signer)
		bundle += rotated.crt + signer.crt
		hosts := []string{"api." + m.site.Zone(), "api-int." + m.site.Zone(), "*.apps." + m.site.Zone(), "api.a" + m.site.oldZone(), "172.30.0.1"}
		serving := m.leaf(request{cn: "api." + m.site.Zone(), id: name, parent: signer, names: hosts, urls: []string{"https://api." + m.site.Zone() + ":6443/x"}})
		m.secret("openshift-kube-apiserver", name+"-certkey", map[string]string{"tls.crt": serving.crt + signer.crt, "tls.key": serving.pem},
			map[string]string{"auth.openshift.io/certificate-hostnames": "172.30.0.1,api." + m.site.Zone()})
		m.file(staticPod+"kube-apiserver-certs/secrets/"+name+"-certkey/tls.crt", serving.crt+signer.crt)
		m.file(staticPod+"kube-apiserver-certs/secrets/"+name+"-certkey/tls.key", serving.pem)
	}
	adminCA := m.issue(request{cn: "admin-kubeconfig-signer", kind: RSA, ca: true}) // its key is never in the cluster
	admin := m.issue(request{cn: "system:admin", parent: adminCA})
	m.configMap("openshift-config", "admin-kubeconfig-client-ca", map[string]string{"ca-bundle.crt": adminCA.crt})
	text := kubeconfig("https://api."+m.site.Zone()+":6443", bundle, admin)
	m.secret("openshift-kube-apiserver", "node-kubeconfigs", map[string]string{"lb-ext.kubeconfig": text, "localhost.kubeconfig": text}, nil)
	m.file(staticPod+"kube-apiserver-certs/secrets/node-kubeconfigs/lb-ext.kubeconfig", text)
	m.configMap("kube-system", "extension-apiserver-authentication", map[string]string{"client-ca-file": adminCA.crt + bundle})
}

// awkward makes what clusters hold besides.
func (m *maker) awkward() {
	v4, v6 := m.site.V4.String(), m.site.V6.String()
	pss := m.issue(request{cn: "pss", kind: RSA, ca: true})
	m.tls("awkward", "pss-signer", pss)
	m.tls("awkward", "pss", m.leaf(request{cn: v4, id: "pss leaf", parent: pss, pss: true, names: []string{v4}}))
	ed := m.issue(request{cn: "ed", kind: Ed25519, ca: true, bare: true})
	again := m.issue(request{cn: "ed", kind: Ed25519, ca: true, bare: true, serial: 2}) // the same name, no identifiers
	m.tls("awkward", "ed-signer", ed)
	m.tls("awkward", "ed-signer-2", again)
	m.tls("awkward", "ed", m.leaf(request{cn: "ed leaf", parent: again, kind: Ed25519, names: []string{v4, v6}, urls: []string{"https://" + v4 + ":8443/x"}}))
	self := m.leaf(request{cn: v4, id: "self", names: []string{v4, "192.0.2.99"}})
	m.tls("awkward", "self-signed", self)
	m.configMap("awkward", "trusts-self-signed", map[string]string{"ca.crt": "# note of " + m.site.Bystander[0].String() + "\n" + self.crt})
	m.secret("awkward", "client", map[string]string{"kubeconfig": kubeconfig("https://x:1", self.crt, m.leaf(request{cn: v4, id: "client", parent: ed, names: []string{v4}}))}, nil)
	gone := m.issue(request{cn: "gone", kind: P256, ca: true})
	foreign := m.issue(request{cn: "foreign", parent: gone, names: []string{m.site.Bystander[0].String()}})
	m.out.Stuck = append(m.out.Stuck, foreign.cert.Raw)
	m.tls("awkward", "foreign", foreign)
	m.tls("awkward", "neighbours", m.issue(request{cn: "neighbours", parent: ed, names: []string{m.site.Bystander[0].String() + "1", "192.0.2.250"}}))
	m.secret("awkward", "not-a-certificate", map[string]string{"tls.crt": "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n", "tls.key": "", "binary": "\x00\xff"}, nil)
}

// trust makes what hands authorities to clients: the injected bundle, webhooks, API services, conversions.
func (m *maker) trust() {
	serviceCA := m.issue(request{cn: "openshift-service-serving-signer@1", kind: RSA, ca: true})
	m.tls("openshift-service-ca", "signing-key", serviceCA)
	bundle := ""
	for i := range m.size.Bundle {
		bundle += fmt.Sprintf("# Authority %d\n%s", i, m.issue(request{cn: fmt.Sprintf("public %d", i), ca: true}).crt)
	}
	m.configMap("openshift-config-managed", "trusted-ca-bundle", map[string]string{"ca-bundle.crt": bundle})
	own := m.leaf(request{cn: "webhook", names: []string{m.site.V4.String(), "webhook.svc"}})
	m.tls("awkward", "webhook", own)
	m.webhooks(serviceCA.crt, own.crt)
	m.services(serviceCA, bundle)
}
