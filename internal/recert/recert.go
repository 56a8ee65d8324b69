package recert

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Ports is what the engine needs of its surroundings.
type Ports struct {
	Keystore host.Keystore
	Files    host.Files
	// Clock is time.Now where nil; it dates the summary and the ClusterVersion condition.
	Clock func() time.Time
	// Rand is crypto/rand where nil; only RSA-PSS signatures need it.
	Rand io.Reader
	// Log discards where nil.
	Log *slog.Logger
}

// Engine is the native host.Recert.
type Engine struct{ ports Ports }

var _ host.Recert = (*Engine)(nil)

// New returns an engine.
func New(p Ports) *Engine {
	if p.Clock == nil {
		p.Clock = time.Now
	}
	if p.Rand == nil {
		p.Rand = rand.Reader
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	return &Engine{ports: p}
}

// ErrBlocked is matched by the error of a run that changed nothing because something it cannot do
// without could not be done.
var ErrBlocked = errors.New("the change cannot be carried out")

// Plan works out what Run would do. It starts and stops etcd over the data but writes nothing.
func (e *Engine) Plan(ctx context.Context, cfg Config) (*Plan, error) {
	return e.plan(ctx, cfg, progress{})
}

func (e *Engine) plan(ctx context.Context, cfg Config, resume progress) (plan *Plan, err error) {
	store, err := e.ports.Keystore.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the cluster's store: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	return buildPlan(ctx, e.ports, cfg, store, resume)
}

// Preview works out what Apply would do with the configuration, as Plan does, and knows what an earlier run with it has done.
func (e *Engine) Preview(ctx context.Context, configPath string) (*Plan, error) {
	cfg, resume, err := e.load(configPath)
	if err != nil {
		return nil, err
	}
	if resume.Done {
		return &Plan{}, nil
	}
	return e.plan(ctx, cfg, resume)
}

// Run implements host.Recert. A run that was interrupted is completed by the next; one after that is a no-op.
func (e *Engine) Run(ctx context.Context, configPath string) error {
	_, err := e.Apply(ctx, configPath)
	return err
}

// Apply is Run for those who want to know what was done. The plan is nil where it was not reached.
func (e *Engine) Apply(ctx context.Context, configPath string) (*Plan, error) {
	cfg, resume, err := e.load(configPath)
	if err != nil {
		return nil, err
	}
	for _, remark := range cfg.Remarks {
		e.ports.Log.Info("recert configuration", "op", "recert", "remark", remark)
	}
	if resume.Done {
		e.ports.Log.Info("recert has done this already", "op", "recert", "record", progressPath(configPath))
		return &Plan{}, nil
	}
	run := &run{ports: e.ports, cfg: cfg, configPath: configPath, resume: resume, times: map[string]string{}, began: e.ports.Clock()}
	err = run.do(ctx)
	return run.plan, run.conclude(err)
}

// load reads the configuration and the record of an earlier run.
func (e *Engine) load(configPath string) (Config, progress, error) {
	text, err := e.ports.Files.Read(configPath)
	if err != nil {
		return Config{}, progress{}, fmt.Errorf("read the recert configuration: %w", err)
	}
	cfg, err := ParseConfig(text)
	if err != nil {
		return Config{}, progress{}, err
	}
	resume, err := loadProgress(e.ports.Files, configPath, text)
	return cfg, resume, err
}

// run is one execution.
type run struct {
	ports      Ports
	cfg        Config
	configPath string
	resume     progress
	plan       *Plan
	described  *described
	began      time.Time
	times      map[string]string
}

func (r *run) do(ctx context.Context) (err error) {
	store, err := r.ports.Keystore.Open(ctx)
	if err != nil {
		return fmt.Errorf("open the cluster's store: %w", err)
	}
	r.lap("open")
	defer func() {
		if closeErr := store.Close(ctx); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("close the cluster's store: %w", closeErr))
		}
	}()
	if r.plan, err = buildPlan(ctx, r.ports, r.cfg, store, r.resume); err != nil {
		return fmt.Errorf("plan the change: %w", err)
	}
	r.lap("plan")
	r.described = describe(r.plan)
	r.logPlan()
	if len(r.plan.Blocked) > 0 {
		n := r.plan.Blocked[0]
		return fmt.Errorf("%w: %s %s (%d such reasons)", ErrBlocked, n.Where, n.Why, len(r.plan.Blocked))
	}
	switch {
	case r.cfg.DryRun:
		return nil
	case r.plan.Empty():
		return r.settle()
	}
	err = r.apply(ctx, store)
	r.lap("apply")
	return err
}

// settle completes the record of a run that did all its work and died before it could say so.
func (r *run) settle() error {
	if len(r.resume.After) == 0 {
		return nil
	}
	r.resume.Done = true
	return r.resume.save(r.ports.Files, r.configPath)
}

// apply wraps the plan's work in the record that overlapping addresses need. A change that needs none ends what an older record says.
func (r *run) apply(ctx context.Context, store host.OpenKeystore) error {
	mapping, err := NewMapping(r.plan.Addresses)
	if err != nil {
		return err
	}
	record := r.resume.extend(r.plan)
	recorded := mapping.Overlaps() || r.cfg.needsRecord() || len(r.plan.signed) > 0
	begin := record.save
	if !recorded {
		begin = dropProgress
	}
	if err := begin(r.ports.Files, r.configPath); err != nil {
		return err
	}
	if err := r.plan.apply(ctx, r.ports.Files, store); err != nil {
		return fmt.Errorf("apply the change: %w", err)
	}
	if recorded {
		record.Done = true
		return record.save(r.ports.Files, r.configPath)
	}
	return nil
}

func (r *run) logPlan() {
	log := r.ports.Log.With("op", "recert")
	for _, n := range r.plan.Kept {
		log.Debug("left as it is", "where", n.Where, "why", n.Why)
	}
	for _, n := range r.plan.Leftovers {
		log.Debug("other mention", "where", n.Where, "why", n.Why)
	}
	log.Info("recert planned", "certificates", len(r.plan.Certificates), "changes", len(r.plan.Changes),
		"kept", len(r.plan.Kept), "leftovers", len(r.plan.Leftovers), "blocked", len(r.plan.Blocked))
}

func (r *run) lap(name string) {
	r.times[name] = r.ports.Clock().Sub(r.began).Round(time.Millisecond).String()
}

// conclude writes the report. A change that was made is not undone for want of one: whoever asked would take the node back to what it was.
func (r *run) conclude(err error) error {
	unreported := r.report(err)
	if unreported == nil || err != nil || r.cfg.DryRun {
		return errors.Join(err, unreported)
	}
	r.ports.Log.Warn("recert is done, and its report could not be written", "op", "recert", "path", r.cfg.SummaryFile, "error", unreported)
	return nil
}

func (r *run) report(err error) error {
	s := summary{Engine: "native", Started: r.began, DryRun: r.cfg.DryRun, RunTimes: r.times,
		Config: newSummaryConfig(r.cfg), plan: r.described}
	if err != nil {
		s.Error = err.Error()
	}
	return s.write(r.ports.Files, r.cfg.SummaryFile)
}
