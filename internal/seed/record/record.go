// Package record is the agent's own record of a seed generation, kept on the node: where it stands, why it failed, and what
// has to be given back afterwards. Status is a projection of it and of lca-cli's journal, so the agent can die, and the
// cluster be down, at any moment.
//
// The controller writes it; the lock of the node reads it, because a generation holds the node from its first change to its
// last. It imports no Kubernetes client.
package record

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Files of the record. The folder is root's alone and in no image. The names of those that hold objects are the field's.
const (
	File = seed.Dir + "/record.json"
	// ObjectFile is the SeedGenerator as it was accepted, for people.
	ObjectFile = seed.Dir + "/seedgen-cr.json"
	// ManagedClusterFile and AddonFile are the hub's objects, as they were before they were deleted.
	ManagedClusterFile = seed.Dir + "/managedcluster.json"
	AddonFile          = seed.Dir + "/klusterletaddonconfig.json"
	// HubFile is the kubeconfig of the hub, which is needed after the Secret may have been deleted.
	HubFile = seed.Dir + "/hub.kubeconfig"
)

// Record is one generation.
type Record struct {
	OperationID string `json:"operation-id"`
	// UID is that of the SeedGenerator that asked for it.
	UID  string                  `json:"uid"`
	Spec lcav1.SeedGeneratorSpec `json:"spec"`
	// Preflight is what was checked before the record was written.
	Preflight []lcav1.PreflightCheck `json:"preflight,omitempty"`
	// Phase is where it stands, since Since. Phases are those begun, in order.
	Phase   lcav1.SeedGeneratorPhase `json:"phase"`
	Since   time.Time                `json:"since"`
	Started time.Time                `json:"started"`
	Phases  []Milestone              `json:"phases,omitempty"`
	// Failure is why the generation fails; it is set once and leads to phase Restoring.
	Failure string `json:"failure,omitempty"`
	// Cancelled: the SeedGenerator was deleted.
	Cancelled bool `json:"cancelled,omitempty"`
	// Warnings are what a generation that succeeded leaves to do.
	Warnings []string `json:"warnings,omitempty"`
	// Hub is set where a hub manages the cluster.
	Hub *Hub `json:"hub,omitempty"`
}

// Milestone is the start of a phase.
type Milestone struct {
	Phase lcav1.SeedGeneratorPhase `json:"phase"`
	At    time.Time                `json:"at"`
}

// Hub is what was done on the hub.
type Hub struct {
	Server  string `json:"server"`
	Cluster string `json:"managed-cluster"`
	// UID is that of the ManagedCluster that was saved, and is deleted; no other is.
	UID string `json:"uid,omitempty"`
	// Detached: the ManagedCluster was deleted, and the hub's agents have left the cluster.
	Detached bool `json:"detached,omitempty"`
	// Restored is when the ManagedCluster was created again, or found; Reattached: it is Available.
	Restored   time.Time `json:"restored,omitzero"`
	Reattached bool      `json:"reattached,omitempty"`
	// Reimported: someone else created it while the cluster was detached.
	Reimported bool `json:"reimported,omitempty"`
	// GivenUp: it is left to a person.
	GivenUp bool `json:"given-up,omitempty"`
}

// Ended reports that nothing remains to be done but to say so.
func (r *Record) Ended() bool {
	return r.Phase == lcav1.SeedCompleted || r.Phase == lcav1.SeedFailed
}

// Enter begins a phase, unless it has begun.
func (r *Record) Enter(phase lcav1.SeedGeneratorPhase, now time.Time) {
	if r.Phase == phase {
		return
	}
	r.Phase, r.Since = phase, now
	r.Phases = append(r.Phases, Milestone{Phase: phase, At: now})
}

// Read loads the record; nil where no generation is under way.
func Read(files host.Files) (*Record, error) {
	r := &Record{}
	err := operation.ReadJSON(files, File, r)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil // no error: there is none
	}
	if err != nil {
		return nil, fmt.Errorf("read the record of the seed generation: %w", err)
	}
	return r, nil
}

// Write stores the record.
func Write(files host.Files, r *Record) error {
	if err := operation.WriteJSON(files, File, r); err != nil {
		return fmt.Errorf("write the record of seed generation %s: %w", r.OperationID, err)
	}
	return nil
}

// Remove forgets the generation: the secrets first, the record last, so that one that was interrupted is repeated.
func Remove(files host.Files) error {
	for _, f := range []string{HubFile, seed.AuthFile, seed.SigningKeyFile, seed.SigningPasswordFile, ManagedClusterFile, AddonFile,
		ObjectFile, seed.RequestFile, File} {
		if err := files.Remove(f); err != nil {
			return fmt.Errorf("remove %s: %w", f, err)
		}
	}
	return nil
}

// Reservation reports the generation under way, which holds the node between the runs of lca-cli too: while the cluster is
// detached no other operation may begin.
func Reservation(files host.Files) host.Reservation {
	return host.Reservation{Flow: seed.FlowCreate, Unfinished: func(context.Context) (host.Holder, bool, error) {
		r, err := Read(files)
		if err != nil || r == nil || r.Ended() {
			return host.Holder{}, false, err
		}
		h := host.Holder{Operation: seed.FlowCreate + " " + r.OperationID, Phase: "seed generation, " + string(r.Phase), Since: r.Since}
		return h, true, nil
	}}
}
