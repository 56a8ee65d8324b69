package cluster

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// SeedInfo is what a seed image says of the cluster that it was made of.
type SeedInfo struct {
	Version, ReleaseImage string
	ClusterName, Domain   string
	InfraID               string
	Hostname              string
	NodeIPs               []string
	Mirrored, Proxied     bool
	FIPS                  bool
	// Networks in CIDR notation.
	MachineNetworks, ClusterNetworks, ServiceNetworks []string
	// CABundle is the user's bundle of authorities, in PEM; empty for none. TrustedCA is the ConfigMap that Proxy names.
	CABundle, TrustedCA string
	// IngressCN is the common name of the authority that signs the default ingress certificate.
	IngressCN string
	// Images are related images of installed operators, CatalogImages those of catalogs.
	Images, CatalogImages []string
}

// ReadSeedInfo reads it all.
func ReadSeedInfo(ctx context.Context, r kube.Reader) (SeedInfo, error) {
	var s SeedInfo
	for _, read := range []func(context.Context, kube.Reader, *SeedInfo) error{
		readVersion, readInstallation, readNodeIdentity, readMirrors, readProxy, readTrust, readIngress, readImages,
	} {
		if err := read(ctx, r, &s); err != nil {
			return s, err
		}
	}
	return s, nil
}

func readVersion(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	var v configv1.ClusterVersion
	if err := r.Get(ctx, kube.Key{Name: "version"}, &v); err != nil {
		return fmt.Errorf("get clusterversion version: %w", err)
	}
	s.Version, s.ReleaseImage = v.Status.Desired.Version, v.Status.Desired.Image
	return nil
}

func readInstallation(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	ic, err := ReadInstallConfig(ctx, r)
	if err != nil {
		return err
	}
	s.ClusterName, s.Domain, s.FIPS = ic.ClusterName, ic.BaseDomain, ic.FIPS
	for _, p := range ic.MachineNetworks {
		s.MachineNetworks = append(s.MachineNetworks, p.String())
	}
	for _, p := range ic.ClusterNetworks {
		s.ClusterNetworks = append(s.ClusterNetworks, p.String())
	}
	for _, p := range ic.ServiceNetworks {
		s.ServiceNetworks = append(s.ServiceNetworks, p.String())
	}
	var infra configv1.Infrastructure
	if err := r.Get(ctx, kube.Key{Name: "cluster"}, &infra); err != nil && !notServed(err) {
		return fmt.Errorf("get infrastructure cluster: %w", err)
	}
	s.InfraID = infra.Status.InfrastructureName
	return nil
}

func readNodeIdentity(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	node, err := SingleNode(ctx, r)
	if err != nil {
		return err
	}
	s.Hostname = node.Name
	for _, a := range node.Status.Addresses {
		if a.Type == corev1.NodeHostName {
			s.Hostname = a.Address
		}
	}
	for _, a := range InternalIPs(node) {
		s.NodeIPs = append(s.NodeIPs, a.String())
	}
	if len(s.NodeIPs) == 0 {
		return fmt.Errorf("node %s has no InternalIP address", node.Name)
	}
	return nil
}

// readMirrors says whether any kind of mirror is configured for images.
func readMirrors(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	for _, kind := range []schema.GroupVersionKind{
		{Group: "config.openshift.io", Version: "v1", Kind: "ImageDigestMirrorSet"},
		{Group: "config.openshift.io", Version: "v1", Kind: "ImageTagMirrorSet"},
		{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy"},
	} {
		items, err := listObjects(ctx, r, kind)
		if err != nil && !notServed(err) {
			return fmt.Errorf("list %s: %w", kind.Kind, err)
		}
		s.Mirrored = s.Mirrored || len(items) > 0
	}
	return nil
}

func readProxy(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	var p configv1.Proxy
	if err := r.Get(ctx, kube.Key{Name: "cluster"}, &p); err != nil && !notServed(err) {
		return fmt.Errorf("get proxy cluster: %w", err)
	}
	s.Proxied = p.Spec.HTTPProxy != "" || p.Spec.HTTPSProxy != ""
	s.TrustedCA = p.Spec.TrustedCA.Name
	return nil
}

func readTrust(ctx context.Context, r kube.Reader, s *SeedInfo) (err error) {
	s.CABundle, err = configMapKey(ctx, r, "openshift-config", "user-ca-bundle", "ca-bundle.crt")
	return err
}

// readIngress reads the public copy of the authority: the key is not needed.
func readIngress(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	text, err := configMapKey(ctx, r, "openshift-config-managed", "default-ingress-cert", "ca-bundle.crt")
	if err != nil || text == "" {
		return err
	}
	block, _ := pem.Decode([]byte(text))
	if block == nil {
		return errors.New("configmap openshift-config-managed/default-ingress-cert holds no certificate")
	}
	cert, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		return fmt.Errorf("parse the certificate of configmap openshift-config-managed/default-ingress-cert: %w", err)
	}
	s.IngressCN = cert.Issuer.CommonName
	if cert.IsCA {
		s.IngressCN = cert.Subject.CommonName
	}
	return nil
}

// configMapKey is the text of a key; empty where there is no such ConfigMap.
func configMapKey(ctx context.Context, r kube.Reader, namespace, name, key string) (string, error) {
	var cm corev1.ConfigMap
	err := r.Get(ctx, kube.Key{Namespace: namespace, Name: name}, &cm)
	if notServed(err) {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("get configmap %s/%s: %w", namespace, name, err)
	}
	return cm.Data[key], nil
}

// otherPlatforms end the names of related images that no bare-metal node pulls.
func otherPlatforms() []string { return []string{"-for-microsoft-azure", "-for-gcp", "-for-csi"} }

// readImages reads what operators may pull later, and what catalogs are.
func readImages(ctx context.Context, r kube.Reader, s *SeedInfo) error {
	versions, err := listOriginalCSVs(ctx, r)
	if err != nil && !notServed(err) {
		return fmt.Errorf("list clusterserviceversions: %w", err)
	}
	for _, u := range versions {
		related, _, _ := unstructured.NestedSlice(u.Object, "spec", "relatedImages")
		for _, entry := range related {
			if m, ok := entry.(map[string]any); ok {
				s.addImage(m)
			}
		}
	}
	slices.Sort(s.Images)
	s.Images = slices.Compact(s.Images)
	catalogs, err := listObjects(ctx, r, schema.GroupVersionKind{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource"})
	if err != nil && !notServed(err) {
		return fmt.Errorf("list catalogsources: %w", err)
	}
	for _, u := range catalogs {
		if image, _, _ := unstructured.NestedString(u.Object, "spec", "image"); image != "" {
			s.CatalogImages = append(s.CatalogImages, image)
		}
	}
	slices.Sort(s.CatalogImages)
	return nil
}

func (s *SeedInfo) addImage(entry map[string]any) {
	name, _ := entry["name"].(string)
	image, _ := entry["image"].(string)
	foreign := slices.ContainsFunc(otherPlatforms(), func(p string) bool { return strings.Contains(name, p) || strings.Contains(image, p) })
	if image != "" && !foreign {
		s.Images = append(s.Images, image)
	}
}
