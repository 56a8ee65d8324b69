package ipconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// installUnits gives the new deployment its services, and keeps kubelet there
// down until post-pivot starts it.
func (p *PrePivot) installUnits(ctx context.Context) error {
	_, target, err := p.deployments(ctx)
	if err != nil {
		return err
	}
	units := map[string]string{}
	if p.Request.InstallIPConfigurationService {
		units[host.UnitIPConfiguration] = ipConfigurationUnit
	}
	if p.Request.InstallInitMonitor {
		units[host.UnitInitMonitor] = initMonitorUnit
	}
	for name, text := range units {
		if err := p.installUnit(ctx, target, name, text); err != nil {
			return err
		}
	}
	if err := p.Node.Foreign.DisableIn(ctx, target.Dir(), host.UnitKubelet); err != nil {
		return fmt.Errorf("disable %s in the new deployment: %w", host.UnitKubelet, err)
	}
	return nil
}

// installUnit puts the unit in the place of whatever had its name: to write through a link, as a mask is one, would
// change what it leads to. Drop-ins stay, they are the administrator's.
func (p *PrePivot) installUnit(ctx context.Context, target host.Deployment, name, text string) error {
	file := target.InDeployment(path.Join(host.UnitDir, name))
	if st, err := p.Node.Files.Stat(file); err == nil && !st.Mode().IsRegular() {
		if err := p.Node.Files.Remove(file); err != nil {
			return fmt.Errorf("make room for %s: %w", file, err)
		}
	}
	if err := p.Node.Files.Write(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	if err := p.Node.Foreign.EnableIn(ctx, target.Dir(), name); err != nil {
		return fmt.Errorf("enable %s in the new deployment: %w", name, err)
	}
	return nil
}

// arm fixes the moment at which the watchdog gives the operation up. It is absolute: reboots
// of the new system do not move it.
func (p *PrePivot) arm(context.Context) error {
	deadline := p.Node.Clock.Now().Add(p.Auto.Timeout()).UTC().Truncate(time.Second)
	if err := p.Runner.Note(FlowPrePivot, "watchdog armed", deadline); err != nil {
		return err
	}
	journal := JournalPath(p.Request.OperationID)
	data, err := p.Node.Files.Read(journal)
	if err != nil {
		return fmt.Errorf("read %s: %w", journal, err)
	}
	if err := p.Node.Files.Write(host.InVar(p.Request.NewStateroot, journal), data, 0o600); err != nil {
		return fmt.Errorf("hand the journal to stateroot %s: %w", p.Request.NewStateroot, err)
	}
	return nil
}

// seal flushes everything to the disk and records what the new stateroot must hold.
func (p *PrePivot) seal(ctx context.Context) error {
	_, target, err := p.deployments(ctx)
	if err != nil {
		return err
	}
	if err := p.sameCLI(); err != nil {
		return err
	}
	s, err := makeSeal(p.Node.Files, p.Request, target)
	if err != nil {
		return err
	}
	if err := writeJSON(p.Node.Files, host.InVar(p.Request.NewStateroot, host.Seal), s); err != nil {
		return err
	}
	if err := p.Node.Trees.Sync(host.DeployDir); err != nil {
		return fmt.Errorf("flush %s to the disk: %w", host.DeployDir, err)
	}
	return nil
}

// sameCLI says whether the new stateroot has the program that is to finish the change there, or to go back:
// without it nothing would ever happen after the reboot.
func (p *PrePivot) sameCLI() error {
	want, err := p.Node.Files.Read(host.CLIInVar)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is part of the operating system
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", host.CLIInVar, err)
	}
	have, err := p.Node.Files.Read(host.InVar(p.Request.NewStateroot, host.CLIInVar))
	if err != nil {
		return fmt.Errorf("read the new stateroot's lca-cli: %w", err)
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("the new stateroot's %s is not the one that runs here", host.CLIInVar)
	}
	return nil
}

func (p *PrePivot) flipped(ctx context.Context) (bool, error) {
	return isDefault(ctx, p.Node.Deployments, p.Request.NewStateroot)
}

func isDefault(ctx context.Context, d host.Deployments, stateroot string) (bool, error) {
	all, err := d.List(ctx)
	if err != nil {
		return false, fmt.Errorf("list deployments: %w", err)
	}
	first, ok := host.FirstOf(all, stateroot)
	return ok && first.Default, nil
}

func (p *PrePivot) flip(ctx context.Context) error {
	if err := p.Node.Deployments.SetDefault(ctx, p.Request.NewStateroot); err != nil {
		return fmt.Errorf("make %s the default: %w", p.Request.NewStateroot, err)
	}
	return nil
}

func (p *PrePivot) unflip(ctx context.Context) error {
	if err := p.Node.Deployments.SetDefault(ctx, p.Request.OldStateroot); err != nil {
		return fmt.Errorf("make %s the default again: %w", p.Request.OldStateroot, err)
	}
	return nil
}

func (p *PrePivot) reboot(ctx context.Context) error {
	return reboot(ctx, p.Node, "IP Config: booting stateroot "+p.Request.NewStateroot)
}

// rebootPatience is how long an orderly reboot may take to end this process.
const rebootPatience = 10 * time.Minute

// reboot asks for it and waits to be ended by it. The default has been changed by now, so being
// stopped is no reason not to ask.
func reboot(ctx context.Context, n Node, reason string) error {
	if err := n.Power.Reboot(context.WithoutCancel(ctx), reason); err != nil {
		return fmt.Errorf("reboot: %w", err)
	}
	if err := n.Clock.Sleep(ctx, rebootPatience); err != nil {
		return flow.ErrLeaving
	}
	return errors.New("the node did not go down within " + rebootPatience.String())
}
