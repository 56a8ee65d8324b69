package netpolicy

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"regexp"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/probing"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/record"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Files of the domain.
const (
	// RequestFile holds the enactment under way; it is removed when the flow has ended. A node has one at a time.
	RequestFile = record.Dir + "/request.json"
	// workFile carries what one step found out to the next, across restarts.
	workFile = record.Dir + "/work.json"
)

// Unit is the transient unit that carries out an enactment.
const Unit = "lca-network-enact.service"

// What an enactment does to the policy.
const (
	// ActionApply brings the document into force.
	ActionApply = "apply"
	// ActionRevert restores what was there before the policy and forgets it.
	ActionRevert = "revert"
	// ActionUndo undoes one change of the history.
	ActionUndo = "undo"
)

// How long an applied document stays.
const (
	Persistent = "Persistent"
	Ephemeral  = "Ephemeral"
)

// requestVersion changes when an older program could misread the request.
const requestVersion = 1

// Request is one enactment, as the agent or an administrator asks for it.
type Request struct {
	Version     int    `json:"v"`
	OperationID string `json:"operationID"`
	Action      string `json:"action"`
	Policy      string `json:"policy"`
	UID         string `json:"uid,omitempty"`
	Generation  int64  `json:"generation"`
	// Attempt counts the enactments of this generation, from 1.
	Attempt int `json:"attempt,omitempty"`
	// Document is an nmstate document, in which templates may refer to the captures.
	Document string            `json:"document"`
	Captures map[string]string `json:"captures,omitempty"`
	// Captured are states that an earlier enactment captured, by name: they are used instead of captures of today, so that
	// "the base of the default route" stays what it was when a bridge has taken the route.
	Captured map[string]string `json:"captured,omitempty"`
	// Revert is the way back of what the policy has in force, and Before what its interfaces were like without it; both are empty
	// if nothing is in force.
	Revert string `json:"revert,omitempty"`
	Before string `json:"before,omitempty"`
	// Last is the document that the policy has in force, if what a new one drops is to be restored; empty leaves it.
	Last string `json:"last,omitempty"`
	// Builtin are the kinds of built-in probes to select from; nil means all.
	Builtin []string `json:"builtinProbes"`
	// Probes are the policy's own.
	Probes []probing.Probe `json:"probes,omitempty"`
	// ProbeSeconds bounds all probes together; 0 takes the default.
	ProbeSeconds int `json:"probeSeconds,omitempty"`
	// Persistence is Persistent or Ephemeral; empty means Persistent.
	Persistence string `json:"persistence,omitempty"`
	// Stateroot is the one that the request is for; empty means any.
	Stateroot string `json:"stateroot,omitempty"`
	// Undoes names the change that ActionUndo undoes.
	Undoes string `json:"undoes,omitempty"`
}

// policyName is what the API allows: RFC 1123, as a label value.
var policyName = regexp.MustCompile(`^[a-z0-9]([a-z0-9.-]{0,61}[a-z0-9])?$`)

// MaxDocument bounds a document in bytes: etcd takes no larger object.
const MaxDocument = 1 << 20

// Check finds what no node could carry out.
func (r Request) Check() error {
	switch {
	case r.OperationID == "":
		return operation.Refuse("the enactment has no operation id")
	case !policyName.MatchString(r.Policy):
		return operation.Refuse("%q cannot name a policy: use at most 63 lower-case letters, digits, '-' and '.'", r.Policy)
	case r.Action != ActionApply && r.Action != ActionRevert && r.Action != ActionUndo:
		return operation.Refuse("enactment of policy %s: unknown action %q", r.Policy, r.Action)
	case len(r.Document) > MaxDocument:
		return operation.Refuse("the document of policy %s has %d bytes; at most %d are taken", r.Policy, len(r.Document), MaxDocument)
	case r.Persistence != "" && r.Persistence != Persistent && r.Persistence != Ephemeral:
		return operation.Refuse("policy %s: persistence %q is neither %s nor %s", r.Policy, r.Persistence, Persistent, Ephemeral)
	}
	return nil
}

// Prepare stores a request. It refuses while another one is under way; the same one may be stored again.
func Prepare(ctx context.Context, in operation.Intake, r Request) error {
	r.Version, r.Persistence = requestVersion, cmp.Or(r.Persistence, Persistent)
	if err := r.Check(); err != nil {
		return err
	}
	kind := Kind(Ports{})
	under, found, err := kind.Underway(ctx, in)
	if err != nil {
		return err
	}
	if found && under.OperationID != r.OperationID {
		return operation.Refuse("operation %s enacts policy %s; it has to end first", under.OperationID, under.Policy)
	}
	return kind.Store(ctx, in, r)
}

// ErrNoRequest is returned where no enactment is under way.
var ErrNoRequest = errors.New("no enactment of a network policy was requested")

// ReadRequest loads the enactment under way.
func ReadRequest(files host.Files) (Request, error) { return Kind(Ports{}).Read(files) }

func (r Request) checkVersion() error {
	if r.Version != requestVersion {
		return fmt.Errorf("%s has version %d, this program knows %d", RequestFile, r.Version, requestVersion)
	}
	return nil
}
