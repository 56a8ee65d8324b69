package cluster

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/netip"
	"time"
)

// leafSpec is one line of the table of leaf certificates: what it says, who signs it and every place that holds it.
type leafSpec struct {
	ID      string
	Signer  string
	Req     leafRequest
	Secrets []objectKey
	// Files are paths below static-pod-resources without their .crt and .key endings.
	Files []string
	// Hostnames asks for the annotation in which the operators note the SANs of serving certificates.
	Hostnames bool
	// Etcd says that the certificate is in the Secret of all of etcd's certificates, too.
	Etcd bool
}

var (
	serverAuth = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	clientAuth = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}
	bothAuth   = []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth, x509.ExtKeyUsageServerAuth}
)

// leaves lists every leaf certificate of the site.
func leaves(s Site) []leafSpec {
	all := append(apiServingLeaves(s), apiClientLeaves()...)
	all = append(all, etcdLeaves(s)...)
	return append(all, nodeLeaves(s)...)
}

// apiServingLeaves are kube-apiserver's serving certificates, one for each name it is called by, and the router's.
func apiServingLeaves(s Site) []leafSpec {
	services := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"openshift", "openshift.default", "openshift.default.svc", "openshift.default.svc.cluster.local"}
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	ext := serving("external-loadbalancer-serving-certkey", "lb", certDir, "api."+s.Domain())
	ext.Req.IPs = s.IPs() // lab only: lets an outsider verify the server by address
	local := serving("localhost-serving-cert-certkey", "localhost", certDir, "localhost")
	local.Req.IPs = loopback
	network := serving("service-network-serving-certkey", "service-network", certDir, services...)
	for _, n := range s.serviceNetworks() {
		network.Req.IPs = append(network.Req.IPs, netip.MustParsePrefix(n).Addr().Next())
	}
	router := serving("router-certs-default", "ingress", "", "*.apps."+s.Domain())
	router.Hostnames = false // the ingress operator notes none
	router.Secrets, router.Files, router.Req.Validity = []objectKey{{"openshift-ingress", "router-certs-default"}}, nil, 2*365*day
	recovery := serving("localhost-recovery-serving-certkey", "recovery", podDir, "localhost-recovery")
	recovery.Secrets = append(recovery.Secrets, objectKey{nsAPIServer, "localhost-recovery-serving-certkey-1"})
	return []leafSpec{ext, serving("internal-loadbalancer-serving-certkey", "lb", certDir, "api-int."+s.Domain()), local, network, recovery, router}
}

const (
	certDir = "kube-apiserver-certs"
	podDir  = "kube-apiserver-pod-1"
)

func serving(name, signer, dir string, dns ...string) leafSpec {
	return leafSpec{
		ID: name, Signer: signer, Hostnames: true,
		Req:     leafRequest{Subject: pkix.Name{CommonName: dns[0]}, DNS: dns, Usages: serverAuth, Validity: 30 * day},
		Secrets: []objectKey{{nsAPIServer, name}},
		Files:   []string{dir + "/secrets/" + name + "/tls"},
	}
}

// apiClientLeaves are the client certificates with which the control plane calls others.
func apiClientLeaves() []leafSpec {
	client := func(name, signer, cn, org string) leafSpec {
		leaf := leafSpec{ID: name, Signer: signer, Secrets: []objectKey{{nsAPIServer, name}},
			Files: []string{certDir + "/secrets/" + name + "/tls"},
			Req:   leafRequest{Subject: pkix.Name{CommonName: cn}, Usages: clientAuth, Validity: 30 * day}}
		if org != "" {
			leaf.Req.Subject.Organization = []string{org}
		}
		return leaf
	}
	etcd := client("etcd-client", "etcd", "etcd-client", "etcd-client")
	etcd.Req.Validity = 3 * 365 * day
	etcd.Secrets = []objectKey{{nsAPIServer, "etcd-client"}, {nsAPIServer, "etcd-client-1"}, {nsConfig, "etcd-client"}, {nsEtcd, "etcd-client"}}
	etcd.Files = []string{podDir + "/secrets/etcd-client/tls"}
	nodeAdmin := client("node-system-admin-client", "node-admin", "system:admin", "system:masters")
	nodeAdmin.Secrets, nodeAdmin.Files = []objectKey{{nsAPIServerOperator, "node-system-admin-client"}}, nil
	admin := client("admin", "admin", "system:admin", "system:masters")
	admin.Secrets, admin.Files, admin.Req.Validity = nil, nil, 3650*day
	return []leafSpec{
		client("aggregator-client", "aggregator", "system:openshift-aggregator", ""),
		client("kubelet-client", "to-kubelet", "system:kube-apiserver", "kube-master"),
		client("control-plane-node-admin-client-cert-key", "control-plane", "system:control-plane-node-admin", "system:masters"),
		client("check-endpoints-client-cert-key", "control-plane", "system:serviceaccount:openshift-kube-apiserver:check-endpoints", ""),
		etcd, nodeAdmin, admin,
	}
}

