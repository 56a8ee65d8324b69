package reconcile

import (
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// pullSecretChanges puts the site's in the place of the factory's.
func pullSecretChanges(v *partContext) ([]Change, error) {
	text := []byte(v.config.PullSecret.Reveal())
	if ref := v.config.PullSecretRef; ref != nil {
		from := secretRef(ref.Namespace, ref.Name)
		if from.Namespace == "" {
			from.Namespace = nsConfig
		}
		var err error
		if text, err = v.readSecretKey(from, ".dockerconfigjson"); err != nil {
			return nil, err
		}
	}
	if len(text) == 0 {
		return nil, nil
	}
	c, err := v.dataChange(secretRef(nsConfig, "pull-secret"), ".dockerconfigjson", base64.StdEncoding.EncodeToString(text))
	if whole, ok := c.Want.(map[string]any); ok {
		whole["type"] = "kubernetes.io/dockerconfigjson"
	}
	return []Change{c}, err
}

// mirrorName is the name of all mirror objects; that of the field's operator.
const mirrorName = "mirror-ocp"

// mirrorChanges writes the mirrors in the kinds that the cluster's version has: digest and tag mirror sets from 4.13 on.
func mirrorChanges(v *partContext) (out []Change, err error) {
	c := v.config
	digests := append(append([]siteconfig.ImageMirror{}, c.ImageContentSources...), c.ImageDigestMirrors...)
	if len(digests)+len(c.ImageTagMirrors) == 0 {
		return nil, nil
	}
	old, err := v.olderThan(4, 13)
	if err != nil {
		return nil, err
	}
	if old {
		if len(c.ImageTagMirrors) > 0 {
			v.attention = "this version of OpenShift has no mirrors for tags: imageTagMirrors are left out"
		}
		var list []any
		for _, m := range digests {
			list = append(list, map[string]any{"source": m.Source, "mirrors": anyList(m.Mirrors)})
		}
		return []Change{{
			Ref:  Ref{Group: "operator.openshift.io", Version: "v1alpha1", Kind: "ImageContentSourcePolicy", Name: mirrorName},
			Want: map[string]any{"spec": map[string]any{"repositoryDigestMirrors": list}},
		}}, nil
	}
	for _, set := range []struct {
		kind, field string
		list        []siteconfig.ImageMirror
	}{
		{"ImageDigestMirrorSet", "imageDigestMirrors", digests}, {"ImageTagMirrorSet", "imageTagMirrors", c.ImageTagMirrors},
	} {
		if len(set.list) == 0 {
			continue
		}
		out = append(out, Change{
			Ref:  Ref{Group: "config.openshift.io", Version: "v1", Kind: set.kind, Name: mirrorName},
			Want: map[string]any{"spec": map[string]any{set.field: mirrorList(set.list)}},
		})
	}
	return out, nil
}

func mirrorList(list []siteconfig.ImageMirror) (out []any) {
	for _, m := range list {
		entry := map[string]any{"source": m.Source, "mirrors": anyList(m.Mirrors)}
		if m.MirrorSourcePolicy != "" {
			entry["mirrorSourcePolicy"] = m.MirrorSourcePolicy
		}
		out = append(out, entry)
	}
	return out
}

func anyList(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// olderThan compares the cluster's version; one that it does not say is new.
func (v *partContext) olderThan(major, minor int) (bool, error) {
	text, err := v.readString(versionRef(), "status", "desired", "version")
	if err != nil || text == "" {
		return false, err
	}
	parts := strings.SplitN(text, ".", 3)
	if len(parts) < 2 {
		return false, fmt.Errorf("ClusterVersion version says %q, which is not a version", text)
	}
	a, errA := strconv.Atoi(parts[0])
	b, errB := strconv.Atoi(parts[1])
	if errA != nil || errB != nil {
		return false, fmt.Errorf("ClusterVersion version says %q, which is not a version", text)
	}
	return a < major || a == major && b < minor, nil
}

// catalogChanges writes the site's catalogs of operators.
func catalogChanges(v *partContext) (out []Change, err error) {
	for _, c := range v.config.CatalogSources {
		spec := map[string]any{"sourceType": "grpc", "image": c.Image,
			"updateStrategy": map[string]any{"registryPoll": map[string]any{"interval": "24h"}}}
		if c.DisplayName != "" {
			spec["displayName"] = c.DisplayName
		}
		if c.Publisher != "" {
			spec["publisher"] = c.Publisher
		}
		out = append(out, Change{
			Ref: Ref{Group: "operators.coreos.com", Version: "v1alpha1", Kind: "CatalogSource",
				Namespace: "openshift-marketplace", Name: c.Name},
			Want: map[string]any{"spec": spec},
		})
	}
	return out, nil
}
