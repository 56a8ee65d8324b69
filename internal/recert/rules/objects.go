package rules

import (
	"fmt"
	"net/netip"
	"strconv"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// ObjectRule changes objects for another reason than an address in a field.
type ObjectRule struct {
	Keys string
	Why  string
	// Follows marks a change that is made only together with others.
	Follows bool
	// Setting is the key of the configuration that the rule serves, and wanted says that it is set: then the object must
	// exist.
	Setting string
	Wanted  func(config.Config) bool
	Apply   func(cfg config.Config, m replace.Mapping, now time.Time, o *wire.Object) error
}

// InstallConfig is where the installer's input is kept for the cluster's operators.
const InstallConfig = "configmaps/kube-system/cluster-config-v1"

// ObjectRules lists the changes of whole objects.
func ObjectRules() []ObjectRule {
	rules := []ObjectRule{
		{Keys: InstallConfig, Why: "install-config", Setting: "install_config",
			Wanted: func(c config.Config) bool { return c.InstallConfig != "" }, Apply: editInstallConfig},
		{Keys: "configmaps/openshift-etcd/cluster-config-v1", Why: "install-config", Apply: editInstallConfig},
		{Keys: InstallConfig, Why: "cluster's name in the install-config", Apply: editClusterName},
		{Keys: "configmaps/openshift-etcd/cluster-config-v1", Why: "cluster's name in the install-config", Apply: editClusterName},
		{Keys: "machineconfiguration.openshift.io/machineconfigs/*", Why: "API server's name for the kubelet", Apply: editAPIServerFile},
		{Keys: "secrets/kube-system/kubeadmin", Why: "password hash of kubeadmin", Setting: "kubeadmin_password_hash",
			Wanted: func(c config.Config) bool { return c.KubeadminPasswordHash != "" }, Apply: editKubeadmin},
		{Keys: "config.openshift.io/clusterversions/version", Why: "health from before the change is outdated", Follows: true,
			Apply: editClusterVersion},
	}
	return append(rules, siteRules()...)
}

// editInstallConfig writes the configured text, if any, and the machine networks into the installer's input.
func editInstallConfig(cfg config.Config, m replace.Mapping, _ time.Time, o *wire.Object) error {
	var failed error
	err := o.Edit(func(at []string, text string) (string, bool) {
		if !wire.MatchPath([]string{"data", "install-config"}, at) {
			return text, false
		}
		base := text
		if cfg.InstallConfig != "" {
			base = cfg.InstallConfig
		}
		edited, err := setMachineNetworks(base, cfg.MachineNetworks, m)
		if err != nil {
			failed = fmt.Errorf("install-config of %s: %w", o.Key, err)
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
func setMachineNetworks(text string, networks []netip.Prefix, m replace.Mapping) (string, error) {
	for _, want := range networks {
		target, err := machineNetworkToReplace(text, want, m)
		if err != nil {
			return "", fmt.Errorf("find the network that %s replaces: %w", want, err)
		}
		text, err = wire.EditYAML(text, func(at []string, value string) (string, bool) {
			return want.String(), len(at) == 4 && at[2] == target && wire.MatchPath(machineNetworkPath, at) && value != want.String()
		})
		if err != nil {
			return "", err
		}
	}
	return text, nil
}

// machineNetworkPath leads to an entry of the installer's InstallConfig (openshift/installer pkg/types).
var machineNetworkPath = []string{"networking", "machineNetwork", "*", "cidr"}

func machineNetworkToReplace(text string, want netip.Prefix, m replace.Mapping) (string, error) {
	target, found := "", false
	_, err := wire.EditYAML(text, func(at []string, value string) (string, bool) {
		n, err := netip.ParsePrefix(value)
		if !wire.MatchPath(machineNetworkPath, at) || err != nil || n.Addr().Is4() != want.Addr().Is4() {
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

func editKubeadmin(cfg config.Config, _ replace.Mapping, _ time.Time, o *wire.Object) error {
	if cfg.KubeadminPasswordHash == "" {
		return nil
	}
	return o.Edit(func(at []string, text string) (string, bool) {
		return cfg.KubeadminPasswordHash, wire.MatchPath([]string{"data", "kubeadmin"}, at) && text != cfg.KubeadminPasswordHash
	})
}

const unknownVersion = "Cluster version status unknown"

// editClusterVersion sets condition Available to False until the version operator reports the health after the change.
func editClusterVersion(_ config.Config, _ replace.Mapping, now time.Time, o *wire.Object) error {
	index := -1
	err := o.Walk(func(at []string, text string) {
		if wire.MatchPath([]string{"status", "conditions", "*", "type"}, at) && text == "Available" {
			index, _ = strconv.Atoi(at[2])
		}
	})
	if err != nil || index < 0 {
		return err
	}
	fields := map[string]string{"status": "False", "message": unknownVersion}
	stale := false
	err = o.Walk(func(at []string, text string) {
		if len(at) == 4 && wire.MatchPath([]string{"status", "conditions", strconv.Itoa(index), "*"}, at) && fields[at[3]] != "" {
			stale = stale || text != fields[at[3]]
		}
	})
	if err != nil || !stale {
		return err
	}
	fields["lastTransitionTime"] = now.UTC().Format(time.RFC3339)
	return o.Edit(func(at []string, text string) (string, bool) {
		if len(at) != 4 || !wire.MatchPath([]string{"status", "conditions", strconv.Itoa(index), "*"}, at) {
			return text, false
		}
		want, ok := fields[at[3]]
		return want, ok && want != text
	})
}
