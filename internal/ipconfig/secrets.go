package ipconfig

import (
	"context"
	"errors"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// secretFiles are what pre-pivot takes out of the cluster for recert and must not outlive the change. They lie in
// the workspace, which only root may enter.
func secretFiles() []string { return []string{host.KubeconfigCrypto, host.RecertPullSecret} }

// wipeSecrets removes them from the system that runs.
func wipeSecrets(files host.Files) error {
	var errs []error
	for _, f := range secretFiles() {
		errs = append(errs, files.Remove(f))
	}
	return errors.Join(errs...)
}

func (p *PrePivot) wipe(context.Context) error { return wipeSecrets(p.Node.Files) }

// wipe also removes what an image of recert wrote: it is for whoever looks into a failure, and may hold anything.
func (p *PostPivot) wipe(context.Context) error {
	return errors.Join(wipeSecrets(p.Node.Files), p.Node.Files.Remove(host.RecertContainerLog))
}

// wipe is no reason not to go back: cleanup removes the whole stateroot later.
func (r *Rollback) wipe(context.Context) error {
	if err := wipeSecrets(r.Node.Files); err != nil {
		r.Node.Log.Warn("keys and pull secret could not be wiped; they go with the stateroot", "op", r.Request.OperationID, "error", err)
	}
	return nil
}
