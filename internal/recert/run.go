package recert

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

// run is one execution.
type run struct {
	ports      Ports
	cfg        config.Config
	configPath string
	resume     config.Record
	plan       *Plan
	described  *described
	began      time.Time
	times      map[string]string
}

func (r *run) planAndApply(ctx context.Context) (err error) {
	store, err := r.ports.Keystore.Open(ctx)
	if err != nil {
		return fmt.Errorf("open the cluster's store: %w", err)
	}
	r.recordTime("open")
	defer func() {
		if closeErr := store.Close(ctx); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close the cluster's store: %w", closeErr))
		}
	}()
	if r.plan, err = buildPlan(ctx, r.ports, r.cfg, store, r.resume); err != nil {
		return fmt.Errorf("plan the change: %w", err)
	}
	r.recordTime("plan")
	r.described = renderPlan(r.plan)
	r.logPlan()
	if len(r.plan.Blocked) > 0 {
		n := r.plan.Blocked[0]
		return fmt.Errorf("%w: %s %s (%s in all)", ErrBlocked, n.Where, n.Why, inspect.Count(len(r.plan.Blocked), "reason"))
	}
	switch {
	case r.cfg.DryRun:
		return nil
	case r.plan.Empty():
		return r.completeRecord()
	}
	err = r.applyPlan(ctx, store)
	r.recordTime("apply")
	return err
}

// completeRecord completes the record of a run that did all its work and was interrupted before it recorded that.
func (r *run) completeRecord() error {
	if len(r.resume.After) == 0 {
		return nil
	}
	r.resume.Done = true
	if err := r.resume.Save(r.ports.Files, r.configPath); err != nil {
		return err
	}
	return config.RemoveKeys(r.ports.Files, r.configPath)
}

// applyPlan carries the plan out and records it where the result cannot be told from the data. Otherwise it removes an older record.
func (r *run) applyPlan(ctx context.Context, store host.OpenKeystore) error {
	mapping, err := replace.NewMapping(r.plan.Addresses)
	if err != nil {
		return err
	}
	record := extendRecord(r.resume, r.plan)
	recorded := mapping.Overlaps() || r.cfg.NeedsRecord() || len(r.plan.signed) > 0
	begin := record.Save
	if !recorded {
		begin = config.RemoveRecord
	}
	if err := config.SaveKeys(r.ports.Files, r.configPath, r.plan.keys); err != nil {
		return err
	}
	if err := begin(r.ports.Files, r.configPath); err != nil {
		return fmt.Errorf("begin the record: %w", err)
	}
	if err := r.plan.commitTo(ctx, r.ports.Files, store); err != nil {
		return fmt.Errorf("apply the change: %w", err)
	}
	if recorded {
		record.Done = true
		if err := record.Save(r.ports.Files, r.configPath); err != nil {
			return err
		}
	}
	return config.RemoveKeys(r.ports.Files, r.configPath)
}

func (r *run) logPlan() {
	log := r.ports.Log.With("op", "recert")
	for _, n := range r.plan.Warnings {
		log.Warn("needs attention", "where", n.Where, "why", n.Why)
	}
	for _, n := range r.plan.Kept {
		log.Debug("kept", "where", n.Where, "why", n.Why)
	}
	for _, n := range r.plan.Leftovers {
		log.Debug("other mention", "where", n.Where, "why", n.Why)
	}
	log.Info("recert planned", "certificates", len(r.plan.Certificates), "changes", len(r.plan.Changes),
		"kept", len(r.plan.Kept), "leftovers", len(r.plan.Leftovers), "blocked", len(r.plan.Blocked))
}

func (r *run) recordTime(name string) {
	r.times[name] = r.ports.Clock().Sub(r.began).Round(time.Millisecond).String()
}

// concludeRun writes the report. A change that succeeded does not fail for lack of a report: the caller would roll it back.
func (r *run) concludeRun(err error) error {
	unreported := r.writeReport(err)
	if unreported == nil || err != nil || r.cfg.DryRun {
		return errors.Join(err, unreported)
	}
	r.ports.Log.Warn("recert is done, but its report could not be written", "op", "recert", "path", r.cfg.SummaryFile, "error", unreported)
	return nil
}

func (r *run) writeReport(err error) error {
	s := summary{Engine: "native", Started: r.began, DryRun: r.cfg.DryRun, RunTimes: r.times,
		Config: newSummaryConfig(r.cfg), plan: r.described}
	if err != nil {
		s.Error = err.Error()
	}
	return s.writeFile(r.ports.Files, r.cfg.SummaryFile)
}

// extendRecord adds to a record what a plan is going to write.
func extendRecord(p config.Record, plan *Plan) config.Record {
	after := maps.Clone(p.After)
	if after == nil {
		after = map[string]string{}
	}
	for _, f := range plan.files {
		after[f.path] = config.Hash(f.data)
	}
	for _, e := range slices.Concat(plan.first, plan.edits, plan.last, plan.nodes) {
		if !e.Delete {
			after[e.Key] = config.Hash(e.Value)
		}
	}
	for _, m := range plan.members {
		after[config.MemberLocation] = config.Hash([]byte(strings.Join(m.PeerURLs, ",")))
	}
	p.After = after
	if p.Rekeyed == nil {
		p.Rekeyed = plan.rekeyed
	}
	signed := map[string]string{}
	maps.Copy(signed, p.Certificates)
	maps.Copy(signed, plan.signed)
	p.Certificates = signed
	return p
}
