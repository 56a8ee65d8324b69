package systemd

import (
	"context"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Units is the node's host.Units.
func (n *Manager) Units() host.Units { return units{n} }

// RuntimeMasks is the node's host.RuntimeMasks.
func (n *Manager) RuntimeMasks() host.RuntimeMasks { return units{n} }

// ForeignUnits is the node's host.ForeignUnits.
func (n *Manager) ForeignUnits() host.ForeignUnits { return units{n} }

type units struct{ n *Manager }

func (u units) State(_ context.Context, unit string) (host.UnitState, error) {
	u.n.Enter()
	defer u.n.Unlock()
	return u.n.UnitState(unit), nil
}

// UnitState is what systemd says of a unit.
func (n *Manager) UnitState(unit string) host.UnitState {
	s := host.UnitState{Load: "not-found", Active: "inactive", Sub: "dead", Result: "success"}
	if run := n.runs[unit]; run != nil {
		s = run.state
		s.Load = "not-found"
		if run.transient != nil {
			s.Load, s.File = "loaded", "transient"
			return s
		}
	}
	file, ok := n.loadUnit("", unit)
	switch {
	case !ok:
	case file.runtime:
		s.Load, s.File = "masked", "masked-runtime"
	case file.masked:
		s.Load, s.File = "masked", "masked"
	case len(n.wants("", unit)) > 0:
		s.Load, s.File = "loaded", "enabled"
	case len(file.words("Install.WantedBy"))+len(file.words("Install.RequiredBy")) == 0:
		s.Load, s.File = "loaded", "static"
	default:
		s.Load, s.File = "loaded", "disabled"
	}
	return s
}

func (u units) Start(ctx context.Context, unit string) error {
	n := u.n
	n.Enter()
	err := func() error {
		defer n.Unlock()
		if n.UnitState(unit).Running() {
			return nil
		}
		if other := n.WaitsFor(unit); other != "" {
			return fmt.Errorf("start %s: %w: it is ordered after %s, which is starting", unit, ErrDeadlock, other)
		}
		return n.Change("units.start", unit)
	}()
	if err != nil {
		return err
	}
	return n.StartUnit(ctx, unit)
}

func (u units) Stop(_ context.Context, unit string) error {
	n := u.n
	n.Enter()
	defer n.Unlock()
	run := n.runs[unit]
	if run == nil || !run.state.Running() {
		return nil
	}
	if err := n.Change("units.stop", unit); err != nil {
		return err
	}
	if run.transient != nil {
		delete(n.runs, unit)
		return nil
	}
	run.state.Active, run.state.Sub, run.state.Result = "inactive", "dead", "success"
	return nil
}

func (u units) Enable(_ context.Context, unit string) error {
	u.n.Enter()
	defer u.n.Unlock()
	return u.n.enableIn("units.enable", "", unit)
}

func (u units) Disable(_ context.Context, unit string) error {
	u.n.Enter()
	defer u.n.Unlock()
	return u.n.disableIn("units.disable", "", unit)
}

func (u units) Mask(_ context.Context, unit string) error {
	n := u.n
	n.Enter()
	defer n.Unlock()
	if err := n.Change("units.mask", unit); err != nil {
		return err
	}
	return n.Disk.Put(path.Join(runtimeMasks, unit), machine.Inode{Mode: fs.ModeSymlink | 0o777, Link: noUnit}, true)
}

func (u units) Unmask(_ context.Context, unit string) error {
	n := u.n
	n.Enter()
	defer n.Unlock()
	at := path.Join(runtimeMasks, unit)
	if n.Disk.Live[at].Link != noUnit {
		return nil
	}
	if err := n.Change("units.unmask", unit); err != nil {
		return err
	}
	n.Disk.Remove(at, true)
	return nil
}

func (u units) EnableIn(_ context.Context, root, unit string) error {
	u.n.Enter()
	defer u.n.Unlock()
	return u.n.enableIn("units.enable-in", root, unit)
}

func (u units) DisableIn(_ context.Context, root, unit string) error {
	u.n.Enter()
	defer u.n.Unlock()
	return u.n.disableIn("units.disable-in", root, unit)
}

// Logs is the node's host.Logs: how each unit's programs ended.
func (n *Manager) Logs() host.Logs { return units{n} }

func (u units) Unit(_ context.Context, unit string, lines int) ([]byte, error) {
	u.n.Enter()
	defer u.n.Unlock()
	run := u.n.runs[unit]
	if run == nil {
		return nil, nil
	}
	last := run.log[max(0, len(run.log)-lines):]
	return []byte(strings.Join(last, "")), nil
}

func (u units) System(_ context.Context, lines int) ([]byte, error) {
	u.n.Enter()
	defer u.n.Unlock()
	var b strings.Builder
	for _, err := range u.n.failures[max(0, len(u.n.failures)-lines):] {
		b.WriteString(err.Error() + "\n")
	}
	return []byte(b.String()), nil
}
