package seed

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

func (w Wiring) newStatusCommand() *cobra.Command {
	return w.StatusCommand("Show the latest seed image made or restored on this node", func(ctx context.Context) (verb.Source, error) {
		node, _, err := w.Restore(ctx, false)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (verb.Report, error) {
			return w.observeImage(ctx, verb.Node{Files: node.Files, Deployments: node.Deployments})
		}, nil
	})
}

// report is the status of a seed image that is made, or restored.
type report struct {
	*verb.Status

	Image string `json:"image,omitempty"`
	// WayBack is the stateroot that a rollback boots.
	WayBack string `json:"wayBack,omitempty"`
	Digest  string `json:"digest,omitempty"`
	// Warnings are of the image that was made.
	Warnings []string `json:"warnings,omitempty"`
	// Damaged says of what no status can be given, and why.
	Damaged []string `json:"damaged,omitempty"`
}

// latest is what one kind of operation says of its newest one.
type latest struct {
	id, where, image, wayBack, digest, failure string
	warnings                                   []string
}

func (w Wiring) observeImage(ctx context.Context, n verb.Node) (verb.Report, error) {
	s, _, err := w.Observe(ctx, n)
	if err != nil {
		return nil, err
	}
	r := &report{Status: &s}
	newest := latest{where: "no seed image was made or restored here"}
	for _, read := range []func(host.Files) (latest, error){latestCreation, restoringHere, restoredHere} {
		l, err := read(n.Files)
		if err != nil {
			r.Damaged = append(r.Damaged, err.Error())
			continue
		}
		if l.id > newest.id { // identifiers sort by time
			newest = l
		}
	}
	s.Where, r.Image, r.WayBack, r.Digest, r.Warnings = newest.where, newest.image, newest.wayBack, newest.digest, newest.warnings
	s.Target = []verb.Fact{{Label: "Image", Text: r.Image}, {Label: "Way back", Text: r.WayBack}, {Label: "Digest", Text: r.Digest}}
	for _, warning := range r.Warnings {
		s.Target = append(s.Target, verb.Fact{Label: "Warning", Text: warning})
	}
	for _, damage := range r.Damaged {
		s.Target = append(s.Target, verb.Fact{Label: "Damaged", Text: damage})
	}
	if newest.id == "" {
		return r, nil
	}
	entries, err := operation.ReadEntries(n.Files, newest.id)
	if err != nil {
		return nil, err
	}
	r.Fill(n.Files, flow.Fold(newest.id, entries))
	if r.Failure == "" {
		r.Failure = newest.failure
	}
	return r, nil
}

// latestCreation is the image that is made, or was made last.
func latestCreation(files host.Files) (latest, error) {
	r, err := seed.ReadRequest(files)
	if err == nil {
		return latest{id: r.OperationID, where: "making a seed image", image: r.SeedImage}, nil
	}
	if !errors.Is(err, seed.ErrNoRequest) {
		return latest{}, nameAbort(err)
	}
	o, err := seed.ReadOutcome(files)
	if errors.Is(err, fs.ErrNotExist) {
		return latest{}, nil
	}
	return latest{id: o.OperationID, where: "published", image: o.Image, digest: o.Digest, warnings: o.Warnings()}, err
}

// nameAbort says what a person can do with a request that cannot be read.
func nameAbort(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w; 'lca-cli seed abort' ends what is under way of it", err)
}

// restoringHere is the restore that has not rebooted.
func restoringHere(files host.Files) (latest, error) {
	r, found, err := restore.ReadRequest(files)
	if err != nil || !found {
		return latest{}, nameAbort(err)
	}
	return latest{id: r.OperationID, where: "restoring; this cluster runs until the reboot", image: r.Image, digest: r.Digest}, nil
}

// restoredHere is the restore that this stateroot was made by, or came back from.
func restoredHere(files host.Files) (latest, error) {
	last, err := relocation.ReadLast(files)
	if err != nil {
		return latest{}, err
	}
	image, ours := strings.CutPrefix(last.Source, restore.Source)
	record, err := relocation.ReadRecord(files)
	if errors.Is(err, operation.ErrRefused) {
		l := latest{id: last.OperationID, image: image, failure: last.Cause}
		switch {
		case !ours:
			return latest{}, nil
		case last.Outcome == relocation.OutcomeReturned:
			l.where = "rolled back; the cluster of before runs"
		default:
			l.where = "restored, and kept"
		}
		return l, nil
	}
	if err != nil || record.Running == nil {
		return latest{}, err
	}
	l := latest{id: record.OperationID, where: "rebooted; waiting for its reconfiguration", wayBack: record.Factory}
	request, found, err := relocation.ReadRequest(files)
	switch {
	case err != nil && last.Outcome != relocation.OutcomeHome:
		l.where, l.failure = "taking the site's identity; 'lca-cli seed rollback' ends it", err.Error()
	case err == nil && found:
		l.where, l.image, l.digest = "taking the site's identity", strings.TrimPrefix(request.Source, restore.Source), request.Digest
	case last.Outcome == relocation.OutcomeHome:
		l.where, l.image, l.digest = "restored", image, last.Digest
	}
	return l, nil
}
