package v1

// Annotations on the IPConfig by which a user controls the agent. Unless a
// comment says otherwise, presence alone counts and the value is ignored.
const (
	// TriggerReconcileAnnotation requests one more reconciliation. The
	// controller removes it once it has a non-empty value.
	TriggerReconcileAnnotation = "lca.openshift.io/trigger-reconcile"

	// ManualCleanupAnnotation says that a cleanup which the agent could not
	// finish has been done by hand. The controller removes it and retries to
	// become Idle.
	ManualCleanupAnnotation = "lca.openshift.io/manual-cleanup-done"

	// SkipPreConfigurationHealthChecksAnnotation skips the cluster health checks
	// before a change is started: in Idle, before pre-pivot, and after a
	// rollback. Meant for disaster recovery, where the old network is dead.
	SkipPreConfigurationHealthChecksAnnotation = "lca.openshift.io/ipconfig-skip-pre-configuration-cluster-health-checks"

	// SkipPostConfigurationHealthChecksAnnotation skips the wait for a healthy
	// cluster after the node has booted with its new addresses.
	SkipPostConfigurationHealthChecksAnnotation = "lca.openshift.io/ipconfig-skip-post-configuration-cluster-health-checks"

	// RehearseAnnotation requests a rehearsal of what spec asks for, while spec.stage is Idle. A value that status.rehearsal
	// does not name yet requests another one; the empty one requests none.
	RehearseAnnotation = "lca.openshift.io/rehearse"

	// RecertImageAnnotation selects the container engine for recert and names
	// the image (a pull specification) that it runs; present and empty means the
	// image that the agent was shipped with. Without it recert runs in lca-cli,
	// which needs no image.
	RecertImageAnnotation = "lca.openshift.io/recert-image"

	// RecertPullSecretAnnotation names a Secret in the operator's namespace whose
	// key .dockerconfigjson is used to pull the recert image.
	RecertPullSecretAnnotation = "lca.openshift.io/recert-pull-secret"

	// RecertImageCachedAnnotation is written by the controller: the pull
	// specification of the recert image that was last fetched onto the node. While
	// Idle an image that is chosen and not cached is fetched ahead of the change.
	RecertImageCachedAnnotation = "lca.openshift.io/recert-image-cached"
)

// Annotations that switch off one reason for an automatic rollback. Only the
// value AutoRollbackDisableValue, in exactly that case, switches it off; they
// are read once, when a change starts.
const (
	// AutoRollbackOnFailureIPConfigRunAnnotation governs the rollback after a
	// failed "lca-cli ip-config post-pivot".
	AutoRollbackOnFailureIPConfigRunAnnotation = "auto-rollback-on-failure.lca.openshift.io/ip-config-run"

	// AutoRollbackOnFailureInitMonitorAnnotation governs the rollback by the
	// watchdog when its deadline passes.
	AutoRollbackOnFailureInitMonitorAnnotation = "auto-rollback-on-failure.lca.openshift.io/init-monitor"

	// AutoRollbackOnFailureHealthAnnotation governs the rollback by the
	// watchdog when the cluster can be reached but is not healthy at its
	// deadline. It is off, and switched on by AutoRollbackEnableValue alone,
	// which is read once, when a change starts.
	AutoRollbackOnFailureHealthAnnotation = "auto-rollback-on-failure.lca.openshift.io/health"

	// AutoRollbackEnableValue is the value that enables an automatic rollback.
	AutoRollbackEnableValue = "Enabled"

	// AutoRollbackDisableValue is the value that disables an automatic rollback.
	AutoRollbackDisableValue = "Disabled"
)
