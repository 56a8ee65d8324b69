package reconcile

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// registryCAs is the ConfigMap that Image/cluster names; it repeats what the user's own holds.
const registryCAs = "lca-relocation-registry-cas"

// bundleKey is the key of a ConfigMap with authorities.
const bundleKey = "ca-bundle.crt"

// trustChanges adds the authorities of the site's registries and of the site to what the cluster trusts.
func trustChanges(v *partContext) (out []Change, err error) {
	if len(v.config.RegistryCAs) > 0 {
		if out, err = v.registryChanges(); err != nil {
			return nil, err
		}
	}
	t := v.config.AdditionalTrust
	if t == nil {
		return out, nil
	}
	for name, bundle := range map[string]string{"user-ca-bundle": t.UserCABundle, t.ProxyConfigMapName: t.ProxyConfigMapBundle} {
		if name == "" || bundle == "" {
			continue
		}
		c, err := v.bundleChange(name, bundle)
		if err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if t.ProxyConfigMapName != "" {
		out = append(out, Change{Ref: configRef("Proxy"), Path: []string{"spec", "trustedCA"},
			Want: map[string]any{"name": t.ProxyConfigMapName}})
	}
	return out, nil
}

// bundleChange adds authorities to a ConfigMap, after those that others have put there.
func (v *partContext) bundleChange(name, pem string) (Change, error) {
	c, err := v.dataChange(configMapRef(nsConfig, name), bundleKey, pem)
	if err != nil || c.ownsObject() {
		return c, err
	}
	original, err := v.originalValue(c)
	if err != nil {
		return c, err
	}
	if have, _ := original.(string); have != "" && !strings.Contains(have, strings.TrimSpace(pem)) {
		c.Want = strings.TrimRight(have, "\n") + "\n" + pem
	}
	return c, nil
}

func (v *partContext) registryChanges() ([]Change, error) {
	image := Change{Ref: configRef("Image"), Path: []string{"spec", "additionalTrustedCA"}, Want: map[string]any{"name": registryCAs}}
	data, err := v.registriesOfOthers(image)
	if err != nil {
		return nil, err
	}
	for _, r := range v.config.RegistryCAs {
		key := r.Hostname
		if r.Port != 0 && r.Port != 443 {
			key += ".." + strconv.Itoa(r.Port)
		}
		data[key] = r.Certificate
	}
	return []Change{{Ref: configMapRef(nsConfig, registryCAs), Want: map[string]any{"data": data}}, image}, nil
}

// registriesOfOthers is the content of the ConfigMap that Image/cluster named before.
func (v *partContext) registriesOfOthers(image Change) (map[string]any, error) {
	original, err := v.originalValue(image)
	if err != nil {
		return nil, err
	}
	out := map[string]any{}
	named, _ := original.(map[string]any)
	name, _ := named["name"].(string)
	if name == "" || name == registryCAs {
		return out, nil
	}
	o, err := v.getObject(configMapRef(nsConfig, name))
	if err != nil || o == nil {
		return out, err
	}
	have, _, _ := unstructured.NestedMap(o.Object, "data")
	maps.Copy(out, have)
	return out, nil
}

// machineConfig is a MachineConfig of the product for a role.
func machineConfig(name, role string, config map[string]any) Change {
	config["ignition"] = map[string]any{"version": "3.2.0"}
	return Change{
		Ref:    Ref{Group: "machineconfiguration.openshift.io", Version: "v1", Kind: "MachineConfig", Name: name},
		Labels: map[string]string{"machineconfiguration.openshift.io/role": role},
		Want:   map[string]any{"spec": map[string]any{"config": config}},
	}
}

// sshKeyChanges lets the site's people log in as core. The machine config operator applies keys without a reboot.
func sshKeyChanges(v *partContext) (out []Change, err error) {
	if len(v.config.SSHKeys) == 0 {
		return nil, nil
	}
	for _, role := range []string{"master", "worker"} {
		out = append(out, machineConfig("core-ssh-key-"+role, role, map[string]any{"passwd": map[string]any{"users": []any{
			map[string]any{"name": "core", "sshAuthorizedKeys": anyList(v.config.SSHKeys)},
		}}}))
	}
	return out, nil
}

// timeServerChanges writes chrony.conf by a MachineConfig.
func timeServerChanges(v *partContext) ([]Change, error) {
	text := v.config.ChronyConfig
	if text == "" && len(v.config.NTPServers) > 0 {
		text = renderChronyConf(v.config.NTPServers)
	}
	if text == "" {
		return nil, nil
	}
	file := map[string]any{
		"path": "/etc/chrony.conf", "mode": int64(0o644), "overwrite": true,
		"contents": map[string]any{"source": "data:text/plain;charset=utf-8;base64," + base64.StdEncoding.EncodeToString([]byte(text))},
	}
	return []Change{machineConfig("99-master-lca-relocation-chrony", "master",
		map[string]any{"storage": map[string]any{"files": []any{file}}})}, nil
}

func renderChronyConf(servers []string) string {
	var b strings.Builder
	for _, s := range servers {
		fmt.Fprintf(&b, "server %s iburst\n", s)
	}
	return b.String() + "driftfile /var/lib/chrony/drift\nmakestep 1.0 3\nrtcsync\nlogdir /var/log/chrony\n"
}

// proxyChanges writes what the site gives. The network operator derives the status from the spec; what the site gives of it is in
// force at once.
func proxyChanges(v *partContext) (out []Change, err error) {
	for _, part := range []struct {
		name string
		p    *siteconfig.Proxy
	}{{"spec", v.config.Proxy}, {"status", v.config.StatusProxy}} {
		if part.p == nil {
			continue
		}
		for _, field := range [][2]string{
			{"httpProxy", part.p.HTTPProxy.Reveal()}, {"httpsProxy", part.p.HTTPSProxy.Reveal()}, {"noProxy", part.p.NoProxy},
		} {
			if field[1] != "" {
				out = append(out, Change{Ref: configRef("Proxy"), Path: []string{part.name, field[0]}, Want: field[1],
					Status: part.name == "status"})
			}
		}
	}
	return out, nil
}

// nodeLabelChanges labels the node; other labels of it stay.
func nodeLabelChanges(v *partContext) (out []Change, err error) {
	if len(v.config.NodeLabels) == 0 {
		return nil, nil
	}
	var nodes corev1.NodeList
	if err := v.Client.List(v.ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	for _, n := range nodes.Items {
		if !cluster.IsControlPlane(&n) {
			continue
		}
		for _, key := range slices.Sorted(maps.Keys(v.config.NodeLabels)) {
			out = append(out, Change{Ref: Ref{Version: "v1", Kind: "Node", Name: n.Name},
				Path: []string{"metadata", "labels", key}, Want: v.config.NodeLabels[key], Optional: true})
		}
	}
	return out, nil
}
