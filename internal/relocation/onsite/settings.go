package onsite

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// How long a part is tried that does not hold the site up.
const (
	// refusedPatience: what admission refuses may depend on what the cluster still starts.
	refusedPatience = 2 * time.Minute
	// hubPatience: a hub needs some seconds for the import manifests of a cluster that was just registered.
	hubPatience = 3 * time.Minute
)

// applyStep is the step that brings a part of the configuration about.
func (p *Reconfiguration) applyStep(part reconcile.Part) flow.Step {
	do := func(ctx context.Context) error {
		c, err := p.readConfigWithID()
		if err != nil {
			return err
		}
		return p.bringAbout(ctx, part, c)
	}
	return flow.Step{Name: "apply-" + part.Name, Title: part.Title, Do: do}
}

// AttentionNote begins a note about what somebody should attend to though the node is at home.
const AttentionNote = "needs attention: "

// attention is what does not hold the site up, as an error while it is tried again.
type attention string

func (a attention) Error() string { return string(a) }

// bringAbout applies a part, and notes what needs attention. The identity of the cluster and its connections are what the way
// back is for: objects that the site brings along do not take the node back, unless they say so themselves.
func (p *Reconfiguration) bringAbout(ctx context.Context, part reconcile.Part, c siteconfig.SiteConfig) error {
	err := bringup.Persist(ctx, p.Clock, retryLimit, func(ctx context.Context) error {
		text, err := p.Cluster.Apply(ctx, part.Name, c)
		if err == nil && text != "" {
			return attention(text)
		}
		return err // wrapped below
	})
	var objects *reconcile.ObjectsError
	var text attention
	switch {
	case errors.As(err, &objects):
		return p.noteObjects(part, objects.Problems)
	case errors.As(err, &text):
		return p.journalNote(AttentionNote + withCode(part, string(text)))
	case err != nil:
		return fmt.Errorf("%s: %w", part.Title, err)
	}
	return nil
}

// retryLimit is how long an error is worth trying again.
func retryLimit(err error) time.Duration {
	var objects *reconcile.ObjectsError
	var text attention
	switch {
	case errors.As(err, &objects) && objects.Refused():
		return refusedPatience
	case errors.As(err, &text):
		return hubPatience
	}
	return bringup.PersistTimeout
}

// noteObjects notes each object that is not in place. Those without which the site is not to run are the error.
func (p *Reconfiguration) noteObjects(part reconcile.Part, problems []reconcile.ObjectProblem) error {
	required := &reconcile.ObjectsError{}
	for _, o := range problems {
		if o.Required {
			required.Problems = append(required.Problems, o)
			continue
		}
		if err := p.journalNote(AttentionNote + withCode(part, o.String()+"; apply it when the cause is mended")); err != nil {
			return err
		}
	}
	if len(required.Problems) > 0 {
		return fmt.Errorf("%s: the site is not to run without %w", part.Title, required)
	}
	return nil
}

// withCode begins a text with the code that a technician reads out.
func withCode(part reconcile.Part, text string) string {
	code := sitecode.ObjectsFailed
	if part.Condition == hubCondition {
		code = sitecode.HubFailed
	}
	return string(code) + ": " + text
}

// hubCondition is the condition of the part that registers the cluster.
const hubCondition = "HubReconciled"
