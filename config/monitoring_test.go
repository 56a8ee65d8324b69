package config_test

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/grafana/grafana-foundation-sdk/go/cog"
	grafana "github.com/grafana/grafana-foundation-sdk/go/dashboard"
	prometheusquery "github.com/grafana/grafana-foundation-sdk/go/prometheus"
	"github.com/grafana/grafana-foundation-sdk/go/stat"
	"github.com/grafana/grafana-foundation-sdk/go/timeseries"
	monitoringv1 "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/labels"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/hostnet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netenactment"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netpolicy"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/nodenetwork"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/seedgen"
)

const monitored = "release/openshift"

// TestPrometheusFindsAndMayReadBothRoles: what a ServiceMonitor selects, and the names, ports, certificates and rights behind it.
func TestPrometheusFindsAndMayReadBothRoles(t *testing.T) {
	operator := find[appsv1.Deployment](t, monitored, "Deployment", "lifecycle-agent").Spec.Template
	node := find[appsv1.DaemonSet](t, monitored, "DaemonSet", "lifecycle-agent-node").Spec.Template
	for _, c := range []struct {
		monitor, service string
		pod              corev1.PodTemplateSpec
		port             int32
	}{{"lifecycle-agent", "lifecycle-agent-metrics", operator, 8443}, {"lifecycle-agent-node", "lifecycle-agent-node-metrics", node, 29443}} {
		monitor := find[monitoringv1.ServiceMonitor](t, monitored, "ServiceMonitor", c.monitor)
		service := find[corev1.Service](t, monitored, "Service", c.service)
		require.True(t, labels.SelectorFromSet(monitor.Spec.Selector.MatchLabels).Matches(labels.Set(service.Labels)))
		require.True(t, labels.SelectorFromSet(service.Spec.Selector).Matches(labels.Set(c.pod.Labels)))
		endpoint := monitor.Spec.Endpoints[0]
		require.Equal(t, service.Spec.Ports[0].Name, endpoint.Port)
		require.Equal(t, "https", strings.ToLower(string(*endpoint.Scheme)))
		require.Equal(t, c.service+"."+service.Namespace+".svc", *endpoint.TLSConfig.ServerName)
		require.Nil(t, endpoint.TLSConfig.InsecureSkipVerify, "Prometheus sends its token to a server that it has verified")

		container := c.pod.Spec.Containers[0]
		port := slices.IndexFunc(container.Ports, func(p corev1.ContainerPort) bool { return p.Name == service.Spec.Ports[0].TargetPort.StrVal })
		require.Equal(t, c.port, container.Ports[port].ContainerPort)
		mount := slices.IndexFunc(container.VolumeMounts, func(m corev1.VolumeMount) bool { return m.Name == "metrics-certs" })
		require.Contains(t, container.Args, "--metrics-certs="+container.VolumeMounts[mount].MountPath)
		volume := slices.IndexFunc(c.pod.Spec.Volumes, func(v corev1.Volume) bool { return v.Name == "metrics-certs" })
		secret := c.pod.Spec.Volumes[volume].Secret
		require.Equal(t, service.Annotations["service.beta.openshift.io/serving-cert-secret-name"], secret.SecretName)
		require.True(t, *secret.Optional, "a pod that waits for a Secret would not end a change")
	}
	require.Subset(t, node.Spec.Containers[0].Args, []string{"node", "--metrics-secure", "--metrics-bind-address=:29443"})
	reader := find[rbacv1.ClusterRoleBinding](t, monitored, "ClusterRoleBinding", "lifecycle-agent-metrics-reader")
	require.Equal(t, "prometheus-k8s", reader.Subjects[0].Name)
	reviews := find[rbacv1.ClusterRoleBinding](t, monitored, "ClusterRoleBinding", "lifecycle-agent-node-metrics-auth")
	find[rbacv1.ClusterRole](t, monitored, "ClusterRole", reviews.RoleRef.Name)
}

// TestPrometheusKeepsTheLabelsOfTheMetrics: without honorLabels it renames a label that it sets itself, such as the namespace of a pool, and
// an alert about a pool names the agent's own namespace.
func TestPrometheusKeepsTheLabelsOfTheMetrics(t *testing.T) {
	for name, has := range exportedMetrics(t) {
		for _, target := range []string{"namespace", "pod", "service", "instance", "job", "endpoint", "container"} {
			if slices.Contains(has, target) {
				require.Regexp(t, "^lifecycle_agent_ipam_", name, "%s of the node role would need honorLabels too", name)
				monitor := find[monitoringv1.ServiceMonitor](t, monitored, "ServiceMonitor", "lifecycle-agent")
				require.True(t, monitor.Spec.Endpoints[0].HonorLabels, "%s has label %s", name, target)
			}
		}
	}
}

