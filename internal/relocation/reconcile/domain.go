package reconcile

import (
	"encoding/base64"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// Secrets with the certificates of the site's domain.
const (
	apiSecret     = "lca-relocation-api"
	ingressSecret = "lca-relocation-ingress"
)

// componentRoute is a route that an operator keeps and names in Ingress/cluster.
type componentRoute struct{ namespace, name, host string }

func componentRoutes(apps string) []componentRoute {
	return []componentRoute{
		{"openshift-console", "console", "console-openshift-console." + apps},
		{"openshift-console", "downloads", "downloads-openshift-console." + apps},
		{"openshift-authentication", "oauth-openshift", "oauth-openshift." + apps},
	}
}

// domainChanges has the cluster reached by api.DOMAIN and *.apps.DOMAIN. Where that is the cluster's own zone already, and the site
// brings no certificates, there is nothing to do.
func domainChanges(v *partContext) ([]Change, error) {
	own, err := v.readString(configRef("DNS"), "spec", "baseDomain")
	if err != nil {
		return nil, err
	}
	want := v.config.ClusterDomain()
	certs := v.config.Certificates
	if want == "" {
		want = own
	}
	if want == "" || want == own && certs == nil {
		return nil, nil
	}
	if certs == nil {
		certs = &siteconfig.Certificates{}
	}
	var out []Change
	if want != own || certs.API != nil {
		changes, err := v.apiCertificate(want, certs.API)
		if err != nil {
			return nil, err
		}
		out = append(out, changes...)
	}
	if want == own && certs.Ingress == nil {
		return out, nil
	}
	changes, err := v.ingressChanges(want, own, certs.Ingress)
	return append(out, changes...), err
}

// apiCertificate has the API server serve a certificate of its own for the domain's name, beside what users have set.
func (v *partContext) apiCertificate(domain string, given *siteconfig.Certificate) ([]Change, error) {
	name := "api." + domain
	signer := secretRef("openshift-kube-apiserver-operator", "loadbalancer-serving-signer")
	pair, err := v.keyPairFor(given, secretRef(nsConfig, apiSecret), signer, name)
	if err != nil {
		return nil, err
	}
	return []Change{pair.secretChange(nsConfig, apiSecret), {
		Ref: configRef("APIServer"), Path: []string{"spec", "servingCerts", "namedCertificates"}, Match: map[string]string{"names": name},
		Want: map[string]any{"names": []any{name}, "servingCertificate": map[string]any{"name": apiSecret}},
	}}, nil
}

// ingressChanges has the router serve the domain, and every route move to it.
func (v *partContext) ingressChanges(domain, own string, given *siteconfig.Certificate) ([]Change, error) {
	apps := "apps." + domain
	pair, err := v.keyPairFor(given, secretRef(nsIngress, ingressSecret), secretRef("openshift-ingress-operator", "router-ca"), "*."+apps)
	if err != nil {
		return nil, err
	}
	out := []Change{
		pair.secretChange(nsIngress, ingressSecret), pair.secretChange(nsConfig, ingressSecret),
		{
			Ref: Ref{Group: "operator.openshift.io", Version: "v1", Kind: "IngressController",
				Namespace: "openshift-ingress-operator", Name: "default"},
			Path: []string{"spec", "defaultCertificate"}, Want: map[string]any{"name": ingressSecret},
		},
	}
	if domain == own {
		return out, nil
	}
	out = append(out, Change{Ref: configRef("Ingress"), Path: []string{"spec", "appsDomain"}, Want: apps})
	for _, c := range componentRoutes(apps) {
		out = append(out, Change{
			Ref: configRef("Ingress"), Path: []string{"spec", "componentRoutes"},
			Match: map[string]string{"namespace": c.namespace, "name": c.name},
			Want: map[string]any{"namespace": c.namespace, "name": c.name, "hostname": c.host,
				"servingCertKeyPairSecret": map[string]any{"name": ingressSecret}},
		})
	}
	routes, err := v.routeChanges(apps, "apps."+own)
	return append(out, routes...), err
}

// routeChanges moves the routes of the former applications' domain; those of operators follow componentRoutes.
func (v *partContext) routeChanges(apps, former string) (out []Change, err error) {
	ingress, err := v.readString(configRef("Ingress"), "spec", "domain")
	if err != nil {
		return nil, err
	}
	if ingress != "" {
		former = ingress
	}
	list := &unstructured.UnstructuredList{}
	kind := Ref{Group: "route.openshift.io", Version: "v1", Kind: "Route"}
	list.SetGroupVersionKind(kind.gvk())
	if err := v.Client.List(v.ctx, list); err != nil {
		if notServed(err) {
			return nil, nil
		}
		return nil, fmt.Errorf("list routes: %w", err)
	}
	for _, r := range list.Items {
		if isComponent(r, apps) {
			continue
		}
		ref := kind
		ref.Namespace, ref.Name = r.GetNamespace(), r.GetName()
		c := Change{Ref: ref, Path: []string{"spec", "host"}, Optional: true}
		original, err := v.originalValue(c)
		if err != nil {
			return nil, err
		}
		host, _ := original.(string)
		if label, ok := strings.CutSuffix(host, "."+former); ok {
			c.Want = label + "." + apps
			out = append(out, c)
		}
	}
	return out, nil
}

func isComponent(r unstructured.Unstructured, apps string) bool {
	for _, c := range componentRoutes(apps) {
		if r.GetNamespace() == c.namespace && strings.HasPrefix(r.GetName(), c.name) {
			return true
		}
	}
	return false
}

// keyPair is a certificate chain with its key, PEM.
type keyPair struct{ cert, key []byte }

// secretChange is the change that stores the pair.
func (p keyPair) secretChange(namespace, name string) Change {
	return Change{Ref: secretRef(namespace, name), Want: map[string]any{
		"type": "kubernetes.io/tls",
		"data": map[string]any{
			"tls.crt": base64.StdEncoding.EncodeToString(p.cert), "tls.key": base64.StdEncoding.EncodeToString(p.key),
		},
	}}
}

// keyPairFor is the site's own certificate, or one that is made for the name. One that was made stays until it has used up two
// thirds of its life.
func (v *partContext) keyPairFor(given *siteconfig.Certificate, at, signer Ref, name string) (keyPair, error) {
	switch {
	case given != nil && given.SecretRef != nil:
		from := secretRef(given.SecretRef.Namespace, given.SecretRef.Name)
		if from.Namespace == "" {
			from.Namespace = nsConfig
		}
		cert, err := v.readSecretKey(from, "tls.crt")
		if err != nil {
			return keyPair{}, err
		}
		key, err := v.readSecretKey(from, "tls.key")
		return keyPair{cert, key}, err
	case given != nil:
		return keyPair{[]byte(given.Certificate), []byte(given.Key.Reveal())}, nil
	}
	return v.reuseOrSignPair(at, signer, name)
}

func (v *partContext) reuseOrSignPair(at, signer Ref, name string) (keyPair, error) {
	caCert, err := v.readSecretKey(signer, "tls.crt")
	if err != nil {
		return keyPair{}, fmt.Errorf("read the authority that signs the certificate of %s: %w", name, err)
	}
	caKey, err := v.readSecretKey(signer, "tls.key")
	if err != nil {
		return keyPair{}, fmt.Errorf("read the authority that signs the certificate of %s: %w", name, err)
	}
	if cert, err := v.readSecretKey(at, "tls.crt"); err == nil {
		if key, err := v.readSecretKey(at, "tls.key"); err == nil && isCertificateUsable(cert, caCert, name, v.Now()) {
			return keyPair{cert, key}, nil
		}
	}
	return signServingCert(caCert, caKey, name, v.Now(), v.Rand)
}
