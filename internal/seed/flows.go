package seed

import (
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Names of the flows, as journals store them.
const (
	FlowCreate = "seed-create"
	// FlowRestore ends in the reboot; from there the flows of package relocation continue.
	FlowRestore = "seed-restore"
)

// Step names, as journals store them: the domain's own, and those of the step libraries.
const (
	StepCheck        = "check-request"
	StepCollect      = "collect-system"
	StepCopyLive     = stateroot.StepCopyLive
	StepQuiesce      = stateroot.StepQuiesce
	StepCapture      = "capture"
	StepStart        = "start-cluster"
	StepExpire       = "expire"
	StepPublish      = "publish"
	StepAwaitCluster = bringup.StepWaitAPI
	StepWipe         = "wipe"
	StepDeploy       = "deploy-system"
	StepUnpackVar    = "unpack-var"
	StepUnpackEtc    = "unpack-etc"
	StepFetchEtcd    = "fetch-etcd"
	StepFurnish      = "furnish"
	StepHand         = "hand-over"
)
