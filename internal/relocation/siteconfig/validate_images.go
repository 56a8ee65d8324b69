package siteconfig

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

func (v *validator) registries(c SiteConfig) {
	v.pullSecret(c)
	for _, m := range []struct {
		key  string
		list []ImageMirror
	}{
		{"imageContentSources", c.ImageContentSources}, {"imageDigestMirrors", c.ImageDigestMirrors},
		{"imageTagMirrors", c.ImageTagMirrors},
	} {
		v.mirrors(m.key, m.list)
	}
	if c.ReleaseRegistry != "" && !repository.MatchString(c.ReleaseRegistry) {
		v.add("releaseRegistry", c.ReleaseRegistry, "must be a registry, such as registry.example.org:5000")
	}
	seen := map[string]bool{}
	for i, s := range c.CatalogSources {
		key := at("catalogSources", i)
		switch {
		case len(validation.IsDNS1123Subdomain(s.Name)) > 0:
			v.add(join(key, "name"), s.Name, "must be lower-case letters, digits and hyphens, such as redhat-operators")
		case seen[s.Name]:
			v.add(join(key, "name"), s.Name, "appears twice; keep one")
		}
		seen[s.Name] = true
		if !image.MatchString(s.Image) {
			v.add(join(key, "image"), s.Image, "must be an image, such as registry.example.org/catalog:v4.20")
		}
	}
}

// The grammar of image names is that of the distribution project, without its upper-case hosts.
const (
	hostPattern = `[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:[0-9]{1,5})?|\[[0-9a-f:]+\](:[0-9]{1,5})?`
	pathPattern = `(/[a-z0-9]+([._-]+[a-z0-9]+)*)`
	tagPattern  = `(:[A-Za-z0-9_][A-Za-z0-9_.-]{0,127})?(@sha256:[0-9a-f]{64})?`
)

var (
	repository = regexp.MustCompile(`^(` + hostPattern + `)` + pathPattern + `*$`)
	wildcard   = regexp.MustCompile(`^\*\.(` + hostPattern + `)$`)
	image      = regexp.MustCompile(`^(` + hostPattern + `)` + pathPattern + `+` + tagPattern + `$`)
)

func (v *validator) mirrors(key string, list []ImageMirror) {
	seen := map[string]bool{}
	for i, m := range list {
		at := at(key, i)
		switch {
		case !repository.MatchString(m.Source) && !wildcard.MatchString(m.Source):
			v.add(join(at, "source"), m.Source, "must be a repository without tag or digest, such as quay.io/openshift-release-dev")
		case seen[m.Source]:
			v.add(join(at, "source"), m.Source, "appears twice; list all its mirrors in one entry")
		}
		seen[m.Source] = true
		if len(m.Mirrors) == 0 && m.MirrorSourcePolicy == "" {
			v.add(join(at, "mirrors"), "", "must name at least one repository to pull from instead")
		}
		for j, s := range m.Mirrors {
			if !repository.MatchString(s) {
				v.add(mirrorKey(at, j), s, "must be a repository without tag or digest, such as registry.example.org:5000/mirror")
			}
		}
		if p := m.MirrorSourcePolicy; p != "" && p != "AllowContactingSource" && p != "NeverContactSource" {
			v.add(join(at, "mirrorSourcePolicy"), p, "must be AllowContactingSource or NeverContactSource")
		}
	}
}

// pullSecret checks the form of a .dockerconfigjson; no value of it is repeated.
func (v *validator) pullSecret(c SiteConfig) {
	if c.PullSecret != "" && c.PullSecretRef != nil {
		v.hide("pullSecret", "must be left out where pullSecretRef is given, or the other way round")
	}
	v.secretRef("pullSecretRef", c.PullSecretRef)
	if c.PullSecret == "" {
		return
	}
	const form = `must be the text of a pull secret: {"auths":{"registry.example.org":{"auth":"..."}}}`
	var s struct {
		Auths map[string]struct {
			Auth     string `json:"auth"`
			Username string `json:"username"`
			Password string `json:"password"`
		} `json:"auths"`
	}
	if err := json.Unmarshal([]byte(c.PullSecret.Reveal()), &s); err != nil || len(s.Auths) == 0 {
		v.hide("pullSecret", form)
		return
	}
	for host, a := range s.Auths {
		text, err := base64.StdEncoding.DecodeString(a.Auth)
		if err != nil || a.Auth != "" && !strings.Contains(string(text), ":") {
			v.hide("pullSecret", "the auth of %q must be user:password in base64", shorten(host))
		} else if a.Auth == "" && a.Username == "" {
			v.hide("pullSecret", "the entry %q must have an auth", shorten(host))
		}
	}
}

func (v *validator) secretRef(key string, r *SecretRef) {
	if r == nil {
		return
	}
	if len(validation.IsDNS1123Subdomain(r.Name)) > 0 {
		v.add(join(key, "name"), r.Name, "must be the name of a Secret")
	}
	if r.Namespace != "" && len(validation.IsDNS1123Label(r.Namespace)) > 0 {
		v.add(join(key, "namespace"), r.Namespace, "must be the name of a namespace")
	}
}

func mirrorKey(entry string, i int) string { return at(join(entry, "mirrors"), i) }