// TestRulesFireForWhatTheyAreFor has promtool check the rules and play testdata/rules_test.yaml, which has a case for each alert.
func TestRulesFireForWhatTheyAreFor(t *testing.T) {
	rules := find[monitoringv1.PrometheusRule](t, monitored, "PrometheusRule", "lifecycle-agent")
	cases, err := os.ReadFile("testdata/rules_test.yaml")
	require.NoError(t, err)
	for _, g := range rules.Spec.Groups {
		for _, r := range g.Rules {
			require.Contains(t, string(cases), "alertname: "+r.Alert+"\n", "a case in which it fires")
			require.Contains(t, []string{"warning", "critical"}, r.Labels["severity"], r.Alert)
			require.NotEmpty(t, r.Annotations["summary"], r.Alert)
			require.NotEmpty(t, r.Annotations["description"], r.Alert)
		}
	}
	dir := t.TempDir()
	text, err := yaml.Marshal(rules.Spec)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules.yaml"), text, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "rules_test.yaml"), cases, 0o600))
	promtool(t, dir, "check", "rules", "rules.yaml")
	promtool(t, dir, "test", "rules", "rules_test.yaml")
}

// dashboard is as much of a Grafana dashboard as the tests read.
type dashboard struct {
	Title  string
	Panels []struct {
		Title, Type string
		Targets     []struct{ Expr string }
	}
}

func readDashboard(t *testing.T) (d dashboard) {
	t.Helper()
	text := find[corev1.ConfigMap](t, monitored, "ConfigMap", "lifecycle-agent-dashboard").Data["lifecycle-agent.json"]
	require.NoError(t, json.Unmarshal([]byte(text), &d))
	require.NotEmpty(t, d.Panels)
	return d
}

// TestTheDashboardHasGrafanasSchema: every key is one that Grafana knows, and none that its panels rely on is left out.
func TestTheDashboardHasGrafanasSchema(t *testing.T) {
	kinds := cog.NewRuntime()
	kinds.RegisterPanelcfgVariant(stat.VariantConfig())
	kinds.RegisterPanelcfgVariant(timeseries.VariantConfig())
	kinds.RegisterDataqueryVariant(prometheusquery.VariantConfig())
	text := find[corev1.ConfigMap](t, monitored, "ConfigMap", "lifecycle-agent-dashboard").Data["lifecycle-agent.json"]
	require.Empty(t, schemaErrors(text))
	require.NotEmpty(t, schemaErrors(strings.Replace(text, `"graphMode"`, `"grafMode"`, 1)))
	for _, panel := range readDashboard(t).Panels {
		require.Contains(t, []string{"row", "stat", "timeseries"}, panel.Type, "%s: its schema is not registered above", panel.Title)
	}
}

// schemaErrors is what Grafana's schema finds; the library returns an error that is empty where it finds nothing.
func schemaErrors(text string) (found cog.BuildErrors) {
	err := new(grafana.Dashboard).UnmarshalJSONStrict([]byte(text)) //nolint:staticcheck // what a ConfigMap provides is of this version
	if !errors.As(err, &found) && err != nil {
		found = cog.MakeBuildErrors("dashboard", err)
	}
	return found
}

// TestTheDashboardsExpressionsParse: promtool takes each as the expression of a recording rule.
func TestTheDashboardsExpressionsParse(t *testing.T) {
	group := monitoringv1.RuleGroup{Name: "dashboard"}
	for _, panel := range readDashboard(t).Panels {
		require.True(t, panel.Type == "row" || len(panel.Targets) > 0, panel.Title)
		for _, target := range panel.Targets {
			var rule monitoringv1.Rule
			rule.Expr.StrVal, rule.Expr.Type, rule.Record = target.Expr, 1, "panel:expression"
			rule.Labels = map[string]string{"n": panel.Title + target.Expr}
			group.Rules = append(group.Rules, rule)
		}
	}
	text, err := yaml.Marshal(monitoringv1.PrometheusRuleSpec{Groups: []monitoringv1.RuleGroup{group}})
	require.NoError(t, err)
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "dashboard.yaml"), text, 0o600))
	promtool(t, dir, "check", "rules", "dashboard.yaml")
}

