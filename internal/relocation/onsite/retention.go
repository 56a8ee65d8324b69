package onsite

import (
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Authorities of a control plane, which have the same names in every cluster of OpenShift.
const (
	localhostSigner      = "kube-apiserver-localhost-signer"
	serviceNetworkSigner = "kube-apiserver-service-network-signer"
	loadBalancerSigner   = "kube-apiserver-lb-signer"
	adminSigner          = "admin-kubeconfig-signer"
)

// retention is what a site's cryptoRetention comes to: rules for recert, and what cannot be honoured.
type retention struct {
	keys, certs, attention []string
}

// retentionOf turns the keys and certificates that existing kubeconfig files rely on into rules for recert. The authority of the ingress
// has a name of its own in each cluster, which nothing on the disk says: recert refuses a rule for a name that it does not find, so
// none is written.
func retentionOf(c siteconfig.SiteConfig) (r retention) {
	if c.Identity == nil || c.Identity.CryptoRetention == nil {
		return r
	}
	k := c.Identity.CryptoRetention
	for _, rule := range []struct {
		name string
		key  siteconfig.Secret
	}{
		{localhostSigner, k.LocalhostSignerKey},
		{serviceNetworkSigner, k.ServiceNetworkSignerKey},
		{loadBalancerSigner, k.LoadBalancerSignerKey},
	} {
		if rule.key != "" {
			r.keys = append(r.keys, rule.name+" "+rule.key.Reveal())
		}
	}
	if name := commonName(k.AdminCACertificate); name == adminSigner {
		r.certs = append(r.certs, k.AdminCACertificate)
	} else if k.AdminCACertificate != "" {
		r.attention = append(r.attention, fmt.Sprintf("identity.cryptoRetention.adminCACertificate is of %q, not of %s: "+
			"kubeconfig files that rely on it do not work, use that of the hand-over", name, adminSigner))
	}
	if k.IngressCAKey != "" || k.IngressCertificateCN != "" {
		r.attention = append(r.attention, "identity.cryptoRetention.ingressCAKey is not used: the routes' certificates are signed by the "+
			"cluster's own authority; give certificates.ingress, or trust that authority")
	}
	return r
}

func commonName(text string) string {
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return ""
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return ""
	}
	return cert.Subject.CommonName
}
