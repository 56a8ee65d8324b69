package relocation

import (
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Flows, as journals store them.
const (
	// FlowPrepare makes the stateroot that is reconfigured on site, while the factory's cluster runs.
	FlowPrepare = "relocation-prepare"
	// FlowAgain makes another one on site, after the node has come back to the factory state.
	FlowAgain = "relocation-again"
	// FlowReconfigure makes the node at home on site.
	FlowReconfigure = "relocation-reconfigure"
	FlowRollback    = "relocation-rollback"
	// FlowKeep gives the factory state up, FlowCancel the preparation.
	FlowKeep   = "relocation-keep"
	FlowCancel = "relocation-cancel"
)

// Flows lists the flows of a relocation, whose records belong together.
func Flows() []string {
	return []string{FlowPrepare, FlowAgain, FlowReconfigure, FlowRollback, FlowKeep, FlowCancel}
}

// MadeBy names this kind of operation in the record of a stateroot.
const MadeBy = "relocation"

// Step names of the flows' own steps, as journals store them.
const (
	StepCheck    = "check"
	StepRecord   = "record"
	StepDiscard  = "discard-failed"
	StepFurnish  = "furnish"
	StepStart    = "start-cluster"
	StepHand     = "hand-over"
	StepAccept   = "accept"
	StepArm      = "arm-watchdog"
	StepHostname = "hostname"
	StepDNS      = "local-dns"
	StepHostKeys = "ssh-host-keys"
	// StepConnections brings up the keyfiles of a site.
	StepConnections = "apply-connections"
	StepHealth      = "health"
	StepReport      = "report"
	StepWipe        = "wipe-secrets"
	StepHold        = "hold-factory"
	StepEvidence    = "keep-evidence"
	StepHandBack    = "hand-back"
	StepStop        = "stop-reconfiguration"
	StepForget      = "forget-factory"
	StepRelease     = "release-cluster"
)

// Files. Those in Dir outlive an operation, those in the workspace do not.
const (
	// Dir is in each stateroot's /var.
	Dir = host.StateDir + "/relocation"
	// RecordFile is what the factory knew.
	RecordFile = Dir + "/factory.json"
	// LastFile is the result of the last attempt on site.
	LastFile = Dir + "/last.json"
	// ReportFile is the report for the site's people, without secrets.
	ReportFile = Dir + "/site-report.json"
	// HandoverFile holds the cluster's credentials until they are read once. Secret.
	HandoverFile = Dir + "/handover.json"
	// TypedFile is a configuration that came by the page, until an attempt with it has begun. Secret.
	TypedFile = Dir + "/typed.yaml"
	// ArrivalFile says why no configuration could be read yet.
	ArrivalFile = Dir + "/arrival.json"
	// IssueFile has getty show the result of an attempt beside the login, IssueChanged has it do so at once (agetty(8)).
	IssueFile    = "/etc/issue.d/90-lca-site.issue"
	IssueChanged = "/run/agetty.reload"
	// WatchedFile is how long the watchdog has waited.
	WatchedFile = Dir + "/watchdog.json"

	// InternalFile is the node's known address as a MachineConfig gives it: an address with its prefix length.
	InternalFile = "/etc/lca/internal-address"

	RequestFile = host.Workspace + "/relocation.json"
	// SiteConfigFile is the configuration as it was delivered. Secret.
	SiteConfigFile = host.Workspace + "/site-config.yaml"
	NMStateFile    = host.Workspace + "/relocation-nmstate.yaml"
	// ConnectionsDir holds the connections that were there before the site's, until the node is at home. Secret.
	ConnectionsDir = host.Workspace + "/former-connections"
	// ClusterIDFile is the ID that a restored cluster gets where its site names none.
	ClusterIDFile = host.Workspace + "/cluster-id"
	// PasswordFile holds the new kubeadmin password until the hand-over. Secret.
	PasswordFile = host.Workspace + "/kubeadmin-password"
)

// Units.
const (
	// UnitReconfigure waits for a configuration and carries it out.
	UnitReconfigure = "lca-relocation.service"
	// UnitMonitor is the watchdog of a reconfiguration.
	UnitMonitor = "lca-relocation-monitor.service"
	// UnitPage serves the page while the node waits for a configuration.
	UnitPage     = "lca-relocation-page.service"
	UnitPrepare  = "lca-relocation-prepare.service"
	UnitRollback = "lca-relocation-rollback.service"
	UnitCancel   = "lca-relocation-cancel.service"
)

// StaterootPrefix marks the stateroots that are reconfigured on site.
const StaterootPrefix = "rhcos_site-"

// StaterootName is the stateroot of an operation.
func StaterootName(operationID string) string { return StaterootPrefix + operationID }

// IsSite says whether a stateroot was made to be reconfigured on site.
func IsSite(stateroot string) bool { return strings.HasPrefix(stateroot, StaterootPrefix) }
