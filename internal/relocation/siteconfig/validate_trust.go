package siteconfig

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"

	"k8s.io/apimachinery/pkg/util/validation"
)

const pemWant = "must be certificates in PEM, each from -----BEGIN CERTIFICATE----- to -----END CERTIFICATE-----"

func (v *validator) checkTrust(c SiteConfig) {
	seen := map[string]bool{}
	for i, r := range c.RegistryCAs {
		key, name := itemKey("registryCAs", i), fmt.Sprintf("%s:%d", r.Hostname, r.Port)
		switch {
		case !isHost(r.Hostname):
			v.addProblem(joinKey(key, "hostname"), r.Hostname, "must be the host of a registry, such as registry.example.org")
		case seen[name]:
			v.addProblem(joinKey(key, "hostname"), r.Hostname, "appears twice with this port; put both certificates into one entry")
		}
		seen[name] = true
		if r.Port < 0 || r.Port > 65535 {
			v.addProblem(joinKey(key, "port"), fmt.Sprint(r.Port), "must be a port number, 1-65535")
		}
		v.checkBundle(joinKey(key, "certificate"), r.Certificate, true)
	}
	t := c.AdditionalTrust
	if t == nil {
		return
	}
	v.checkBundle("additionalTrust.userCABundle", t.UserCABundle, false)
	v.checkBundle("additionalTrust.proxyConfigMapBundle", t.ProxyConfigMapBundle, false)
	const name = "additionalTrust.proxyConfigMapName"
	switch n := t.ProxyConfigMapName; {
	case n != "" && len(validation.IsDNS1123Subdomain(n)) > 0:
		v.addProblem(name, n, "must be the name of a ConfigMap")
	case n == "" && t.ProxyConfigMapBundle != "":
		v.addProblem(name, n, "must be set where proxyConfigMapBundle is given")
	case n == "user-ca-bundle" && t.ProxyConfigMapBundle != t.UserCABundle:
		v.addProblem("additionalTrust.proxyConfigMapBundle", "", "must equal userCABundle, because both are the ConfigMap user-ca-bundle")
	}
}

// checkBundle checks PEM certificates; needed says that an empty one is wrong.
func (v *validator) checkBundle(key, text string, needed bool) {
	if text == "" && !needed {
		return
	}
	if _, err := parseCertificates(text); err != nil {
		v.addProblem(key, text, "%s (%v)", pemWant, err)
	}
}

func parseCertificates(text string) (out []*x509.Certificate, err error) {
	for rest := []byte(text); ; {
		var block *pem.Block
		if block, rest = pem.Decode(rest); block == nil {
			break
		}
		if block.Type != "CERTIFICATE" {
			return nil, fmt.Errorf("it holds a block %s", shortenValue(block.Type))
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("certificate %d: %w", len(out)+1, err)
		}
		out = append(out, c)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("it holds none")
	}
	return out, nil
}

func (v *validator) checkCertificates(c SiteConfig) {
	if c.Certificates == nil {
		return
	}
	domain := c.ClusterDomain()
	v.checkCertificate("certificates.api", c.Certificates.API, domain, "api."+domain)
	v.checkCertificate("certificates.ingress", c.Certificates.Ingress, domain, "console-openshift-console.apps."+domain)
}

// checkCertificate checks that key and chain belong together and that the leaf is for the name.
func (v *validator) checkCertificate(key string, c *Certificate, domain, name string) {
	if c == nil {
		return
	}
	v.checkSecretRef(joinKey(key, "secretRef"), c.SecretRef)
	inline := c.Certificate != "" || c.Key != ""
	if inline == (c.SecretRef != nil) {
		v.addProblem(key, "", "must have either certificate and key, or secretRef")
		return
	}
	if !inline {
		return
	}
	chain, err := parseCertificates(c.Certificate)
	if err != nil {
		v.addProblem(joinKey(key, "certificate"), c.Certificate, "%s (%v)", pemWant, err)
		return
	}
	if _, err := tls.X509KeyPair([]byte(c.Certificate), []byte(c.Key.Reveal())); err != nil {
		v.addHidden(joinKey(key, "key"), "must be the PEM private key of the first certificate")
	}
	if domain == "" {
		return
	}
	if err := chain[0].VerifyHostname(name); err != nil {
		v.addProblem(joinKey(key, "certificate"), fmt.Sprint(chain[0].DNSNames), "must be valid for %s", name)
	}
}