// TestRulesAndDashboardNameMetricsThatExist: each metric, and each label that is matched or grouped by, is one that the program exports.
func TestRulesAndDashboardNameMetricsThatExist(t *testing.T) {
	exported := exportedMetrics(t)
	var expressions []string
	for _, g := range find[monitoringv1.PrometheusRule](t, monitored, "PrometheusRule", "lifecycle-agent").Spec.Groups {
		for _, r := range g.Rules {
			expressions = append(expressions, r.Expr.StrVal)
		}
	}
	for _, panel := range readDashboard(t).Panels {
		for _, target := range panel.Targets {
			expressions = append(expressions, target.Expr)
		}
	}
	metric := regexp.MustCompile(`(lifecycle_agent_[a-z_]+)(?:\{([^}]*)\})?`)
	label := regexp.MustCompile(`([a-z_]+)\s*(?:=|!=|=~|!~)`)
	grouped := regexp.MustCompile(`(?:by|ignoring) \(([a-z_, ]+)\)`)
	for _, e := range expressions {
		found := metric.FindAllStringSubmatch(e, -1)
		require.NotEmpty(t, found, e)
		var all []string
		for _, m := range found {
			has, exists := exported[m[1]]
			require.True(t, exists, "%s is not exported: %s", m[1], e)
			all = append(all, has...)
			for _, l := range label.FindAllStringSubmatch(m[2], -1) {
				require.Contains(t, has, l[1], e)
			}
		}
		for _, by := range grouped.FindAllStringSubmatch(e, -1) {
			for l := range strings.SplitSeq(by[1], ",") {
				require.Contains(t, all, strings.TrimSpace(l), e)
			}
		}
	}
}

// exportedMetrics has the labels of every metric that the controllers register, by name.
func exportedMetrics(t *testing.T) map[string][]string {
	t.Helper()
	described := describer{"lifecycle_agent_build_info": {"version", "commit", "goversion"}} // TestBuildInfoIsPublished of the program
	_, err := ipconfig.NewMetrics(described, time.Now)
	require.NoError(t, err)
	_, err = seedgen.NewMetrics(described)
	require.NoError(t, err)
	_, err = ipam.NewMetrics(described)
	require.NoError(t, err)
	_, err = hostnet.NewMetrics(described)
	require.NoError(t, err)
	_, err = netpolicy.NewMetrics(described)
	require.NoError(t, err)
	_, err = netenactment.NewMetrics(described)
	require.NoError(t, err)
	_, err = nodenetwork.NewMetrics(described)
	require.NoError(t, err)
	return described
}

// describer is a registry that keeps the names and labels of what is registered.
type describer map[string][]string

var described = regexp.MustCompile(`fqName: "([^"]+)".*variableLabels: \{([^}]*)\}`)

// Register implements prometheus.Registerer.
func (d describer) Register(c prometheus.Collector) error {
	descs := make(chan *prometheus.Desc, 16)
	c.Describe(descs)
	close(descs)
	for desc := range descs {
		m := described.FindStringSubmatch(desc.String())
		names := strings.FieldsFunc(m[2], func(r rune) bool { return r == ',' || r == ' ' })
		d[m[1]] = names
		if _, histogram := c.(prometheus.Histogram); histogram || isHistogramVec(c) {
			d[m[1]+"_sum"], d[m[1]+"_count"], d[m[1]+"_bucket"] = names, names, append(slices.Clone(names), "le")
		}
	}
	return nil
}

func isHistogramVec(c prometheus.Collector) bool {
	_, ok := c.(*prometheus.HistogramVec)
	return ok
}

// MustRegister implements prometheus.Registerer.
func (d describer) MustRegister(all ...prometheus.Collector) {
	for _, c := range all {
		_ = d.Register(c)
	}
}

// Unregister implements prometheus.Registerer.
func (d describer) Unregister(prometheus.Collector) bool { return false }

func promtool(t *testing.T, dir string, args ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool of Debian's package prometheus is not installed")
	}
	cmd := exec.CommandContext(t.Context(), "promtool", args...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "promtool %s: %s", strings.Join(args, " "), out)
}
