package siteconfig

import (
	"encoding/base64"
	"encoding/json"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
)

func (v *validator) checkRegistries(c SiteConfig) {
	v.checkPullSecret(c)
	for _, m := range []struct {
		key  string
		list []ImageMirror
	}{
		{"imageContentSources", c.ImageContentSources}, {"imageDigestMirrors", c.ImageDigestMirrors},
		{"imageTagMirrors", c.ImageTagMirrors},
	} {
		v.checkMirrors(m.key, m.list)
	}
	if c.ReleaseRegistry != "" && !repository.MatchString(c.ReleaseRegistry) {
		v.addProblem("releaseRegistry", c.ReleaseRegistry, "must be a registry, such as registry.example.org:5000")
	}
	seen := map[string]bool{}
	for i, s := range c.CatalogSources {
		key := itemKey("catalogSources", i)
		switch {
		case len(validation.IsDNS1123Subdomain(s.Name)) > 0:
			v.addProblem(joinKey(key, "name"), s.Name, "must be lower-case letters, digits and hyphens, such as redhat-operators")
		case seen[s.Name]:
			v.addProblem(joinKey(key, "name"), s.Name, "appears twice; keep one")
		}
		seen[s.Name] = true
		if !image.MatchString(s.Image) {
			v.addProblem(joinKey(key, "image"), s.Image, "must be an image, such as registry.example.org/catalog:v4.20")
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

func (v *validator) checkMirrors(key string, list []ImageMirror) {
	seen := map[string]bool{}
	for i, m := range list {
		at := itemKey(key, i)
		switch {
		case !repository.MatchString(m.Source) && !wildcard.MatchString(m.Source):
			v.addProblem(joinKey(at, "source"), m.Source,
				"must be a repository without tag or digest, such as quay.io/openshift-release-dev")
		case seen[m.Source]:
			v.addProblem(joinKey(at, "source"), m.Source, "appears twice; list all its mirrors in one entry")
		}
		seen[m.Source] = true
		if len(m.Mirrors) == 0 && m.MirrorSourcePolicy == "" {
			v.addProblem(joinKey(at, "mirrors"), "", "must name at least one repository to pull from instead")
		}
		for j, s := range m.Mirrors {
			if !repository.MatchString(s) {
				v.addProblem(mirrorKey(at, j), s, "must be a repository without tag or digest, such as registry.example.org:5000/mirror")
			}
		}
		if p := m.MirrorSourcePolicy; p != "" && p != "AllowContactingSource" && p != "NeverContactSource" {
			v.addProblem(joinKey(at, "mirrorSourcePolicy"), p, "must be AllowContactingSource or NeverContactSource")
		}
	}
}

// checkPullSecret checks the form of a .dockerconfigjson; no value of it is repeated.
func (v *validator) checkPullSecret(c SiteConfig) {
	if c.PullSecret != "" && c.PullSecretRef != nil {
		v.addHidden("pullSecret", "must be left out where pullSecretRef is given, or the other way round")
	}
	v.checkSecretRef("pullSecretRef", c.PullSecretRef)
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
		v.addHidden("pullSecret", form)
		return
	}
	for host, a := range s.Auths {
		text, err := base64.StdEncoding.DecodeString(a.Auth)
		if err != nil || a.Auth != "" && !strings.Contains(string(text), ":") {
			v.addHidden("pullSecret", "the auth of %q must be user:password in base64", shortenValue(host))
		} else if a.Auth == "" && a.Username == "" {
			v.addHidden("pullSecret", "the entry %q must have an auth", shortenValue(host))
		}
	}
}

func (v *validator) checkSecretRef(key string, r *SecretRef) {
	if r == nil {
		return
	}
	if len(validation.IsDNS1123Subdomain(r.Name)) > 0 {
		v.addProblem(joinKey(key, "name"), r.Name, "must be the name of a Secret")
	}
	if r.Namespace != "" && len(validation.IsDNS1123Label(r.Namespace)) > 0 {
		v.addProblem(joinKey(key, "namespace"), r.Namespace, "must be the name of a namespace")
	}
}

func mirrorKey(entry string, i int) string { return itemKey(joinKey(entry, "mirrors"), i) }
