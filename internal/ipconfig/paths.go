package ipconfig

import "github.com/lifecycle-agent/lifecycle-agent/internal/host"

// Files of an operation in the workspace, and the exported object. Their names are a contract: units that are installed
// and the other stateroot know them.
const (
	RequestFile      = host.Workspace + "/ip-config-pre-pivot.json"
	PostPivotFile    = host.Workspace + "/ip-config-post-pivot.json"
	AutoRollbackFile = host.Workspace + "/ip-config-autorollback-config.json"
	// MonitorModeFile says for which kind of operation the watchdog watches.
	MonitorModeFile = host.Workspace + "/initmonitor_mode"
	NMStateFile     = host.Workspace + "/nmstate.yaml"
	// WatchedFile is the watchdog's own record; see Watched.
	WatchedFile = host.Workspace + "/watchdog.json"
	// HealthFile says what a proved change still waits for; see Health.
	HealthFile = host.Workspace + "/health.json"
	// WaitingFile says what a step of post-pivot waits for; see Waiting.
	WaitingFile  = host.Workspace + "/waiting.json"
	ForecastFile = host.Workspace + "/forecast.json"
	CryptoDir    = host.Workspace + "/kubeconfig-crypto"
	// AcceptedFile names the operation that was accepted last on this node, until it reboots; see Accepted.
	AcceptedFile = "/run/lca/accepted"
	// RemainsFile says what cleanups could not remove; see Remains.
	RemainsFile = host.StateDir + "/not-removed.json"
	// SavedObjectFile is the exported IPConfig object.
	SavedObjectFile = host.StateDir + "/ipc.json"
)

// Units that run the verbs of an operation.
const (
	UnitPrePivot        = "lca-ipconfig-pre-pivot.service"
	UnitRollback        = "lca-ipconfig-rollback.service"
	UnitCleanup         = "lca-ipconfig-cleanup.service"
	UnitRecertImage     = "lca-recert-image.service"
	UnitRehearse        = "lca-ipconfig-rehearse.service"
	UnitIPConfiguration = "ip-configuration.service"
	UnitInitMonitor     = "lca-init-monitor.service"
	UnitCheckCLI        = "lca-check-cli.service"
	UnitLastResort      = "lca-last-resort.service"
	UnitLastResortTimer = "lca-last-resort.timer"
	UnitEmergency       = "lca-emergency.service"
)

// Files of the last resort: its script in the new system, and what it leaves in the old stateroot.
const (
	LastResortScript = host.UnitDir + "/lca-last-resort.sh"
	CLIChecksum      = host.UnitDir + "/lca-cli.sha256"
	LastResortLog    = host.StateDir + "/last-resort.log"
)
