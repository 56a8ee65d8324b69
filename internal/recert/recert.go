package recert

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
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

// Scan lists every certificate and key of the cluster; see inspect.
func (e *Engine) Scan(ctx context.Context, cfg config.Config) (*inspect.Inventory, error) {
	return inspect.Scan(ctx, e.inspectPorts(), cfg)
}

// Verify proves that the cluster is as the configuration asks; see inspect.
func (e *Engine) Verify(ctx context.Context, configPath string) (*inspect.Verification, error) {
	return inspect.Verify(ctx, e.inspectPorts(), configPath)
}

func (e *Engine) inspectPorts() inspect.Ports {
	return inspect.Ports{Keystore: e.ports.Keystore, Files: e.ports.Files, Clock: e.ports.Clock}
}

// ErrBlocked is matched by the error of a run that changed nothing because something it cannot do
// without could not be done.
var ErrBlocked = errors.New("the change cannot be carried out")

// Plan works out what Run would do. It starts and stops etcd over the data but writes nothing.
func (e *Engine) Plan(ctx context.Context, cfg config.Config) (*Plan, error) {
	return e.planOffline(ctx, cfg, config.Record{})
}

func (e *Engine) planOffline(ctx context.Context, cfg config.Config, resume config.Record) (plan *Plan, err error) {
	store, err := e.ports.Keystore.Open(ctx)
	if err != nil {
		return nil, fmt.Errorf("open the cluster's store: %w", err)
	}
	defer func() { err = errors.Join(err, store.Close(ctx)) }()
	return buildPlan(ctx, e.ports, cfg, store, resume)
}

// Preview works out what Apply would do with the configuration, as Plan does, and knows what an earlier run with it has done.
func (e *Engine) Preview(ctx context.Context, configPath string) (*Plan, error) {
	cfg, resume, err := config.Load(e.ports.Files, configPath)
	if err != nil {
		return nil, fmt.Errorf("load what to do: %w", err)
	}
	if resume.Done {
		return &Plan{}, nil
	}
	return e.planOffline(ctx, cfg, resume)
}

// Run implements host.Recert. A run that was interrupted is completed by the next; one after that is a no-op.
func (e *Engine) Run(ctx context.Context, configPath string) error {
	_, err := e.Apply(ctx, configPath)
	return err
}

// Apply is Run for those who want to know what was done. The plan is nil where it was not reached.
func (e *Engine) Apply(ctx context.Context, configPath string) (*Plan, error) {
	cfg, resume, err := config.Load(e.ports.Files, configPath)
	if err != nil {
		return nil, fmt.Errorf("load what to do: %w", err)
	}
	for _, remark := range cfg.Remarks {
		e.ports.Log.Info("recert configuration", "op", "recert", "remark", remark)
	}
	if resume.Done {
		e.ports.Log.Info("recert already completed with this configuration", "op", "recert", "record", config.RecordPath(configPath))
		return &Plan{}, config.RemoveKeys(e.ports.Files, configPath)
	}
	run := &run{ports: e.ports, cfg: cfg, configPath: configPath, resume: resume, times: map[string]string{}, began: e.ports.Clock()}
	err = run.planAndApply(ctx)
	return run.plan, run.concludeRun(err)
}

// What LimitMemory sets. The limit leaves a quarter to what a process needs besides.
const (
	garbagePercent = 400
	memoryLimit    = 192 << 20
)

// LimitMemory tunes the garbage collector of a process that runs an Engine: to collect rarely, since a whole cluster is read in less
// than a second, and early where a cluster is large. The result restores the former settings.
func LimitMemory() (restore func()) {
	percent, limit := debug.SetGCPercent(garbagePercent), debug.SetMemoryLimit(memoryLimit)
	return func() {
		debug.SetGCPercent(percent)
		debug.SetMemoryLimit(limit)
	}
}
