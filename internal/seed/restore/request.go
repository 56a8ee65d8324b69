package restore

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Request is one restore. It holds no secret.
type Request struct {
	OperationID string `json:"operation-id"`
	// Image is what was asked for, Digest what its tag meant then; every step reads by the digest.
	Image  string `json:"image"`
	Digest string `json:"digest"`
	// CABundle is PEM text of authorities that sign the registry's certificate, beside the system's.
	CABundle string `json:"ca-bundle,omitempty"`
	// Old is the stateroot that runs, and the way back. New is made from the image.
	Old       string    `json:"old-stateroot"`
	New       string    `json:"new-stateroot"`
	Requested time.Time `json:"requested"`
	// Boot is the one in which it was requested: a restore that a power cut kept from beginning is not begun later.
	Boot string `json:"boot"`
	// WatchdogSeconds is how long the restored system may take to prove itself.
	WatchdogSeconds int `json:"watchdog-seconds"`
	// Facts are those of the seed's cluster.
	Facts relocation.Facts `json:"facts"`
}

func (r Request) staterootPair() stateroot.Pair { return stateroot.Pair{Old: r.Old, New: r.New} }

// relocationRecord is what the restored stateroot must know of the seed, and of the way back.
func (r Request) relocationRecord() relocation.Record {
	return relocation.Record{
		OperationID: r.OperationID, Prepared: r.Requested, Factory: r.Old, Site: r.New, WatchdogSeconds: r.WatchdogSeconds,
		Facts:   r.Facts,
		Running: &relocation.Running{Remove: []string{seed.RestoreDir}, Units: []string{seed.UnitRestoreUndo}},
	}
}

// ReadRequest loads the request; found is false where there is none.
func ReadRequest(files host.Files) (r Request, found bool, err error) {
	return Kind(Ports{}).Find(files)
}

// Ask is what a person asks for.
type Ask struct {
	Image string
	// Site is the site configuration, Auth the content of AuthFile. Secret.
	Site, Auth []byte
	// AuthFile is an absolute path, for the time before Auth is stored; empty for no credentials.
	AuthFile, CABundle string
	// Key is the public key in PEM that must have signed the image; empty for none.
	Key []byte
	// Watchdog limits the time that the restored system may take to prove itself.
	Watchdog time.Duration
	// OtherHardware accepts processors that differ from the seed's.
	OtherHardware bool
}

// Begin checks everything that can be known before something is touched, and stores the request. What is refused matches
// operation.ErrRefused and names all that is wrong.
func Begin(ctx context.Context, n Ports, ask Ask) (Request, error) {
	if r, found, err := Kind(n).Underway(ctx, n.intake()); err != nil || found {
		if err == nil {
			err = operation.Refuse("a restore of %s is under way (%s): follow it with 'lca-cli seed status --watch', or give it up with "+
				"'lca-cli seed abort'", r.Image, r.OperationID)
		}
		return r, err
	}
	if err := checkNoWayBack(n); err != nil {
		return Request{}, err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return Request{}, err
	}
	facts, digest, err := validateAsk(ctx, n, ask)
	if err != nil {
		return Request{}, err
	}
	id := n.NewID()
	r := Request{
		OperationID: id, Image: ask.Image, Digest: digest, CABundle: ask.CABundle, Facts: facts, Boot: here.Boot,
		Old: here.Booted.Stateroot, New: relocation.StaterootName(id),
		Requested: n.Clock.Now().UTC().Truncate(time.Second), WatchdogSeconds: int(ask.Watchdog.Seconds()),
	}
	return r, storeRequest(ctx, n, r, ask)
}

func (n Ports) intake() operation.Intake {
	return operation.Intake{Files: n.Files, Boots: n.Power, Log: n.Log}
}

// checkNoWayBack refuses a node that has a way back already, which another restore would lose.
func checkNoWayBack(n Ports) error {
	r, err := relocation.ReadRecord(n.Files)
	if errors.Is(err, operation.ErrRefused) {
		return nil // not prepared: that is what is needed here
	}
	if err != nil {
		return err
	}
	if r.Running != nil {
		return operation.Refuse("this node was restored at %s and can still go back to stateroot %s: keep it with 'lca-cli seed commit', "+
			"or go back with 'lca-cli seed rollback', then ask again", r.Prepared.UTC().Format(time.RFC3339), r.Factory)
	}
	return operation.Refuse("this node was prepared for relocation at %s: undo that with 'lca-cli relocation abort' or keep it with "+
		"'lca-cli relocation commit', then ask again", r.Prepared.UTC().Format(time.RFC3339))
}

// storeRequest writes the request last: a restore without it has not begun, and the unit removes what is there of it at the next boot.
func storeRequest(ctx context.Context, n Ports, r Request, ask Ask) error {
	if err := enableUndoUnit(ctx, n); err != nil {
		return err
	}
	secrets := map[string][]byte{seed.RestoreSiteFile: ask.Site}
	if len(ask.Auth) > 0 {
		secrets[seed.RestoreAuthFile] = ask.Auth
	}
	for file, data := range secrets {
		if err := n.Files.Write(file, data, 0o600); err != nil {
			return errors.Join(fmt.Errorf("store %s: %w", file, err), removeRequest(ctx, n))
		}
	}
	if err := Kind(n).Store(ctx, n.intake(), r); err != nil {
		return errors.Join(err, removeRequest(ctx, n))
	}
	return nil
}

// openRepository connects to the repository of the image.
func openRepository(ctx context.Context, n Ports, image, authFile, bundle string) (host.Repository, error) {
	repo, err := n.Registries.Open(ctx, host.RegistryAccess{Image: image, AuthFile: authFile, CABundle: bundle})
	if err != nil {
		return nil, fmt.Errorf("open the registry of %s: %w", image, markPermanent(err))
	}
	return repo, nil
}

// tagOrDigest is what a pull specification names.
func tagOrDigest(name string) string {
	if _, digest, ok := strings.Cut(name, "@"); ok {
		return digest
	}
	return seed.Tag(name)
}
