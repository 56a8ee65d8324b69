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

func (v *validator) checkAccess(c SiteConfig) {
	for i, k := range c.SSHKeys {
		if _, _, _, rest, err := ssh.ParseAuthorizedKey([]byte(k)); err != nil || strings.TrimSpace(string(rest)) != "" {
			want := "must be one public key, such as ssh-ed25519 AAAA... name"
			if strings.Contains(k, "PRIVATE KEY") {
				v.addHidden(itemKey("sshKeys", i), "is a private key; %s", want)
				continue
			}
			v.addProblem(itemKey("sshKeys", i), k, "%s", want)
		}
	}
	v.checkHostKeys(c.ServerSSHKeys)
	for _, name := range slices.Sorted(maps.Keys(c.NodeLabels)) {
		if len(validation.IsQualifiedName(name)) > 0 {
			v.addProblem(joinKey("nodeLabels", shortenValue(name)), name, "must be the name of a label, such as example.org/site")
		}
		if value := c.NodeLabels[name]; len(validation.IsValidLabelValue(value)) > 0 {
			v.addProblem(joinKey("nodeLabels", shortenValue(name)), value,
				"must be letters, digits, hyphens, dots and underscores, at most 63")
		}
	}
	v.checkManifests("manifests", c.Manifests)
}

// checkManifests checks what can be told of an object without the API that it is for.
func (v *validator) checkManifests(key string, list []json.RawMessage) {
	for i, m := range list {
		var o struct {
			APIVersion string `json:"apiVersion"`
			Kind       string `json:"kind"`
			Metadata   struct {
				Name string `json:"name"`
			} `json:"metadata"`
		}
		if err := json.Unmarshal(m, &o); err != nil || o.APIVersion == "" || o.Kind == "" || o.Metadata.Name == "" {
			v.addProblem(itemKey(key, i), o.Kind, "must be an object with apiVersion, kind and metadata.name")
		}
	}
}

func (v *validator) checkHub(c SiteConfig) {
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
		v.addProblem("hub", "", "must have exactly one of token, secretRef and importManifests")
	}
	if needsURL := len(h.ImportManifests) == 0; needsURL && !isURL(h.URL, "https") || h.URL != "" && !isURL(h.URL, "https") {
		v.addProblem("hub.url", h.URL, "must be the URL of the hub's API, such as https://api.hub.example.org:6443")
	}
	v.checkBundle("hub.caBundle", h.CABundle, false)
	if h.ClusterName != "" && len(validation.IsDNS1123Label(h.ClusterName)) > 0 {
		v.addProblem("hub.clusterName", h.ClusterName, "must be lower-case letters, digits and hyphens, at most 63")
	}
	if h.ManagedClusterSet != "" && len(validation.IsDNS1123Subdomain(h.ManagedClusterSet)) > 0 {
		v.addProblem("hub.managedClusterSet", h.ManagedClusterSet, "must be the name of a ManagedClusterSet")
	}
	v.checkSecretRef("hub.secretRef", h.SecretRef)
	v.checkManifests("hub.importManifests", h.ImportManifests)
}

var (
	uuidForm   = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
	bcryptForm = regexp.MustCompile(`^\$2[abxy]\$[0-9]{2}\$[./A-Za-z0-9]{53}$`)
)

// maxInfraID is what names made from it leave room for, in characters (openshift/installer).
const maxInfraID = 27

func (v *validator) checkIdentity(id *Identity) {
	if id == nil {
		return
	}
	if id.ClusterID != "" && !uuidForm.MatchString(id.ClusterID) {
		v.addProblem("identity.clusterID", id.ClusterID, "must be a UUID in lower case")
	}
	if id.InfraID != "" && (len(id.InfraID) > maxInfraID || len(validation.IsDNS1123Label(id.InfraID)) > 0) {
		v.addProblem("identity.infraID", id.InfraID, "must be lower-case letters, digits and hyphens, at most %d", maxInfraID)
	}
	if id.KubeadminPasswordHash != "" && !bcryptForm.MatchString(id.KubeadminPasswordHash.Reveal()) {
		v.addHidden("identity.kubeadminPasswordHash", "must be a bcrypt hash, which begins with $2")
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
			v.addHidden(joinKey("identity.cryptoRetention", f.name), "must be a private key in PEM")
		}
	}
	v.checkBundle("identity.cryptoRetention.adminCACertificate", k.AdminCACertificate, false)
}
