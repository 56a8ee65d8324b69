package relocation

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Facts are what the factory's cluster says of itself while it runs. On site its API is down until the node has changed.
type Facts struct {
	// Version is that of OpenShift; empty where the cluster does not say.
	Version string `json:"version,omitempty"`
	// Node is the Node object's name, Hostname the machine's.
	Node        string `json:"node"`
	ClusterName string `json:"cluster-name"`
	BaseDomain  string `json:"base-domain"`
	// Addresses are the node's internal ones, the primary first; MachineNetworks are in the same order.
	Addresses       []netip.Addr   `json:"addresses"`
	MachineNetworks []netip.Prefix `json:"machine-networks"`
	// ControlPlaneNodes and OtherNodes count the cluster's nodes.
	ControlPlaneNodes int `json:"control-plane-nodes"`
	OtherNodes        int `json:"other-nodes"`
}

// Domain is the cluster's own: name.base.
func (f Facts) Domain() string { return f.ClusterName + "." + f.BaseDomain }

// Record is factory.json.
type Record struct {
	// OperationID is the preparation's.
	OperationID string    `json:"operation-id"`
	Prepared    time.Time `json:"prepared"`
	// Factory is the stateroot that the factory proved, and the way back on site. Site was made from it.
	Factory string `json:"factory-stateroot"`
	Site    string `json:"site-stateroot"`
	// WatchdogSeconds is how long a reconfiguration may take before the node goes back.
	WatchdogSeconds int `json:"watchdog-seconds"`
	// Uplink is the factory's network port, and Internal the node's known address there; the zero value for none.
	Uplink   string       `json:"uplink,omitempty"`
	Internal netip.Prefix `json:"internal-address,omitzero"`
	Facts    Facts        `json:"facts"`
	// Running is set where Factory has a cluster of its own that starts at boot, as after a restored seed image. A failure then
	// always goes back to it: no other configuration is waited for.
	Running *Running `json:"running-cluster,omitempty"`
}

// Decoupled: the cluster knows the node by its internal address, which stays whatever the site's network is.
func (r Record) Decoupled() bool {
	return r.Internal.IsValid() && len(r.Facts.Addresses) > 0 && r.Internal.Addr() == r.Facts.Addresses[0]
}

// Running says what a rollback removes from a stateroot whose cluster starts at boot, so that nothing there continues what was
// given up.
type Running struct {
	// Remove lists files and folders below /var, Units those of the deployment.
	Remove []string `json:"remove,omitempty"`
	Units  []string `json:"units,omitempty"`
}

// defaultLimit is how long a reconfiguration may take; the node runs meanwhile, over all its boots.
const defaultLimit = 45 * time.Minute

// Limit is the watchdog's; the default where the record says none.
func (r Record) Limit() time.Duration {
	if r.WatchdogSeconds <= 0 {
		return defaultLimit
	}
	return time.Duration(r.WatchdogSeconds) * time.Second
}

// ReadRecord loads the record. Without one the error matches operation.ErrRefused.
func ReadRecord(files host.Files) (r Record, err error) {
	err = operation.ReadJSON(files, RecordFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, operation.Refuse("this node is not prepared for relocation: run 'lca-cli relocation prepare' in the factory")
	}
	return r, err
}

// Request is relocation.json: one configuration that was accepted for this node. SiteConfigFile holds the configuration.
type Request struct {
	OperationID string `json:"operation-id"`
	// Factory is the way back, Site the stateroot that is reconfigured.
	Factory string `json:"factory-stateroot"`
	Site    string `json:"site-stateroot"`
	// Source says where the configuration came from, in words; Digest tells configurations apart.
	Source   string    `json:"source"`
	Digest   string    `json:"digest"`
	Accepted time.Time `json:"accepted"`
	// Repeats: the node tries a silent network again by itself, nobody has asked for it.
	Repeats bool `json:"repeats,omitempty"`
}

// Pair names both stateroots.
func (r Request) Pair() stateroot.Pair { return stateroot.Pair{Old: r.Factory, New: r.Site} }

