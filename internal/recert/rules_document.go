package recert

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"
)

// objectRule changes objects for another reason than an address in a field.
type objectRule struct {
	keys string
	why  string
	// follows marks a change that is made only together with others.
	follows bool
	// setting is the key of the configuration that the rule serves, and wanted says that it is set: then there must be
	// an object to write it into.
	setting string
	wanted  func(Config) bool
	apply   func(cfg Config, m Mapping, now time.Time, o *object) error
}

// installConfig is where the installer's input is kept for the cluster's operators.
const installConfig = "configmaps/kube-system/cluster-config-v1"

func objectRules() []objectRule {
	rules := []objectRule{
		{keys: installConfig, why: "install-config", setting: "install_config",
			wanted: func(c Config) bool { return c.InstallConfig != "" }, apply: editInstallConfig},
		{keys: "configmaps/openshift-etcd/cluster-config-v1", why: "install-config", apply: editInstallConfig},
		{keys: installConfig, why: "cluster's name in the install-config", apply: editClusterName},
		{keys: "configmaps/openshift-etcd/cluster-config-v1", why: "cluster's name in the install-config", apply: editClusterName},
		{keys: "machineconfiguration.openshift.io/machineconfigs/*", why: "API server's name for the kubelet", apply: editAPIServerFile},
		{keys: "secrets/kube-system/kubeadmin", why: "password hash of kubeadmin", setting: "kubeadmin_password_hash",
			wanted: func(c Config) bool { return c.KubeadminPasswordHash != "" }, apply: editKubeadmin},
		{keys: "config.openshift.io/clusterversions/version", why: "health of before the change must not be believed", follows: true,
			apply: editClusterVersion},
	}
	return append(rules, siteRules()...)
}

// editInstallConfig writes the configured text, if any, and the machine networks into the installer's input.
func editInstallConfig(cfg Config, m Mapping, _ time.Time, o *object) error {
	var failed error
	err := o.edit(func(at []string, text string) (string, bool) {
		if !matchPath([]string{"data", "install-config"}, at) {
			return text, false
		}
		base := text
		if cfg.InstallConfig != "" {
			base = cfg.InstallConfig
		}
		edited, err := setMachineNetworks(base, cfg.MachineNetworks, m)
		if err != nil {
			failed = fmt.Errorf("install-config of %s: %w", o.key, err)
			return text, false
		}
		return edited, edited != text
	})
	if err != nil {
		return err
	}
	return failed
}

// setMachineNetworks replaces, in each family, the entry of networking.machineNetwork that contains an old
// address, or else the first entry of the family.
func setMachineNetworks(text string, networks []netip.Prefix, m Mapping) (string, error) {
	for _, want := range networks {
		target, err := machineNetworkToReplace(text, want, m)
		if err != nil {
			return "", err
		}
		text, err = editYAML(text, func(at []string, value string) (string, bool) {
			return want.String(), len(at) == 4 && at[2] == target && matchPath(machineNetworkPath, at) && value != want.String()
		})
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// machineNetworkPath leads to an entry of the installer's InstallConfig (openshift/installer pkg/types).
var machineNetworkPath = []string{"networking", "machineNetwork", "*", "cidr"}

func machineNetworkToReplace(text string, want netip.Prefix, m Mapping) (string, error) {
	target, found := "", false
	_, err := editYAML(text, func(at []string, value string) (string, bool) {
		n, err := netip.ParsePrefix(value)
		if !matchPath(machineNetworkPath, at) || err != nil || n.Addr().Is4() != want.Addr().Is4() {
			return value, false
		}
		holdsOld := false
		for _, c := range m.Changes() {
			holdsOld = holdsOld || n.Contains(c.Old)
		}
		if target == "" || (holdsOld && !found) || n == want {
			target, found = at[2], found || holdsOld || n == want
		}
		return value, false
	})
	if err == nil && target == "" {
		err = fmt.Errorf("no networking.machineNetwork entry of the family of %s", want)
	}
	return target, err
}

func editKubeadmin(cfg Config, _ Mapping, _ time.Time, o *object) error {
	if cfg.KubeadminPasswordHash == "" {
		return nil
	}
	return o.edit(func(at []string, text string) (string, bool) {
		return cfg.KubeadminPasswordHash, matchPath([]string{"data", "kubeadmin"}, at) && text != cfg.KubeadminPasswordHash
	})
}

const unknownVersion = "Cluster version status unknown"

// editClusterVersion sets condition Available to False, so that nobody takes the health of before the change
// for that of after; the version operator puts it right when it runs again.
func editClusterVersion(_ Config, _ Mapping, now time.Time, o *object) error {
	index := -1
	err := o.walk(func(at []string, text string) {
		if matchPath([]string{"status", "conditions", "*", "type"}, at) && text == "Available" {
			index, _ = strconv.Atoi(at[2])
		}
	})
	if err != nil || index < 0 {
		return err
	}
	fields := map[string]string{"status": "False", "message": unknownVersion}
	stale := false
	err = o.walk(func(at []string, text string) {
		if len(at) == 4 && matchPath([]string{"status", "conditions", strconv.Itoa(index), "*"}, at) && fields[at[3]] != "" {
			stale = stale || text != fields[at[3]]
		}
	})
	if err != nil || !stale {
		return err
	}
	fields["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
	return o.edit(func(at []string, text string) (string, bool) {
		if len(at) != 4 || !matchPath([]string{"status", "conditions", strconv.Itoa(index), "*"}, at) {
			return text, false
		}
		want, ok := fields[at[3]]
		return want, ok && want != text
	})
}
