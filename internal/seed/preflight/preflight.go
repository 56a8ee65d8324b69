package preflight

import (
	"errors"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Check is one question asked before an image is made.
type Check struct {
	Name     string
	Severity lcav1.PreflightSeverity
	// Fails says, for the documentation, when it does.
	Fails string
	find  func(lcav1.SeedGeneratorSpec, Facts) finding
}

// finding is the answer: a problem and what to do about it, or, where all is well, what was recorded.
type finding struct{ problem, hint, recorded string }

func (f finding) isPassed() bool { return f.problem == "" }

// Names of checks that others refer to.
const (
	CheckSeedImage        = "seed-image"
	CheckHubReachable     = "hub-reachable"
	CheckDiskSpace        = "disk-space"
	CheckContainerStorage = "container-storage"
	CheckCPUTopology      = "cpu-topology"
	CheckFIPS             = "fips"
	CheckPullSecret       = "pull-secret"
	CheckNodeBusy         = "node-busy"
	CheckSeedAuth         = "seed-auth"
	CheckSigningKey       = "signing-key"
	CheckHubDetached      = "hub-detached"
	CheckHubOwner         = "hub-owner"
	CheckHubIdentity      = "hub-identity"
	CheckHubAddons        = "hub-addons"
)

// Checks is every check, in the order in which a person would ask. The table in the documentation is made from it.
func Checks() []Check {
	const blocking, warning = lcav1.PreflightBlocking, lcav1.PreflightWarning
	return []Check{
		{"single-node", blocking, "there is not exactly one control plane node, or there are workers beside it", checkSingleNode},
		{CheckNodeBusy, blocking, "an IPConfig or an image based upgrade is not Idle, or another operation holds the node", checkBusy},
		{CheckSeedImage, blocking, "`spec.seedImage` is no pull specification with a tag", checkSeedImage},
		{CheckSeedAuth, blocking, "Secret `seedgen` is missing, or its key `seedAuth` has no credentials for the registry of " +
			"`spec.seedImage`", checkAuth},
		{CheckSigningKey, blocking, "the Secret that `spec.signingSecret` names is missing, may not be read, or has no `cosign.key`",
			checkSigning},
		{"recert-image", blocking, "`spec.recertImage` is set and no pull specification", checkRecertImage},
		{"secret-decisions", blocking, "an entry of `spec.secretDecisions` has a pattern that cannot be read, or no reason",
			checkDecisions},
		{"boot-entry", blocking, "ostree has no `admin set-default`: nodes could not boot what they restore", checkSetDefault},
		{CheckContainerStorage, blocking, "`/var/lib/containers` is no mount of its own, or one inside the stateroot: container " +
			"storage has to be shared between stateroots", checkContainerStorage},
		{"dnsmasq-script", blocking, "`/usr/local/bin/dnsmasq_config.sh` is missing, or does not read the overrides of name, domain " +
			"and address in `/etc/default/sno_dnsmasq_configuration_overrides`", checkDnsmasq},
		{CheckPullSecret, blocking, "kubelet's pull secret is the placeholder that an earlier generation left behind", checkPullSecret},
		{"encryption-at-rest", blocking, "the cluster encrypts values in etcd (APIServer `cluster`): a node that restores the image " +
			"could not read them", checkEncryption},
		{"persistent-volumes", blocking, "there are PersistentVolumes, whose data is in no image", checkVolumes},
		{"local-volumes", blocking, "there are LocalVolumes of the Local Storage Operator", checkLocalVolumes},
		{"lvm-clusters", blocking, "there are LVMClusters of LVM Storage", checkLVM},
		{"network-policies", warning, "there are NodeNetworkConfigurationPolicies, which ship with the image and are applied by nodes " +
			"that are restored from it", checkNetworkPolicies},
		{"oadp-configured", blocking, "OADP has a DataProtectionApplication, which would point each node at one backup location",
			checkOADPConfigured},
		{"oadp-version", blocking, "OADP is installed in a version below " + minimumOADP, checkOADPVersion},
		{"oadp-installed", warning, "OADP is not installed: nodes that are upgraded with the image need it for their backups",
			checkOADPInstalled},
		{CheckHubReachable, blocking, "Secret `seedgen` has a `hubKubeconfig` that cannot be used, or the hub does not answer; the " +
			"agent retries for 15 minutes", checkHubReachable},
		{CheckHubDetached, blocking, "a hub's agent (klusterlet) is installed and Secret `seedgen` has no `hubKubeconfig`", checkDetached},
		{CheckHubIdentity, blocking, "the hub's ManagedCluster of this name has another cluster's id; or a klusterlet runs and the " +
			"hub has no ManagedCluster of this name", checkIdentity},
		{CheckHubOwner, blocking, "Argo CD, Flux, a SiteConfig or a ClusterInstance owns the ManagedCluster, and would create it again",
			checkOwner},
		{CheckHubAddons, blocking, "addons of the hub (observability and others) are on the cluster", checkAddons},
		{CheckDiskSpace, blocking, "the copy that the image is made from does not fit on the disk", checkDisk},
		{CheckFIPS, blocking, "install-config and kernel disagree about FIPS; recorded for the target to compare", checkFIPS},
		{CheckCPUTopology, warning, "the CPUs of the machine are not known; they and the reserved CPUs are recorded for the target to " +
			"compare", checkCPUs},
	}
}

// Validate judges a request against the facts, before anything is touched. It returns every check it made, passed or not;
// Refusal turns them into one error.
func Validate(spec lcav1.SeedGeneratorSpec, f Facts) []lcav1.PreflightCheck {
	var checks []lcav1.PreflightCheck
	for _, c := range Checks() {
		checks = append(checks, c.runCheck(spec, f))
	}
	return checks
}

func (c Check) runCheck(spec lcav1.SeedGeneratorSpec, f Facts) lcav1.PreflightCheck {
	out := lcav1.PreflightCheck{Name: c.Name, Severity: c.Severity, Result: lcav1.PreflightPassed}
	if found := c.find(spec, f); !found.isPassed() {
		out.Result, out.Message, out.Hint = lcav1.PreflightFailed, found.problem, found.hint
	} else if why, unknown := f.Unknown[c.Name]; unknown {
		out.Result, out.Message = lcav1.PreflightUnknown, why
	} else {
		out.Message = found.recorded
	}
	return out
}

// Skip marks the named checks as not made, and says why.
func Skip(checks []lcav1.PreflightCheck, why string, names ...string) {
	for i := range checks {
		if slices.Contains(names, checks[i].Name) {
			checks[i].Result, checks[i].Message, checks[i].Hint = lcav1.PreflightUnknown, why, ""
		}
	}
}

// Refusal is the error that the failed blocking checks amount to; nil when there are none.
func Refusal(checks []lcav1.PreflightCheck) error {
	var found []string
	for _, c := range checks {
		if c.Result == lcav1.PreflightFailed && c.Severity == lcav1.PreflightBlocking {
			found = append(found, strings.TrimSuffix(c.Message, ".")+": "+c.Hint)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return errors.New(strings.Join(found, "; "))
}

// Transient reports that nothing but the hub's silence refuses: it may answer later.
func Transient(checks []lcav1.PreflightCheck, f Facts) bool {
	if f.HubUnreachable == "" {
		return false
	}
	for _, c := range checks {
		if c.Result == lcav1.PreflightFailed && c.Severity == lcav1.PreflightBlocking && c.Name != CheckHubReachable {
			return false
		}
	}
	return true
}
