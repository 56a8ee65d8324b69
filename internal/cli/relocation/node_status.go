package relocation

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
)

func (w NodeWiring) newHandoverCommand() *cobra.Command {
	return &cobra.Command{
		Use: "handover", Args: cobra.NoArgs, Short: "Print the cluster's credentials, once, and wipe them",
		RunE: func(cmd *cobra.Command, _ []string) error {
			ports, _, err := w.Site(cmd.Context(), false)
			if err != nil {
				return err
			}
			h, err := onsite.TakeHandover(ports.Files)
			if err != nil {
				return w.Verdict("relocation handover", err)
			}
			data, err := yaml.Marshal(h) // the command hands the password over
			if err != nil {
				return fmt.Errorf("encode the credentials: %w", err)
			}
			_, err = w.Out.Write(data)
			return err
		},
	}
}

func (w NodeWiring) newStatusCommand() *cobra.Command {
	return w.StatusCommand("Show how far this node is on its way to its site", func(ctx context.Context) (verb.Source, error) {
		ports, _, err := w.Site(ctx, false)
		if err != nil {
			return nil, err
		}
		return func(ctx context.Context) (verb.Report, error) { return w.observeRelocation(ctx, ports) }, nil
	})
}

// statusReport is the status of a relocation.
type statusReport struct {
	*verb.Status

	Prepared *time.Time `json:"prepared,omitempty"`
	Factory  string     `json:"factoryStateroot,omitempty"`
	Source   string     `json:"source,omitempty"`
	Result   string     `json:"result,omitempty"`
	// Damaged says why the request cannot be read.
	Damaged string `json:"damaged,omitempty"`
	// Code is what to read out on the phone, Action what to do.
	Code   sitecode.Code `json:"code,omitempty"`
	Action string        `json:"action,omitempty"`
}

func (w NodeWiring) observeRelocation(ctx context.Context, n onsite.Ports) (verb.Report, error) {
	s, _, err := w.Observe(ctx, verb.Node{Files: n.Files, Deployments: n.Deployments})
	if err != nil {
		return nil, err
	}
	r := &statusReport{Status: &s}
	record, err := relocation.ReadRecord(n.Files)
	if err != nil {
		s.Where = "this node is not prepared for relocation"
		return r, nil //nolint:nilerr // the same in words
	}
	r.Prepared, r.Factory = &record.Prepared, record.Factory
	s.Where = "prepared; boots into " + record.Site
	if _, err := n.Files.Stat(relocation.HoldFile); err == nil {
		s.Where = "waiting for a site configuration"
		if s.Booted == record.Factory {
			s.Where = "in the factory state, waiting for a site configuration; 'lca-cli relocation abort' starts the factory's cluster"
		}
	}
	if pending, found, err := relocation.ReadPending(n.Files); err == nil && found {
		s.Where = "a " + pending.Action + " was asked for and is under way: " + pending.Cause
	}
	if err := r.addAttempt(ctx, n, record); err != nil {
		return nil, err
	}
	s.Target = []verb.Fact{{Label: "Factory state", Text: r.Factory}, {Label: "Source", Text: r.Source},
		{Label: "Damaged", Text: r.Damaged}}
	if r.Code != "" {
		e := sitecode.Lookup(r.Code)
		r.Action = e.Action
		s.Outcome = []verb.Fact{{Label: "Code", Text: string(r.Code) + ": " + e.Meaning}, {Label: "To do", Text: e.Action}}
	}
	return r, nil
}

// addAttempt adds the attempt that is under way, or the last one.
func (r *statusReport) addAttempt(ctx context.Context, n onsite.Ports, record relocation.Record) error {
	id, files := record.OperationID, n.Files
	request, under, damage, err := onsite.FindRequest(ctx, n.Node)
	if err != nil {
		return errors.Join(damage, err)
	}
	if damage != nil {
		r.Damaged = damage.Error()
	}
	last, err := relocation.ReadLast(files)
	if err != nil {
		return err
	}
	switch arrival, unread, err := relocation.ReadArrival(files); {
	case err != nil:
		return err
	case under:
		id, r.Source, r.Where = request.OperationID, request.Source, "reconfiguring"
	case unread:
		r.Code, r.Failure = arrival.Code, arrival.Message
	case last.Outcome != "":
		id, r.Source, r.Result, r.Code = last.OperationID, last.Source, last.Outcome, last.Code()
		if last.Outcome == relocation.OutcomeHome {
			r.Where = "at home on its site"
		}
	}
	entries, err := operation.ReadEntries(files, id)
	if err != nil {
		return err
	}
	failure := r.Failure
	r.Fill(files, flow.Fold(id, entries))
	if failure != "" {
		r.Failure = failure
	} else if last.Cause != "" && !under {
		r.Failure = last.Cause
	}
	return nil
}
