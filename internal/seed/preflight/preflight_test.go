package preflight_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/preflight"
)

const (
	image  = "registry.example.com/seeds/sno:4.20.3"
	script = "source /etc/default/sno_dnsmasq_configuration_overrides\n" +
		"${SNO_DNSMASQ_IP_OVERRIDE} ${SNO_CLUSTER_NAME_OVERRIDE} ${SNO_BASE_DOMAIN_OVERRIDE}\n"
)

func goodFacts() preflight.Facts {
	return preflight.Facts{
		Unknown: map[string]string{},
		Cluster: cluster.SeedFacts{ControlPlaneNodes: 1, Name: "sno", ID: "a", KlusterletServed: true, Klusterlets: []string{"klusterlet"},
			OADP: cluster.OADP{Name: "oadp-operator.v1.4.1", Version: "1.4.1"}, ReservedCPUs: "0-1"},
		HubGiven: true, Hub: cluster.HubFacts{Server: "https://hub", Cluster: "sno", Managed: true, ID: "a"},
		SecretFound: true, Auth: []byte(`{"auths":{"registry.example.com":{"auth":"cGxhbnRlZC1zZWNyZXQ="}}}`),
		ContainerStorage: "/dev/disk/by-partlabel/varlibcontainers", DnsmasqScript: script,
		PullSecret: []byte(`{"auths":{"quay.io":{"auth":"cGxhbnRlZC1zZWNyZXQ="}}}`),
		CPUs:       8, Cores: 4, Sockets: 1, Need: host.Size{Bytes: 1 << 30}, Free: host.Size{Bytes: 10 << 30},
	}
}

func spec() lcav1.SeedGeneratorSpec { return lcav1.SeedGeneratorSpec{SeedImage: image} }

func TestAGoodClusterPassesEveryCheckAndIsRecorded(t *testing.T) {
	checks := preflight.Validate(spec(), goodFacts())
	require.Len(t, checks, len(preflight.Checks()))
	recorded := map[string]string{}
	for _, c := range checks {
		require.Equal(t, lcav1.PreflightPassed, c.Result, "%+v", c)
		recorded[c.Name] = c.Message
	}
	require.NoError(t, preflight.Refusal(checks))
	require.Equal(t, "8 CPUs, 4 cores, 1 sockets; reserved 0-1, as it has to be on the targets", recorded["cpu-topology"])
	require.Equal(t, "FIPS is off, as it has to be on the targets", recorded["fips"])
	require.Equal(t, "mounted from /dev/disk/by-partlabel/varlibcontainers", recorded["container-storage"])
	require.Equal(t, "ManagedCluster sno on https://hub", recorded["hub-identity"])
}

