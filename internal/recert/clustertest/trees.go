package clustertest

import (
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

const (
	etcdNS    = "openshift-etcd"
	staticPod = "/etc/kubernetes/static-pod-resources/"
)

// controlPlane makes the certificates of the control plane in all the places where OpenShift keeps copies, as the lab's cluster has them.
// Every authority was rotated once: the old one stays trusted, its key is gone.
func (m *maker) controlPlane() {
	top := m.issue(request{cn: "kube-csr-signer-signer", kind: RSA, ca: true})
	m.tls("openshift-kube-controller-manager-operator", "csr-signer-signer", top)
	signers, trusted := map[string]*Pair{}, map[string]string{}
	for i, spec := range pki.Signers() {
		cn := strings.ReplaceAll(spec.CN, "%d", "1")
		q := request{cn: cn, kind: Algorithm(m.rand("kind of " + spec.ID).IntN(4)), ca: true, serial: int64(100 + i)}
		if spec.ID == "csr" {
			q.parent = top
		}
		signers[spec.ID] = m.issue(q)
		trusted[spec.ID] = m.issue(request{cn: cn, kind: P256, ca: true, serial: int64(i)}).CertPEM + signers[spec.ID].CertPEM
		if spec.Secret.Name != "" {
			m.tls(spec.Secret.Namespace, spec.Secret.Name, signers[spec.ID])
		}
	}
	m.bundles(trusted)
	leaves, all := map[string]*Pair{}, map[string]string{}
	for _, spec := range pki.Leaves(m.labSite()) {
		p := m.placed(spec, signers[spec.Signer])
		leaves[spec.ID] = p
		if spec.Etcd {
			all[spec.ID+".crt"], all[spec.ID+".key"] = p.CertPEM+signers[spec.Signer].CertPEM, p.KeyPEM
		}
	}
	for _, revision := range []string{"", "-6", "-7"} {
		m.secret(etcdNS, "etcd-all-certs"+revision, all, nil)
	}
	m.kubelet(signers["csr"], top, leaves)
	m.kubeconfigs(trusted["lb"]+trusted["localhost"], signers["admin"], leaves["admin"])
}

func (m *maker) labSite() site.Site {
	return site.Site{Hostname: m.site.Node, ClusterName: m.site.Name, BaseDomain: m.site.Domain,
		Addresses: []netip.Prefix{netip.PrefixFrom(m.site.V4, 24), netip.PrefixFrom(m.site.V6, 64)}}
}

// bundles stores the bundles of authorities that components read.
func (m *maker) bundles(trusted map[string]string) {
	texts := map[[2]string]map[string]string{}
	for _, spec := range pki.Bundles() {
		text := ""
		for _, id := range spec.Signers {
			text += trusted[id]
		}
		for _, cm := range spec.ConfigMaps {
			at := [2]string{cm.Namespace, cm.Name}
			if texts[at] == nil {
				texts[at] = map[string]string{}
			}
			texts[at][spec.Key] = text
		}
		for _, dir := range spec.Dirs {
			m.file(staticPod+dir+"/"+spec.Key, text)
		}
	}
	for at, data := range texts {
		m.configMap(at[0], at[1], data)
	}
}

// placed makes a leaf of the control plane and stores it. Etcd's name a neighbour as well, and those of the API what is nearly the zone.
func (m *maker) placed(spec pki.LeafSpec, parent *Pair) *Pair {
	names := slices.Clone(spec.Req.DNS)
	for _, ip := range spec.Req.IPs {
		names = append(names, ip.String())
	}
	q := request{cn: spec.Req.Subject.CommonName, id: "leaf " + m.anonymous(spec.ID), parent: parent,
		kind: Algorithm(m.rand("kind of " + m.anonymous(spec.ID)).IntN(4))}
	const hostnames = "auth.openshift.io/certificate-hostnames"
	var annotations map[string]string
	switch {
	case spec.Etcd:
		names = append(names, m.site.Neighbour.String())
		annotations = map[string]string{"auth.openshift.io/certificate-not-after": "2029-01-01T00:00:00Z",
			hostnames: strings.Join(names, ","), "openshift.io/description": "certificate of " + m.site.Node + ", signed by " + m.site.Known + "-signer"}
	case spec.Signer == "lb":
		names = append(names, "api.a"+m.site.oldZone())
		q.urls = []string{"https://" + names[0] + ":6443/x"}
		annotations = map[string]string{hostnames: "172.30.0.1," + names[0]} // sorted
	}
	q.names = names
	p := m.leaf(q)
	for _, at := range spec.Secrets {
		m.secret(at.Namespace, at.Name, map[string]string{"tls.crt": p.CertPEM + parent.CertPEM, "tls.key": p.KeyPEM}, annotations)
	}
	for _, path := range spec.Files {
		m.file(staticPod+path+".crt", p.CertPEM+parent.CertPEM)
		m.file(staticPod+path+".key", p.KeyPEM)
	}
	return p
}

func (m *maker) kubelet(signer, top *Pair, leaves map[string]*Pair) {
	serving, client := leaves["kubelet-server-node"], leaves["kubelet-client-node"]
	near := m.issue(request{cn: "system:node:" + m.site.Known + "2", parent: signer, names: []string{m.site.Known + ".nip.io", "a-" + m.site.Known}})
	m.tls("awkward", "near-the-node", near, signer)
	m.file("/var/lib/kubelet/pki/kubelet-server-2026-05-01-00-00-00.pem", serving.CertPEM+serving.KeyPEM)
	m.file("/var/lib/kubelet/pki/kubelet-client-2026-05-01-00-00-00.pem", client.CertPEM+client.KeyPEM)
	m.file("/var/lib/kubelet/kubeconfig", kubeconfig("https://api-int."+m.site.Zone()+":6443", top.CertPEM+signer.CertPEM, client))
	theirs := m.issue(request{cn: "system:node:" + m.site.Known, parent: signer, serial: 3, names: []string{m.site.Bystander[0].String()}})
	m.file("/var/lib/kubelet/pods/uid/volumes/kubernetes.io~projected/tls.crt", theirs.CertPEM)
}

// kubeconfigs makes what embeds PEM, and what trusts an authority whose key is never in the cluster.
func (m *maker) kubeconfigs(bundle string, adminCA, admin *Pair) {
	text := kubeconfig("https://api."+m.site.Zone()+":6443", bundle, admin)
	m.secret("openshift-kube-apiserver", "node-kubeconfigs", map[string]string{"lb-ext.kubeconfig": text, "localhost.kubeconfig": text}, nil)
	m.file(staticPod+"kube-apiserver-certs/secrets/node-kubeconfigs/lb-ext.kubeconfig", text)
	m.configMap("kube-system", "extension-apiserver-authentication", map[string]string{"client-ca-file": adminCA.CertPEM + bundle})
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
	m.configMap("awkward", "trusts-self-signed", map[string]string{"ca.crt": "# note of " + m.site.Bystander[0].String() + "\n" + self.CertPEM})
	m.secret("awkward", "client", map[string]string{"kubeconfig": kubeconfig("https://x:1", self.CertPEM, m.leaf(request{cn: v4, id: "client", parent: ed, names: []string{v4}}))}, nil)
	gone := m.issue(request{cn: "gone", kind: P256, ca: true})
	foreign := m.issue(request{cn: "foreign", parent: gone, names: []string{m.site.Bystander[0].String()}})
	m.out.Stuck = append(m.out.Stuck, foreign.Cert.Raw)
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
		bundle += fmt.Sprintf("# Authority %d\n%s", i, m.issue(request{cn: fmt.Sprintf("public %d", i), ca: true}).CertPEM)
	}
	m.configMap("openshift-config-managed", "trusted-ca-bundle", map[string]string{"ca-bundle.crt": bundle})
	own := m.leaf(request{cn: "webhook", names: []string{m.site.V4.String(), "webhook.svc"}})
	m.tls("awkward", "webhook", own)
	m.webhooks(serviceCA.CertPEM, own.CertPEM)
	m.services(serviceCA, bundle)
}
