package factory

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// unitDirs are where units lie (systemd.unit(5)).
var unitDirs = []string{host.UnitDir, "/usr/lib/systemd/system"} // a list that nothing changes

// Hold has a system that does not run keep its cluster down from its next boot on. kubelet is disabled, so that what it
// requires is not started either, and has a condition, so that nothing else starts it.
func Hold(ctx context.Context, n host.Node, target host.Deployment) error {
	if err := n.Files.Write(host.InVar(target.Stateroot, relocation.HoldFile), nil, 0o600); err != nil {
		return fmt.Errorf("hold the cluster of stateroot %s: %w", target.Stateroot, err)
	}
	config, err := bringup.ReadMachineConfig(n.Files)
	if err != nil {
		return err
	}
	for _, unit := range heldUnits(n.Files, target.Dir()) {
		if config.Owned[dropIn(unit)] {
			continue
		}
		at := target.InDeployment(dropIn(unit))
		if err := n.Files.Write(at, []byte(relocation.HoldText), 0o644); err != nil {
			return fmt.Errorf("hold %s: %w", at, err)
		}
	}
	if err := n.Foreign.DisableIn(ctx, target.Dir(), host.UnitKubelet); err != nil {
		return fmt.Errorf("hold %s back in stateroot %s: %w", host.UnitKubelet, target.Stateroot, err)
	}
	return nil
}

// Unhold removes everything that holds the cluster of the running system back. Drop-ins of its MachineConfig stay: they
// have no effect without the file.
func Unhold(ctx context.Context, n host.Node) error {
	if err := n.Files.Remove(relocation.HoldFile); err != nil {
		return fmt.Errorf("release the cluster: %w", err)
	}
	config, err := bringup.ReadMachineConfig(n.Files)
	if err != nil {
		return err
	}
	for _, unit := range heldUnits(n.Files, "/") {
		if at := dropIn(unit); !config.Owned[at] {
			if err := n.Files.Remove(at); err != nil {
				return fmt.Errorf("release %s: %w", unit, err)
			}
		}
	}
	// A preparation that was given up has left its mask, and systemd enables no unit that is masked.
	if err := n.Masks.Unmask(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("unmask %s: %w", host.UnitKubelet, err)
	}
	if err := n.Units.Enable(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("enable %s: %w", host.UnitKubelet, err)
	}
	return nil
}

func dropIn(unit string) string { return path.Join(host.UnitDir, unit+".d", relocation.HoldDropIn) }

// heldUnits are those of the system below root that must not start: relocation.HeldUnits, and services that pull kubelet in.
func heldUnits(files host.Files, root string) []string {
	held := map[string]bool{host.UnitKubelet: true}
	for _, dir := range unitDirs {
		names, err := files.List(path.Join(root, dir))
		if err != nil {
			continue // a system without the folder has no units in it
		}
		for _, name := range names {
			switch {
			case slices.Contains(relocation.HeldUnits(), name):
				held[name] = true
			case strings.HasSuffix(name, ".service") && pullsKubelet(files, path.Join(root, dir, name)):
				held[name] = true
			}
			if folder, ok := serviceOfLinkDir(name); ok && fileExists(files, path.Join(root, dir, name, host.UnitKubelet)) {
				held[folder] = true
			}
		}
	}
	return slices.Sorted(maps.Keys(held))
}

// serviceOfLinkDir is the service whose folder of links this is. Links of targets are what enabling makes.
func serviceOfLinkDir(folder string) (unit string, ok bool) {
	unit, kind, _ := strings.Cut(folder, ".service.")
	return unit + ".service", kind == "wants" || kind == "requires"
}

// pullsKubelet reads the unit's dependencies.
func pullsKubelet(files host.Files, file string) bool {
	text, err := files.Read(file)
	if err != nil {
		return false
	}
	for line := range strings.Lines(string(text)) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), "=")
		switch key {
		case "Wants", "Requires", "BindsTo", "Requisite", "Upholds":
			if slices.Contains(strings.Fields(value), host.UnitKubelet) {
				return true
			}
		}
	}
	return false
}

func fileExists(files host.Files, file string) bool {
	_, err := files.Stat(file)
	return err == nil
}

// HoldBack has a system that does not run wait for a configuration at its next boot, with its cluster down. Units that its
// MachineConfig owns are enabled as they are.
func HoldBack(ctx context.Context, n host.Node, target host.Deployment) error {
	if err := Hold(ctx, n, target); err != nil {
		return err
	}
	config, err := bringup.ReadMachineConfig(n.Files)
	if err != nil {
		return err
	}
	for unit, text := range map[string]string{
		relocation.UnitPage: relocation.PageUnit, relocation.UnitReconfigure: relocation.ReconfigureUnit,
	} {
		if config.Owned[path.Join(host.UnitDir, unit)] {
			if err := n.Foreign.EnableIn(ctx, target.Dir(), unit); err != nil {
				return fmt.Errorf("enable %s in stateroot %s: %w", unit, target.Stateroot, err)
			}
			continue
		}
		if err := stateroot.InstallUnit(ctx, n.Files, n.Foreign, target, unit, text); err != nil {
			return err
		}
	}
	return nil
}

// RemoveUnits stops and removes units of a relocation from the running system. Files of its MachineConfig stay.
func RemoveUnits(ctx context.Context, n host.Node, units ...string) error {
	config, err := bringup.ReadMachineConfig(n.Files)
	if err != nil {
		return err
	}
	var errs []error
	for _, unit := range units {
		errs = append(errs, n.Units.Disable(ctx, unit), n.Units.Stop(ctx, unit))
		if file := path.Join(host.UnitDir, unit); !config.Owned[file] {
			errs = append(errs, n.Files.Remove(file))
		}
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove the units of the relocation: %w", err)
	}
	return nil
}