// TestEveryCheckFailsAndSaysWhatToDo has at least one case for each check.
func TestEveryCheckFailsAndSaysWhatToDo(t *testing.T) {
	type edit = func(*lcav1.SeedGeneratorSpec, *preflight.Facts)
	seen := map[string]bool{}
	for _, c := range []struct {
		check string
		edit  edit
		says  string
	}{
		{"single-node", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.ControlPlaneNodes = 3 }, "3 control plane nodes and 0 other"},
		{"single-node", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.OtherNodes = 1 }, "1 control plane nodes and 1 other"},
		{"node-busy", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.Busy = "IPConfig ipconfig is not Idle" }, "IPConfig ipconfig is not Idle"},
		{"node-busy", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.NodeBusy = "stateroot-clone x" }, "under way: stateroot-clone x"},
		{"seed-image", func(s *lcav1.SeedGeneratorSpec, _ *preflight.Facts) { s.SeedImage = "registry.example.com/seeds/sno" }, "no pull specification with a tag"},
		{"seed-auth", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.SecretFound = false }, "Secret seedgen does not exist"},
		{"seed-auth", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Auth = nil }, "has no key seedAuth"},
		{"seed-auth", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Auth = []byte("planted-secret") }, "is no auth file"},
		{"seed-auth", func(s *lcav1.SeedGeneratorSpec, _ *preflight.Facts) { s.SeedImage = "quay.io/x/y:1" }, "has no credentials for quay.io"},
		{"signing-key", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.SigningProblem = "Secret x does not exist" }, "cosign generate-key-pair"},
		{"secret-decisions", func(s *lcav1.SeedGeneratorSpec, _ *preflight.Facts) {
			s.SecretDecisions = []lcav1.SecretDecision{{Object: "secrets/a/[", Decision: lcav1.SecretKeep, Reason: "r"}}
		}, "spec.secretDecisions[0] pattern secrets/a/[ cannot be read"},
		{"recert-image", func(s *lcav1.SeedGeneratorSpec, _ *preflight.Facts) { s.RecertImage = "Recert" }, `"Recert" is no pull specification`},
		{"boot-entry", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.SetDefault = errors.New("no set-default") }, "cannot choose its next boot: no set-default"},
		{"container-storage", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.ContainerStorage = "" }, "no mount of its own"},
		{"container-storage", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.ContainerStorageOwn = true }, "inside the stateroot"},
		{"dnsmasq-script", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.DnsmasqScript = "" }, "dnsmasq_config.sh does not exist"},
		{"dnsmasq-script", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.DnsmasqScript = "HOST_IP=192.0.2.10" }, "does not read sno_dnsmasq_configuration_overrides"},
		{"pull-secret", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) {
			f.PullSecret = []byte(preflight.Placeholder + "\n")
		}, "placeholder that an earlier generation left"},
		{"pull-secret", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) {
			f.PullSecret = []byte(seed.PlaceholderPullSecret)
		}, "placeholder"},
		{"encryption-at-rest", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.Encryption = "aescbc" }, "set spec.encryption.type of APIServer cluster to identity"},
		{"persistent-volumes", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) {
			f.Cluster.PersistentVolumes = strings.Fields("a b c d e f g")
		}, "a, b, c, d, e and 2 more"},
		{"local-volumes", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.LocalVolumes = []string{"ns/lv"} }, "ns/lv: delete them"},
		{"network-policies", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.NetworkPolicies = []string{"storage"} },
			"storage: delete those with an address of this node"},
		{"lvm-clusters", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.LVMClusters = []string{"ns/lc"} }, "ns/lc: delete them"},
		{"oadp-configured", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.OADP.Applications = []string{"ns/dpa"} }, "ns/dpa"},
		{"oadp-version", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.OADP.Version = "1.3.0" }, "OADP 1.3.0 is older than 1.3.1: upgrade it"},
		{"oadp-installed", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Cluster.OADP = cluster.OADP{} }, "OADP is not installed"},
		{"hub-reachable", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.HubUnreachable = "timeout" }, "the hub does not answer: timeout"},
		{"hub-reachable", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.HubProblem = "it is no kubeconfig" }, "cannot be used: it is no kubeconfig"},
		{"hub-detached", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.HubGiven, f.Hub = false, cluster.HubFacts{} }, "Cluster must be detached from hub prior to seed generation"},
		{"hub-identity", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Hub.ID = "b" }, "is another cluster: its id is b, this one's is a"},
		{"hub-identity", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Hub.Managed, f.Hub.ID = false, "" }, "the hub https://hub has no ManagedCluster sno"},
		{"hub-owner", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Hub.Owners = []string{"Flux (label x)"} }, "belongs to Flux (label x)"},
		{"hub-addons", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) {
			f.Cluster.AddonNamespaces, f.Hub.Addons = []string{"open-cluster-management-addon-observability"}, []string{"observability-controller"}
		}, "open-cluster-management-addon-observability, ManagedClusterAddOn observability-controller"},
		{"disk-space", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.Free.Bytes = 1 << 20 }, "needs 1024 MiB in /var/lib/lca, where 1 MiB are free"},
		{"fips", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.FIPS = true }, "FIPS is off in the install-config and on in the kernel"},
		{"cpu-topology", func(_ *lcav1.SeedGeneratorSpec, f *preflight.Facts) { f.CPUs = 0 }, "not known"},
	} {
		s, f := spec(), goodFacts()
		c.edit(&s, &f)
		seen[c.check] = true
		var failed []string
		var says string
		for _, check := range preflight.Validate(s, f) {
			if check.Result == lcav1.PreflightFailed {
				failed = append(failed, check.Name)
				says += check.Message + ": " + check.Hint
				require.NotEmpty(t, check.Hint, check.Name)
			}
		}
		require.Contains(t, failed, c.check, c.says)
		require.Len(t, failed, 1, c.says)
		require.Contains(t, says, c.says)
		require.NotContains(t, says, "planted-secret")
		require.NotContains(t, says, "cGxhbnRlZC1zZWNyZXQ")
	}
	for _, c := range preflight.Checks() {
		require.True(t, seen[c.Name], "check %s has no case", c.Name)
		require.NotEmpty(t, c.Fails)
	}
}

func TestCredentialsOfAPathCoverItsRepositories(t *testing.T) {
	for key, covers := range map[string]bool{
		"registry.example.com": true, "https://registry.example.com/v1/": true, "registry.example.com/seeds": true,
		"registry.example.com/seeds/sno": true, "registry.example.com/other": false, "registry.example.com:5000": false, "example.com": false,
	} {
		f := goodFacts()
		f.Auth = fmt.Appendf(nil, `{"auths":{%q:{}}}`, key)
		require.Equal(t, covers, preflight.Refusal(preflight.Validate(spec(), f)) == nil, key)
	}
}

func TestAWarningRefusesNothing(t *testing.T) {
	f := goodFacts()
	f.Cluster.OADP = cluster.OADP{}
	require.NoError(t, preflight.Refusal(preflight.Validate(spec(), f)))
}

func TestOnlyASilentHubIsWaitedFor(t *testing.T) {
	f := goodFacts()
	require.False(t, preflight.Transient(preflight.Validate(spec(), f), f))
	f.HubUnreachable = "timeout"
	require.True(t, preflight.Transient(preflight.Validate(spec(), f), f))
	f.SecretFound = false
	require.False(t, preflight.Transient(preflight.Validate(spec(), f), f))
}
