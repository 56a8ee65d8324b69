package rehearsal

import (
	"context"
	"errors"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Flow and the names of its steps, as journals store them.
const (
	Flow        = "ip-config-rehearsal"
	StepPrepare = "prepare-removal"
	StepCopy    = "copy-configuration"
	StepStore   = "copy-store"
	StepRewrite = "rewrite-copy"
	StepRun     = "run-copy"
	StepRemove  = "remove-copy"
)

const (
	// RequestFile holds the request of the rehearsal under way.
	RequestFile = host.StateDir + "/ip-config-rehearsal.json"
	// ReportFile has the report of the latest one.
	ReportFile = host.StateDir + "/rehearsal-report.json"
	// Unit runs a rehearsal.
	Unit = "lca-ipconfig-rehearsal.service"
	// Dir has the copy.
	Dir = host.StateDir + "/rehearsal"
	// Root is what the copy takes for "/".
	Root = Dir + "/system"
	// removalFile has systemd remove at boot what a power cut has left.
	removalFile = "/etc/tmpfiles.d/lca-rehearsal.conf"
)

const (
	maxAttempts = 2
	// timeLimit ends a rehearsal that hangs.
	timeLimit = time.Hour
)

// Request says what to rehearse.
type Request struct {
	OperationID string `json:"operation-id"`
	// Asked is the value of the annotation; empty where a person asked on the node.
	Asked string `json:"asked,omitempty"`
	// Change is the request that the change would have.
	Change         ipconfig.Request `json:"change"`
	AddressChanges []string         `json:"address-changes,omitempty"`
	// Checks sums up the checks of the change; LastOutage is that of the last one on record, in seconds.
	Checks     string `json:"checks,omitempty"`
	LastOutage int64  `json:"last-outage,omitempty"`
}

// Ports is what main gives the flow.
type Ports struct {
	change.Ports
	// Copies opens the copy, ControlPlane runs it.
	Copies       host.SystemCopies
	ControlPlane host.ControlPlaneCopies
}

// Prepare makes the checks of the change and stores the request for its rehearsal. A change that would be refused is not rehearsed. One
// that is under way is followed, whatever was asked for.
func Prepare(ctx context.Context, n Ports, id, asked string, spec lcav1.IPConfigSpec) (Request, error) {
	kind := Kind(n)
	if r, found, err := kind.Underway(ctx, n.toMachine().Intake()); found || err != nil {
		return r, err
	}
	p, err := change.MakePreview(ctx, n.Ports, change.Proposal{Spec: spec})
	if err != nil {
		return Request{}, err
	}
	r := Request{OperationID: id, Asked: asked, Change: p.Request, AddressChanges: p.AddressChanges, Checks: sumUpChecks(p.Checks),
		LastOutage: p.OutageSeconds}
	refusal := p.Refusal
	if refusal == "" && len(p.AddressChanges) == 0 {
		refusal = "no address of this node changes"
	}
	if refusal != "" {
		return r, errors.Join(operation.Refuse("there is nothing to rehearse: %s", refusal), reportRefusal(n, r, refusal))
	}
	return r, kind.Store(ctx, n.toMachine().Intake(), r)
}

// Kind is the rehearsal as an operation. It yields to every other one, and a reboot ends it.
func Kind(n Ports) operation.Kind[Request] {
	return operation.Kind[Request]{
		Name: Flow, RequestFile: RequestFile, Unit: Unit, Yields: true,
		Missing: operation.Refuse("no rehearsal was requested"),
		EndedBy: "'lca-cli ip-config rehearse --abort'",
		ID:      func(r Request) string { return r.OperationID },
		Plan:    func(r Request, _ operation.Here) flow.Plan { return Plan(n, r) },
		Conclude: func(_ context.Context, r Request, end error) (result, failed error) {
			return end, concludeReport(n, r, end)
		},
	}
}

// Run rehearses what the request file says, from wherever an earlier run ended.
func Run(ctx context.Context, n Ports, with operation.Instruments) error {
	ctx, cancel := context.WithTimeoutCause(ctx, timeLimit, errors.New("the rehearsal took longer than an hour"))
	defer cancel()
	return Kind(n).Run(ctx, n.toMachine(), with)
}

// Abort ends a rehearsal and removes what it made.
func Abort(ctx context.Context, n Ports, with operation.Instruments) error {
	kind := Kind(n)
	r, err := kind.Read(n.Files)
	if err != nil {
		return err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return err
	}
	return kind.Abort(ctx, n.toMachine(), with, r, here)
}

// GiveWay ends a rehearsal that did not get the node. What an earlier run of it has made is removed.
func GiveWay(ctx context.Context, n Ports, why error) error {
	kind := Kind(n)
	r, found, err := kind.Find(n.Files)
	if err != nil || !found {
		return err
	}
	h := &rehearsal{n, r}
	return errors.Join(h.removeEverything(ctx), concludeReport(n, r, why), kind.Forget(n.Files, r))
}

func (n Ports) toMachine() operation.Machine {
	return operation.Machine{Node: n.Node, Clock: n.Clock, Log: n.Log}
}