// etcdLeaves are the per-node certificates of etcd: the ones that carry the node's addresses in the field. Like the etcd operator's
// they do not name the node, and their common name is the first of the sorted names: of the peer's an address.
func etcdLeaves(s Site) []leafSpec {
	services := []string{"localhost", "etcd.kube-system.svc", "etcd.kube-system.svc.cluster.local",
		"etcd.openshift-etcd.svc", "etcd.openshift-etcd.svc.cluster.local"}
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	leaf := func(kind, signer string, req leafRequest) leafSpec {
		name := fmt.Sprintf("etcd-%s-%s", kind, s.Hostname)
		req.Subject, req.Usages, req.Validity = pkix.Name{CommonName: req.names()[0]}, bothAuth, 3*365*day
		return leafSpec{ID: name, Signer: signer, Hostnames: true, Etcd: true, Req: req,
			Secrets: []objectKey{{nsEtcd, name}},
			Files:   []string{"etcd-certs/secrets/etcd-all-certs/" + name, "etcd-pod-1/secrets/etcd-all-certs/" + name}}
	}
	serving := leafRequest{DNS: services, IPs: append(loopback, s.IPs()...)}
	return []leafSpec{
		leaf("peer", "etcd", leafRequest{DNS: []string{"localhost"}, IPs: s.IPs()}),
		leaf("serving", "etcd", serving), leaf("serving-metrics", "etcd-metric", serving),
	}
}

// nodeLeaves are the kubelet's two certificates, which it gets by CSR and keeps to itself.
func nodeLeaves(s Site) []leafSpec {
	subject := pkix.Name{CommonName: "system:node:" + s.Hostname, Organization: []string{"system:nodes"}}
	return []leafSpec{
		{ID: "kubelet-client-node", Signer: "csr", Req: leafRequest{Subject: subject, Usages: clientAuth, Validity: 30 * day, Key: ecdsaP256}},
		{ID: "kubelet-server-node", Signer: "csr", Req: leafRequest{Subject: subject, DNS: []string{s.Hostname}, IPs: s.IPs(),
			Usages: serverAuth, Validity: 30 * day, Key: ecdsaP256}},
	}
}

// identity is all key material of one node.
type identity struct {
	cas       map[string]*KeyPair
	leaves    map[string]*KeyPair
	serviceSA *KeyPair // signs legacy service account tokens
	boundSA   *KeyPair // signs bound service account tokens
	made      time.Time
}

// newIdentity makes every key and certificate of the site.
func newIdentity(s Site, now time.Time) (*identity, error) {
	cas, err := newAuthorities(now)
	if err != nil {
		return nil, err
	}
	id := &identity{cas: cas, leaves: map[string]*KeyPair{}, made: now}
	for _, spec := range leaves(s) {
		leaf, err := cas[spec.Signer].issue(now, spec.Req)
		if err != nil {
			return nil, fmt.Errorf("issue %s: %w", spec.ID, err)
		}
		if spec.Signer != "csr" {
			leaf.CertPEM = append(leaf.CertPEM, cas[spec.Signer].CertPEM...)
		}
		id.leaves[spec.ID] = leaf
	}
	// Only the keys of these two are used; a certificate around them is the price of one key type.
	if id.serviceSA, err = newAuthority(now, "service-account", 3650*day); err != nil {
		return nil, err
	}
	id.boundSA, err = newAuthority(now, "bound-service-account", 3650*day)
	return id, err
}

// bundle concatenates the certificates of the named signers.
func (id *identity) bundle(ids ...string) []byte {
	var out []byte
	for _, name := range ids {
		out = append(out, id.cas[name].CertPEM...)
	}
	return out
}
