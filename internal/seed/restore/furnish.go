package restore

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// prepareFirstBoot has the restored system come up with its cluster held back, and change its identity. The watchdog runs from its
// first boot: nothing but it would bring the old cluster back where the reconfiguration hangs.
func (m *restoration) prepareFirstBoot(ctx context.Context) error {
	_, target, err := m.request.staterootPair().Deployments(ctx, m.Deployments)
	if err != nil {
		return err
	}
	if err := m.giveCLI(); err != nil {
		return err
	}
	record := host.InVar(m.request.New, relocation.RecordFile)
	if err := operation.WriteJSON(m.Files, record, m.request.relocationRecord()); err != nil {
		return err
	}
	if err := factory.HoldBack(ctx, m.Node, target); err != nil {
		return err
	}
	if err := stateroot.InstallUnit(ctx, m.Files, m.Foreign, target, relocation.UnitMonitor, relocation.MonitorUnit); err != nil {
		return err
	}
	if err := bringup.RemoveNetworkState(m.Files, target); err != nil {
		return err
	}
	// What was unpacked may have left no room, and the node must go back also before the reconfiguration keeps some.
	if err := stateroot.KeepOwnBallast(m.Files, m.request.New); err != nil {
		return m.explainFullDisk(host.DeployDir, err)
	}
	return nil
}

// giveCLI puts the program that runs here in the place of the seed's: it knows how to continue.
func (m *restoration) giveCLI() error {
	program, err := m.Files.Read(host.CLIInVar)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is part of the operating system
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", host.CLIInVar, err)
	}
	if err := m.Files.Write(host.InVar(m.request.New, host.CLIInVar), program, 0o755); err != nil {
		return fmt.Errorf("give lca-cli to stateroot %s: %w", m.request.New, err)
	}
	return nil
}

// Source begins the words that say, in the restored system, where its configuration came from; the image follows.
const Source = "restore of "

// handOver gives the restored system the site configuration, the request by which it continues, and the journal.
func (m *restoration) handOver(context.Context) error {
	site, err := m.Files.Read(seed.RestoreSiteFile)
	if err != nil {
		return fmt.Errorf("read the site configuration: %w", err)
	}
	if err := m.Files.Write(host.InVar(m.request.New, relocation.SiteConfigFile), site, 0o600); err != nil {
		return fmt.Errorf("hand the site configuration to stateroot %s: %w", m.request.New, err)
	}
	r := relocation.Request{
		OperationID: m.request.OperationID, Factory: m.request.Old, Site: m.request.New, Source: Source + m.request.Image,
		Digest: m.request.Digest, Accepted: m.request.Requested,
	}
	if err := operation.WriteJSON(m.Files, host.InVar(m.request.New, relocation.RequestFile), r); err != nil {
		return err
	}
	return stateroot.HandJournal(m.Files, m.request.OperationID, m.request.New)
}

// newSealing lists what must be whole after the reboot.
func (m *restoration) newSealing() stateroot.Sealing {
	whole := []string{
		relocation.RecordFile, relocation.RequestFile, relocation.SiteConfigFile, path.Join(host.UnitDir, relocation.UnitPage),
		path.Join(host.UnitDir, relocation.UnitReconfigure), path.Join(host.UnitDir, relocation.UnitMonitor),
	}
	return stateroot.Sealing{
		Operation: m.request.OperationID, Pair: m.request.staterootPair(), MadeBy: seed.FlowRestore, Clock: m.Clock,
		Contents: func(func(string) string) ([]string, error) { return whole, nil },
	}
}
