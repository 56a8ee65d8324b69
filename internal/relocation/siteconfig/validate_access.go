package siteconfig

import (
	"encoding/json"
	"encoding/pem"
	"maps"
	"regexp"
	"slices"
	"strings"

	"golang.org/x/crypto/ssh"
	"k8s.io/apimachinery/pkg/util/validation"
)

func (v *validator) access(c SiteConfig) {
	for i, k := range c.SSHKeys {
		if _, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(k)); err != nil || strings.TrimSpace(string(rest)) != "" {
			want := "must be one public key, such as ssh-ed25519 AAAA... name"
			if strings.Contains(k, "PRIVATE KEY") {
				v.hide(at("sshKeys", i), "is a private key; %s", want)
				continue
			}
			v.add(at("sshKeys", i), k, "%s", want)
		}
	}
	v.hostKeys(c.ServerSSHKeys)
	for _, name := range slices.Sorted(maps.Keys(c.NodeLabels)) {
		if len(validation.IsQualifiedName(name)) > 0 {
			v.add(join("nodeLabels", shorten(name)), name, "must be the name of a label, such as example.org/site")
		}
		if value := c.NodeLabels[name]; len(validation.IsValidLabelValue(value)) > 0 {
			v.add(join("nodeLabels", shorten(name)), value, "must be letters, digits, hyphens, dots and underscores, at most 63")
		}
	}
	v.manifests("manifests", c.Manifests)
}

// manifests checks what can be told of an object without the API that it is for.
func (v *validator) manifests(key string, list []json.RawMessage) {
	for i, m := range list {
		var o struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(m, &o); err != nil || o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			v.add(at(key, i), o.Kind, "must be an object with apiVersion, kind and metadata.name")
		}
	}
}

func (v *validator) registration(c SiteConfig) {
	h := c.Hub
	if h == nil {
		return
	}
	ways := 0
	for _, given := range []bool{h.Token != "", h.SecretRef != nil, len(h.ImportManifests) > 0} {
		if given {
			ways++
		}
	}
	if ways != 1 {
		v.add("hub", "", "must have exactly one of token, secretRef and importManifests")
	}
	if needsURL := len(h.ImportManifests) == 0; needsURL && !isURL(h.URL, "https") || h.URL != "" && !isURL(h.URL, "https") {
		v.add("hub.url", h.URL, "must be the URL of the hub's API, such as https://api.hub.example.org:6443")
	}
	v.bundle("hub.caBundle", h.CABundle, false)
	if h.ClusterName != "" && len(validation.IsDNS1123Label(h.ClusterName)) > 0 {
		v.add("hub.clusterName", h.ClusterName, "must be lower-case letters, digits and hyphens, at most 63")
	}
	if h.ManagedClusterSet != "" && len(validation.IsDNS1123Subdomain(h.ManagedClusterSet)) > 0 {
		v.add("hub.managedClusterSet", h.ManagedClusterSet, "must be the name of a ManagedClusterSet")
	}
	v.secretRef("hub.secretRef", h.SecretRef)
	v.manifests("hub.importManifests", h.ImportManifests)
}

var (
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	bcryptForm = regexp.MustCompile(`^\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}$`)
)

// maxInfraID is what names made from it leave room for, in characters (openshift/installer).
const maxInfraID = 27

func (v *validator) identity(id *Identity) {
	if id == nil {
		return
	}
	if id.ClusterID != "" && !uuidForm.MatchString(id.ClusterID) {
		v.add("identity.clusterID", id.ClusterID, "must be a UUID in lower case")
	}
	if id.InfraID != "" && (len(id.InfraID) > maxInfraID || len(validation.IsDNS1123Label(id.InfraID)) > 0) {
		v.add("identity.infraID", id.InfraID, "must be lower-case letters, digits and hyphens, at most %d", maxInfraID)
	}
	if id.KubeadminPasswordHash != "" && !bcryptForm.MatchString(id.KubeadminPasswordHash.Reveal()) {
		v.hide("identity.kubeadminPasswordHash", "must be a bcrypt hash, which begins with $2")
	}
	k := id.CryptoRetention
	if k == nil {
		return
	}
	for _, f := range []struct {
		name  string
		value Secret
	}{
		{"localhostSignerKey", k.LocalhostSignerKey}, {"serviceNetworkSignerKey", k.ServiceNetworkSignerKey},
		{"loadBalancerSignerKey", k.LoadBalancerSignerKey}, {"ingressCAKey", k.IngressCAKey},
	} {
		if f.value == "" {
			continue
		}
		if block, _ := pem.Decode([]byte(f.value.Reveal())); block == nil || !strings.HasSuffix(block.Type, "PRIVATE KEY") {
			v.hide(join("identity.cryptoRetention", f.name), "must be a private key in PEM")
		}
	}
	v.bundle("identity.cryptoRetention.adminCACertificate", k.AdminCACertificate, false)
}
