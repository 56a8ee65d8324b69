package ipconfig

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// copyFinal settles the difference that arose while the first copy ran, and
// gives the new deployment the old one's /etc and origin.
func (p *PrePivot) copyFinal(ctx context.Context) error {
	old, target, err := p.deployments(ctx)
	if err != nil {
		return err
	}
	// The kubelet may have thrown an image away that no container uses. It does not run any more.
	if err := p.fetchImage(ctx); err != nil {
		return err
	}
	if err := p.mirror(ctx, p.varCopy()); err != nil {
		return err
	}
	if err := p.mirror(ctx, host.CopyRequest{From: old.InDeployment("/etc"), To: target.InDeployment("/etc")}); err != nil {
		return err
	}
	origin, err := p.Node.Files.Read(old.Origin())
	if err != nil {
		return fmt.Errorf("read the deployment's origin: %w", err)
	}
	if err := p.Node.Files.Write(target.Origin(), origin, 0o644); err != nil {
		return fmt.Errorf("write the new deployment's origin: %w", err)
	}
	return nil
}

// deployments finds the one that runs and the one that is being made.
func (p *PrePivot) deployments(ctx context.Context) (old, target host.Deployment, err error) {
	all, err := p.Node.Deployments.List(ctx)
	if err != nil {
		return old, target, fmt.Errorf("list deployments: %w", err)
	}
	if old, err = host.Booted(all); err != nil {
		return old, target, err
	}
	if old.Stateroot != p.Request.OldStateroot {
		return old, target, fmt.Errorf("stateroot %s is booted, the request was made for %s", old.Stateroot, p.Request.OldStateroot)
	}
	target, ok := host.FirstOf(all, p.Request.NewStateroot)
	if !ok {
		return old, target, fmt.Errorf("stateroot %s has no deployment", p.Request.NewStateroot)
	}
	return old, target, nil
}

// furnish writes into the new stateroot what makes it the new node.
func (p *PrePivot) furnish(ctx context.Context) error {
	_, target, err := p.deployments(ctx)
	if err != nil {
		return err
	}
	families, err := p.Request.Families()
	if err != nil {
		return err
	}
	families = PrimaryFirst(families, p.primary(nil))
	if err := p.Node.Resolver.SetOverride(target.Dir(), overrideAddress(families, p.filterAfter())); err != nil {
		return err
	}
	if err := p.Node.Resolver.SetFilter(target.Dir(), p.Request.DNSFilterOutFamily); err != nil {
		return err
	}
	if err := p.moveHint(target, families); err != nil {
		return err
	}
	if err := p.removeStale(target); err != nil {
		return err
	}
	mode := host.InVar(p.Request.NewStateroot, host.InitMonitorMode)
	if err := p.Node.Files.Write(mode, []byte(InitMonitorModeIPConfig), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", mode, err)
	}
	// The report of an earlier change would be taken for that of this one.
	if err := p.Node.Files.Remove(host.InVar(p.Request.NewStateroot, host.RecertSummary)); err != nil {
		return err
	}
	return p.Node.Files.Remove(host.InVar(p.Request.NewStateroot, host.SavedIPConfig))
}

// filterAfter is the DNS filter that holds after the change.
func (p *PrePivot) filterAfter() string {
	if p.Request.DNSFilterOutFamily != "" {
		return p.Request.DNSFilterOutFamily
	}
	now, err := p.Node.Resolver.Filter()
	if err != nil {
		p.Node.Log.Warn("the present DNS filter could not be told; assuming none", "error", err)
	}
	return now
}

// removeStale deletes what OVN, OVS and Multus must make anew, but leaves files
// there that a MachineConfig owns: deleting them degrades the node's pool.
func (p *PrePivot) removeStale(target host.Deployment) error {
	owned, err := machineConfigFiles(p.Node.Files)
	if err != nil {
		return err
	}
	for _, stale := range host.StaleNetworkState {
		root := host.StaterootDir(p.Request.NewStateroot)
		if strings.HasPrefix(stale, "/etc/") {
			root = target.Dir()
		}
		if err := removeExcept(p.Node.Files, root, stale, owned); err != nil {
			return fmt.Errorf("remove stale %s: %w", stale, err)
		}
	}
	return nil
}

// removeExcept deletes the tree at root+name, sparing the owned files in it.
func removeExcept(files host.Files, root, name string, owned map[string]bool) error {
	if owned[name] {
		return nil
	}
	if !anyBelow(owned, name) {
		return files.Remove(path.Join(root, name))
	}
	entries, err := files.List(path.Join(root, name))
	if err != nil {
		return err
	}
	for _, e := range entries {
		if err := removeExcept(files, root, path.Join(name, e), owned); err != nil {
			return err
		}
	}
	return nil
}

func anyBelow(owned map[string]bool, dir string) bool {
	for f := range owned {
		if strings.HasPrefix(f, dir+"/") {
			return true
		}
	}
	return false
}

// machineConfigFiles lists the files that the node's current MachineConfig writes.
func machineConfigFiles(files host.Files) (map[string]bool, error) {
	data, err := files.Read(host.MachineConfig)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", host.MachineConfig, err)
	}
	var mc struct {
		Spec struct {
			Config struct {
				Storage struct {
					Files []struct {
						Path string `json:"path"`
					} `json:"files"`
				} `json:"storage"`
			} `json:"config"`
		} `json:"spec"`
	}
	if err := json.Unmarshal(data, &mc); err != nil {
		return nil, fmt.Errorf("decode %s: %w", host.MachineConfig, err)
	}
	owned := map[string]bool{}
	for _, f := range mc.Spec.Config.Storage.Files {
		owned[path.Clean(f.Path)] = true
	}
	return owned, nil
}