// ReadRequest loads the request; found is false where there is none.
func ReadRequest(files host.Files) (r Request, found bool, err error) {
	err = operation.ReadJSON(files, RequestFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err == nil && r.OperationID == "" {
		err = fmt.Errorf("%s: operation-id is missing", RequestFile)
	}
	return r, err == nil, err
}

// Outcomes of an attempt.
const (
	OutcomeHome     = "at-home"     // the node runs under the site's identity
	OutcomeRefused  = "refused"     // the configuration cannot be carried out here; nothing was changed
	OutcomeRetry    = "retry"       // the site's network did not answer; nothing was changed
	OutcomeReturned = "rolled-back" // the node went back to the factory state
)

// Last is last.json: what became of the last attempt, for the next one and for people.
type Last struct {
	OperationID string    `json:"operation-id"`
	Digest      string    `json:"digest"`
	Source      string    `json:"source"`
	Outcome     string    `json:"outcome"`
	Ended       time.Time `json:"ended"`
	// Step is where it failed, Cause why.
	Step  string `json:"step,omitempty"`
	Cause string `json:"cause,omitempty"`
	// Attempts counts the attempts with this configuration.
	Attempts int `json:"attempts"`
	// Order counts the configurations in the order of their first attempts.
	Order int `json:"order,omitempty"`
	// Earlier are other configurations that were tried before, in the order of their first attempts.
	Earlier []Tried `json:"earlier,omitempty"`
}

// Tried is what became of a configuration.
type Tried struct {
	Digest  string `json:"digest"`
	Outcome string `json:"outcome"`
	// Order counts the configurations.
	Order int `json:"order"`
}

// maxTried bounds how many configurations are remembered.
const maxTried = 32

// OutcomeOf is what became of a configuration; empty where it was not tried.
func (l Last) OutcomeOf(digest string) string {
	for _, t := range l.triedInOrder() {
		if t.Digest == digest {
			return t.Outcome
		}
	}
	return ""
}

// Silent are the digests of the configurations whose network did not answer, the one that came last at the end.
func (l Last) Silent() (out []string) {
	for _, t := range l.triedInOrder() {
		if t.Outcome == OutcomeRetry {
			out = append(out, t.Digest)
		}
	}
	return out
}

// triedInOrder are all configurations that were tried, in order.
func (l Last) triedInOrder() []Tried {
	all := slices.Clone(l.Earlier)
	if l.Digest != "" {
		all = append(all, Tried{l.Digest, l.Outcome, l.effectiveOrder()})
	}
	slices.SortStableFunc(all, func(a, b Tried) int { return a.Order - b.Order })
	return all
}

func (l Last) effectiveOrder() int {
	if l.Order > 0 {
		return l.Order
	}
	most := 0
	for _, t := range l.Earlier {
		most = max(most, t.Order)
	}
	return most + 1
}

// Next is the result of another attempt after this one.
func (l Last) Next(n Last) Last {
	n.Attempts = 1
	if l.Digest == n.Digest {
		n.Attempts = l.Attempts + 1
	}
	for _, t := range l.triedInOrder() {
		if t.Digest == n.Digest {
			n.Order = t.Order
			continue
		}
		n.Earlier = append(n.Earlier, t)
	}
	n.Earlier = n.Earlier[max(0, len(n.Earlier)-maxTried):]
	n.Order = n.effectiveOrder()
	return n
}

// Digest tells configurations apart.
func Digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

// ReadLast loads the last result; the zero value where there is none.
func ReadLast(files host.Files) (l Last, err error) {
	err = operation.ReadJSON(files, LastFile, &l)
	if errors.Is(err, fs.ErrNotExist) {
		return Last{}, nil
	}
	return l, err
}

// ReadLastOf loads the last result that another stateroot has; the zero value where there is none.
func ReadLastOf(files host.Files, stateroot string) (l Last, err error) {
	err = operation.ReadJSON(files, host.InVar(stateroot, LastFile), &l)
	if errors.Is(err, fs.ErrNotExist) {
		return Last{}, nil
	}
	return l, err
}

// Prune removes the records of old relocations, except those of the operation and of what this stateroot's own files name.
func Prune(files host.Files, id string) error {
	return operation.Prune(files, Flows(), append(Spared(files), id)...)
}

// Spared are the operations that this stateroot's own files name: their records stay.
func Spared(files host.Files) (ids []string) {
	if r, err := ReadRecord(files); err == nil {
		ids = append(ids, r.OperationID)
	}
	if r, found, err := ReadRequest(files); err == nil && found {
		ids = append(ids, r.OperationID)
	}
	if last, err := ReadLast(files); err == nil {
		ids = append(ids, last.OperationID)
	}
	return ids
}

// Code is what a technician reads out on the phone when an attempt failed; empty where none did.
func (l Last) Code() sitecode.Code {
	switch {
	case l.Outcome == "" || l.Outcome == OutcomeHome:
		return ""
	case strings.Contains(l.Cause, "no space left on device"):
		return sitecode.DiskFull
	case l.Step == bringup.StepApplyNetwork, l.Step == StepConnections:
		return networkCode(l.Cause)
	case stepCodes[l.Step] != "":
		return stepCodes[l.Step]
	case strings.HasPrefix(l.Step, "apply-"):
		return sitecode.SettingsFailed
	case l.Outcome == OutcomeReturned:
		return sitecode.WentBack
	}
	return sitecode.Unknown
}

// stepCodes say what failed where the step alone tells.
var stepCodes = map[string]sitecode.Code{
	StepAccept: sitecode.ConfigUnfit, StepHostname: sitecode.IdentityFailed, StepDNS: sitecode.IdentityFailed,
	StepHostKeys:       sitecode.IdentityFailed,
	bringup.StepRecert: sitecode.IdentityFailed, bringup.StepStartKubelet: sitecode.ClusterSilent,
	bringup.StepWaitAPI: sitecode.ClusterSilent, bringup.StepWaitNode: sitecode.ClusterSilent,
	bringup.StepProveNetwork: sitecode.GatewaySilent, StepHealth: sitecode.ClusterUnwell,
	"apply-domain": sitecode.DomainFailed, "apply-hub": sitecode.HubFailed,
}

// networkCode tells by the proof's words why a network was not kept.
func networkCode(cause string) sitecode.Code {
	for _, known := range []struct {
		words string
		code  sitecode.Code
	}{
		{"is in use by the machine", sitecode.AddressTaken}, {"gateway", sitecode.GatewaySilent}, {"DNS", sitecode.DNSSilent},
	} {
		if strings.Contains(cause, known.words) {
			return known.code
		}
	}
	return sitecode.NetworkRefused
}

// Arrival is arrival.json: why what was delivered cannot be read.
type Arrival struct {
	Code    sitecode.Code `json:"code"`
	Message string        `json:"message"`
}

// ReadArrival loads it; found is false where nothing is wrong.
func ReadArrival(files host.Files) (a Arrival, found bool, err error) {
	err = operation.ReadJSON(files, ArrivalFile, &a)
	if errors.Is(err, fs.ErrNotExist) {
		return a, false, nil
	}
	return a, err == nil, err
}
