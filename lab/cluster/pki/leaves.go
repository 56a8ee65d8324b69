package pki

import (
	"crypto/x509"
	"crypto/x509/pkix"
	"fmt"
	"net/netip"
	"sort"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// LeafSpec is one line of the table of leaf certificates: what it says, who signs it and every place that holds it.
type LeafSpec struct {
	ID      string
	Signer  string
	Req     LeafRequest
	Secrets []ObjectKey
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

// Leaves lists every leaf certificate of the site.
func Leaves(s site.Site) []LeafSpec {
	all := append(apiServingLeaves(s), apiClientLeaves()...)
	all = append(all, etcdLeaves(s)...)
	return append(all, nodeLeaves(s)...)
}

// apiServingLeaves are kube-apiserver's serving certificates, one for each name it is called by, and the router's.
func apiServingLeaves(s site.Site) []LeafSpec {
	services := []string{"kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local",
		"openshift", "openshift.default", "openshift.default.svc", "openshift.default.svc.cluster.local"}
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	ext := serving("external-loadbalancer-serving-certkey", "lb", certDir, "api."+s.Domain())
	ext.Req.IPs = s.IPs() // lab only: lets an outsider verify the server by address
	local := serving("localhost-serving-cert-certkey", "localhost", certDir, "localhost")
	local.Req.IPs = loopback
	network := serving("service-network-serving-certkey", "service-network", certDir, services...)
	for _, n := range s.ServiceNetworks() {
		network.Req.IPs = append(network.Req.IPs, netip.MustParsePrefix(n).Addr().Next())
	}
	router := serving("router-certs-default", "ingress", "", "*.apps."+s.Domain())
	router.Hostnames = false // the ingress operator notes none
	router.Secrets, router.Files, router.Req.Validity = []ObjectKey{{"openshift-ingress", "router-certs-default"}}, nil, 2*365*Day
	recovery := serving("localhost-recovery-serving-certkey", "recovery", podDir, "localhost-recovery")
	recovery.Secrets = append(recovery.Secrets, ObjectKey{NSAPIServer, "localhost-recovery-serving-certkey-1"})
	return []LeafSpec{ext, serving("internal-loadbalancer-serving-certkey", "lb", certDir, "api-int."+s.Domain()), local, network, recovery, router}
}

const (
	certDir = "kube-apiserver-certs"
	podDir  = "kube-apiserver-pod-1"
)

func serving(name, signer, dir string, dns ...string) LeafSpec {
	return LeafSpec{
		ID: name, Signer: signer, Hostnames: true,
		Req:     LeafRequest{Subject: pkix.Name{CommonName: dns[0]}, DNS: dns, Usages: serverAuth, Validity: 30 * Day},
		Secrets: []ObjectKey{{NSAPIServer, name}},
		Files:   []string{dir + "/secrets/" + name + "/tls"},
	}
}

// apiClientLeaves are the client certificates with which the control plane calls others.
func apiClientLeaves() []LeafSpec {
	client := func(name, signer, cn, org string) LeafSpec {
		leaf := LeafSpec{ID: name, Signer: signer, Secrets: []ObjectKey{{NSAPIServer, name}},
			Files: []string{certDir + "/secrets/" + name + "/tls"},
			Req:   LeafRequest{Subject: pkix.Name{CommonName: cn}, Usages: clientAuth, Validity: 30 * Day}}
		if org != "" {
			leaf.Req.Subject.Organization = []string{org}
		}
		return leaf
	}
	etcd := client("etcd-client", "etcd", "etcd-client", "etcd-client")
	etcd.Req.Validity = 3 * 365 * Day
	etcd.Secrets = []ObjectKey{{NSAPIServer, "etcd-client"}, {NSAPIServer, "etcd-client-1"}, {NSConfig, "etcd-client"}, {NSEtcd, "etcd-client"}}
	etcd.Files = []string{podDir + "/secrets/etcd-client/tls"}
	nodeAdmin := client("node-system-admin-client", "node-admin", "system:admin", "system:masters")
	nodeAdmin.Secrets, nodeAdmin.Files = []ObjectKey{{NSAPIServerOperator, "node-system-admin-client"}}, nil
	admin := client("admin", "admin", "system:admin", "system:masters")
	admin.Secrets, admin.Files, admin.Req.Validity = nil, nil, 3650*Day
	return []LeafSpec{
		client("aggregator-client", "aggregator", "system:openshift-aggregator", ""),
		client("kubelet-client", "to-kubelet", "system:kube-apiserver", "kube-master"),
		client("control-plane-node-admin-client-cert-key", "control-plane", "system:control-plane-node-admin", "system:masters"),
		client("check-endpoints-client-cert-key", "control-plane", "system:serviceaccount:openshift-kube-apiserver:check-endpoints", ""),
		etcd, nodeAdmin, admin,
	}
}

// etcdLeaves are the per-node certificates of etcd: the ones that carry the node's addresses in the field. Like the etcd operator's
// they do not name the node, and their common name is the first of the sorted names: of the peer's an address.
func etcdLeaves(s site.Site) []LeafSpec {
	services := []string{"localhost", "etcd.kube-system.svc", "etcd.kube-system.svc.cluster.local",
		"etcd.openshift-etcd.svc", "etcd.openshift-etcd.svc.cluster.local"}
	loopback := []netip.Addr{netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("::1")}
	leaf := func(kind, signer string, req LeafRequest) LeafSpec {
		name := fmt.Sprintf("etcd-%s-%s", kind, s.Hostname)
		req.Subject, req.Usages, req.Validity = pkix.Name{CommonName: req.Names()[0]}, bothAuth, 3*365*Day
		return LeafSpec{ID: name, Signer: signer, Hostnames: true, Etcd: true, Req: req,
			Secrets: []ObjectKey{{NSEtcd, name}},
			Files:   []string{"etcd-certs/secrets/etcd-all-certs/" + name, "etcd-pod-1/secrets/etcd-all-certs/" + name}}
	}
	serving := LeafRequest{DNS: services, IPs: append(loopback, s.IPs()...)}
	return []LeafSpec{
		leaf("peer", "etcd", LeafRequest{DNS: []string{"localhost"}, IPs: s.IPs()}),
		leaf("serving", "etcd", serving), leaf("serving-metrics", "etcd-metric", serving),
	}
}

// nodeLeaves are the kubelet's two certificates, which it gets by CSR and keeps to itself.
func nodeLeaves(s site.Site) []LeafSpec {
	subject := pkix.Name{CommonName: "system:node:" + s.Hostname, Organization: []string{"system:nodes"}}
	return []LeafSpec{
		{ID: "kubelet-client-node", Signer: "csr", Req: LeafRequest{Subject: subject, Usages: clientAuth, Validity: 30 * Day, Key: ecdsaP256}},
		{ID: "kubelet-server-node", Signer: "csr", Req: LeafRequest{Subject: subject, DNS: []string{s.Hostname}, IPs: s.IPs(),
			Usages: serverAuth, Validity: 30 * Day, Key: ecdsaP256}},
	}
}

// Names are the SANs in the operators' order: as text, sorted.
func (r LeafRequest) Names() []string {
	names := append([]string{}, r.DNS...)
	for _, ip := range r.IPs {
		names = append(names, ip.String())
	}
	sort.Strings(names)
	return names
}
