package siteconfig

import (
	"encoding/json"

	"go.yaml.in/yaml/v3"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// What a ClusterRelocation says about itself.
const (
	relocationVersion = "rhsyseng.github.io/v1beta1"
	relocationKind    = "ClusterRelocation"
	relocationName    = "cluster"
)

// clusterRelocation is the object of cluster-relocation-operator (RHsyseng/cluster-relocation-operator, api/v1beta1).
// Early releases call imageDigestMirrors imageDigestSources.
type clusterRelocation struct {
	APIVersion string          `json:"apiVersion"`
	Kind       string          `json:"kind"`
	Metadata   json.RawMessage `json:"metadata"`
	Status     json.RawMessage `json:"status"`
	Spec       struct {
		Domain                string          `json:"domain"`
		AddInternalDNSEntries *bool           `json:"addInternalDNSEntries"`
		APICertRef            *SecretRef      `json:"apiCertRef"`
		IngressCertRef        *SecretRef      `json:"ingressCertRef"`
		PullSecretRef         *SecretRef      `json:"pullSecretRef"`
		CatalogSources        []CatalogSource `json:"catalogSources"`
		ImageDigestMirrors    []ImageMirror   `json:"imageDigestMirrors"`
		ImageDigestSources    []ImageMirror   `json:"imageDigestSources"`
		RegistryCert          *struct {
			RegistryHostname string `json:"registryHostname"`
			RegistryPort     string `json:"registryPort"`
			Certificate      string `json:"certificate"`
		} `json:"registryCert"`
		SSHKeys         []string `json:"sshKeys"`
		ACMRegistration *struct {
			URL                   string          `json:"url"`
			ClusterName           string          `json:"clusterName"`
			ManagedClusterSet     string          `json:"managedClusterSet"`
			ACMSecret             *SecretRef      `json:"acmSecret"`
			KlusterletAddonConfig json.RawMessage `json:"klusterletAddonConfig"`
		} `json:"acmRegistration"`
	} `json:"spec"`
}

// relocationNames are the keys of SiteConfig as a ClusterRelocation has them.
var relocationNames = map[string]string{
	"domain": "spec.domain", "dnsmasq": "spec.addInternalDNSEntries", "pullSecretRef": "spec.pullSecretRef",
	"certificates.api.secretRef": "spec.apiCertRef", "certificates.ingress.secretRef": "spec.ingressCertRef",
	"certificates.api": "spec.apiCertRef", "certificates.ingress": "spec.ingressCertRef",
	"catalogSources": "spec.catalogSources", "imageDigestMirrors": "spec.imageDigestMirrors", "sshKeys": "spec.sshKeys",
	"registryCAs[0].hostname": "spec.registryCert.registryHostname", "registryCAs[0].port": "spec.registryCert.registryPort",
	"registryCAs[0].certificate": "spec.registryCert.certificate", "registryCAs": "spec.registryCert",
	"hub": "spec.acmRegistration", "hub.secretRef": "spec.acmRegistration.acmSecret",
}

func readClusterRelocation(root *yaml.Node) (SiteConfig, []Problem, func(string) string) {
	var r clusterRelocation
	problems := fillFields(&r, root)
	if r.APIVersion != relocationVersion {
		problems = append(problems, Problem{Key: "apiVersion", Value: quoteNonEmpty(shortenValue(r.APIVersion)),
			Want: "must be " + relocationVersion})
	}
	if name := tree.Scalar(tree.Child(root, "metadata"), "name"); name != relocationName {
		problems = append(problems, Problem{Key: "metadata.name", Value: quoteNonEmpty(shortenValue(name)),
			Want: "must be " + relocationName})
	}
	if r.Spec.Domain == "" {
		problems = append(problems, Problem{Key: "spec.domain", Want: "must be set, to a domain such as site-1.example.org"})
	}
	c, more := r.siteConfig()
	names := relocationNames
	if r.Spec.ImageDigestMirrors == nil && r.Spec.ImageDigestSources != nil {
		names = map[string]string{"imageDigestMirrors": "spec.imageDigestSources"}
		for k, v := range relocationNames {
			if _, ok := names[k]; !ok {
				names[k] = v
			}
		}
	}
	return c, append(problems, more...), prefixRenamer(names)
}

func (r clusterRelocation) siteConfig() (SiteConfig, []Problem) {
	s := r.Spec
	c := SiteConfig{
		APIVersion: APIVersion, Kind: Kind, Domain: s.Domain, PullSecretRef: nonEmptyRef(s.PullSecretRef),
		CatalogSources: s.CatalogSources, ImageDigestMirrors: append(s.ImageDigestMirrors, s.ImageDigestSources...), SSHKeys: s.SSHKeys,
	}
	if s.AddInternalDNSEntries != nil {
		c.Dnsmasq = &Dnsmasq{Enabled: *s.AddInternalDNSEntries}
	}
	c.Certificates = certificateRefs(nonEmptyRef(s.APICertRef), nonEmptyRef(s.IngressCertRef))
	if a := s.ACMRegistration; a != nil {
		c.Hub = &Hub{URL: a.URL, ClusterName: a.ClusterName, ManagedClusterSet: a.ManagedClusterSet,
			SecretRef: nonEmptyRef(a.ACMSecret), KlusterletAddonConfig: a.KlusterletAddonConfig}
	}
	var problems []Problem
	if rc := s.RegistryCert; rc != nil && (rc.RegistryHostname != "" || rc.Certificate != "") {
		port, err := portNumber(rc.RegistryPort)
		if err != nil {
			problems = append(problems, Problem{Key: "spec.registryCert.registryPort", Value: quoteNonEmpty(shortenValue(rc.RegistryPort)),
				Want: "must be a port number, 1-65535"})
		}
		c.RegistryCAs = []RegistryCA{{Hostname: rc.RegistryHostname, Port: port, Certificate: rc.Certificate}}
	}
	return c, problems
}

func certificateRefs(api, ingress *SecretRef) *Certificates {
	if api == nil && ingress == nil {
		return nil
	}
	out := &Certificates{}
	if api != nil {
		out.API = &Certificate{SecretRef: api}
	}
	if ingress != nil {
		out.Ingress = &Certificate{SecretRef: ingress}
	}
	return out
}

// nonEmptyRef is a reference that says something; its API writes an empty one for none.
func nonEmptyRef(r *SecretRef) *SecretRef {
	if r == nil || *r == (SecretRef{}) {
		return nil
	}
	return r
}
