package rules

import (
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// The objects that name the cluster. They are written last, so that the next run finds the old names in them after an interruption.
const (
	ClusterDNS   = "config.openshift.io/dnses/cluster"
	ClusterInfra = "config.openshift.io/infrastructures/cluster"
)

// NamesCluster reports whether an object names the cluster.
func NamesCluster(key string) bool {
	return key == StoragePrefix+ClusterDNS || key == StoragePrefix+ClusterInfra
}

// editClusterName writes the cluster's name and domain into the installer's input.
func editClusterName(cfg config.Config, _ replace.Mapping, _ time.Time, o *wire.Object) error {
	if cfg.Cluster == nil {
		return nil
	}
	fields := map[string]string{"metadata/name": cfg.Cluster.Name, "baseDomain": cfg.Cluster.Domain}
	return o.EditText("data/install-config", func(text string) (string, error) {
		return wire.EditYAML(text, func(at []string, value string) (string, bool) {
			want, ok := fields[strings.Join(at, "/")]
			return want, ok && want != value
		})
	})
}

// clusterRules are the fields that carry the cluster's zone or its infrastructure's identifier. They are read only if one of them
// changes: some are in every workload of OpenShift. A key that begins with a slash is one of the aggregated API server's.
func clusterRules() []FieldRule {
	rule := func(keys, field string, in Within, why string) FieldRule {
		return FieldRule{keys, wire.FieldPath(field), in, why}
	}
	const (
		names  = "names in the cluster's zone"
		infra  = "identifier of the infrastructure"
		config = "config.openshift.io/"
		mco    = "machineconfiguration.openshift.io/controllerconfigs/*"
		kcm    = "configmaps/openshift-kube-controller-manager/"
	)
	rules := []FieldRule{
		rule(config+"dnses/cluster", "spec/**", zoneText, names),
		rule(config+"infrastructures/cluster", "status/**", zoneText, names),
		rule(config+"infrastructures/cluster", "status/infrastructureName", infraExact, infra),
		rule(config+"ingresses/cluster", "spec/domain", zoneText, names),
		rule(config+"ingresses/cluster", "status/**", zoneText, names),
		rule(config+"consoles/cluster", "status/**", zoneText, names),
		rule("operator.openshift.io/ingresscontrollers/openshift-ingress-operator/*", "status/**", zoneText, names),
		rule("operator.openshift.io/*/cluster", "spec/observedConfig/**", zoneText, names),
		rule("operator.openshift.io/kubecontrollermanagers/cluster", "spec/observedConfig/extendedArguments/cluster-name/*",
			infraExact, infra),
		rule("console.openshift.io/consoleclidownloads/*", "spec/links/*/href", zoneText, names),
		rule("monitoring.coreos.com/*/openshift-monitoring/*", "spec/externalUrl", zoneText, names),
		rule(mco, "spec/dns/**", zoneText, names),
		rule(mco, "spec/infra/**", zoneText, names),
		rule(mco, "spec/infra/status/infrastructureName", infraExact, infra),
		rule(kcm+"config*", "data/config.yaml", infraArgument, infra),
		rule(kcm+"kube-controller-manager-pod*", "data/pod.yaml", infraFlag, infra),
		rule("secrets/openshift-machine-api/*-user-data*", "data/userData", zoneText, names),
		rule("secrets/openshift-kube-apiserver/node-kubeconfigs*", "data/*", zoneText, names),
		rule("/openshift.io/routes/*/*", "spec/host", zoneText, "host of the route"),
		rule("/openshift.io/routes/*/*", "status/**", zoneText, "host of the route"),
		rule("/openshift.io/oauth/clients/*", "redirectURIs/*", zoneText, "where the client is sent back to"),
	}
	for _, name := range clusterConfigMaps() {
		rules = append(rules, rule("configmaps/"+name, "data/*", zoneText, names))
	}
	for _, workload := range []string{"deployments", "daemonsets", "statefulsets"} {
		for _, field := range []string{"containers/*/env/*/value", "initContainers/*/env/*/value", "containers/*/args/*"} {
			rules = append(rules, rule(workload+"/openshift-*/*", "spec/template/spec/"+field, zoneText, names))
		}
	}
	return rules
}

// clusterConfigMaps are what operators make of the cluster's zone.
func clusterConfigMaps() []string {
	return []string{"openshift-apiserver/config*", "openshift-authentication/v4-0-config-system-cliconfig*",
		"openshift-authentication/v4-0-config-system-metadata*", "openshift-config-managed/oauth-openshift",
		"openshift-config-managed/console-public",
		"openshift-config-managed/monitoring-shared-config", "openshift-console/console-config", "openshift-kube-apiserver/config*",
		"openshift-kube-apiserver/oauth-metadata*", "openshift-kube-controller-manager/controller-manager-kubeconfig*",
		"openshift-kube-scheduler/scheduler-kubeconfig*", "openshift-ovn-kubernetes/ovnkube-config"}
}

// IsZoneSecret reports whether the entries of a Secret are named for the zone.
func IsZoneSecret(name string) bool {
	return MatchKey("secrets/openshift-authentication/v4-0-config-system-router-certs*", name) ||
		name == "secrets/openshift-config-managed/router-certs"
}

// clusterDiskRules are the files that mirror them.
func clusterDiskRules() []DiskRule {
	const names, infra = "names in the cluster's zone", "identifier of the infrastructure"
	return []DiskRule{
		{"*kubeconfig", zoneText, names},
		{"kubeConfig", zoneText, names},
		{"apiserver-url.env*", zoneText, names},
		{"currentconfig", zoneInMachineFile, names},
		{"mcs-machine-config-content.json", zoneInMachineFile, names},
		{"kube-apiserver-pod-*/configmaps/config/config.yaml", zoneText, names},
		{"oauth-metadata/oauthMetadata", zoneText, names},
		{"kube-controller-manager-pod.yaml", infraFlag, infra},
		{"kube-controller-manager-pod/pod.yaml", infraFlag, infra},
		{"kube-controller-manager-pod-*/configmaps/config/config.yaml", infraArgument, infra},
	}
}

// zoneText maps the names in the zone, wherever the text has one.
func zoneText(m replace.Mapping, text string) (string, error) { return m.Cluster.Text(text), nil }

// infraExact maps a text that is nothing but the identifier.
func infraExact(m replace.Mapping, text string) (string, error) {
	if !m.Cluster.Infra.Empty() && text == m.Cluster.Infra.Old {
		return m.Cluster.Infra.New, nil
	}
	return text, nil
}

// infraArgument maps the identifier in the controller manager's configuration.
func infraArgument(m replace.Mapping, text string) (string, error) {
	if m.Cluster.Infra.Empty() || !strings.Contains(text, m.Cluster.Infra.Old) {
		return text, nil
	}
	return wire.EditDocument(text, func(at []string, value string) (string, bool) {
		mapped, _ := infraExact(m, value)
		return mapped, mapped != value && wire.MatchPath([]string{"extendedArguments", "cluster-name", "**"}, at)
	})
}

// infraFlag maps it in the controller manager's flags.
func infraFlag(m replace.Mapping, text string) (string, error) {
	return flagExact("--cluster-name=", text, func(value string) string {
		mapped, _ := infraExact(m, value)
		return mapped
	}), nil
}
