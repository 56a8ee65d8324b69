package ipconfig

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// collect refuses what cannot work on this node, while nothing is touched yet. Then it
// reads everything that needs the running cluster and writes it into the workspace, from
// where it travels to the new stateroot.
func (p *PrePivot) collect(ctx context.Context) error {
	if _, _, err := p.Node.image(); err != nil {
		return err
	}
	if err := OwnState(p.Node.Files, p.Request.OldStateroot); err != nil {
		return flow.Permanent(err)
	}
	if err := p.Node.Deployments.CanSetDefault(ctx); err != nil {
		return flow.Permanent(err)
	}
	if err := p.enoughSpace(ctx); err != nil {
		return err
	}
	in, err := p.Node.Cluster.Inputs(ctx, p.Request.PullSecretRefName)
	if err != nil {
		return fmt.Errorf("collect recert's inputs from the cluster: %w", err)
	}
	for name, data := range in.Crypto {
		if err := p.Node.Files.Write(path.Join(host.KubeconfigCrypto, name), data, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if len(in.PullSecret) > 0 {
		if err := p.Node.Files.Write(host.RecertPullSecret, in.PullSecret, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", host.RecertPullSecret, err)
		}
	}
	config, err := renderRecert(p.Request, in, p.primary(in.NodeAddresses))
	if err != nil {
		return err
	}
	if err := writeJSON(p.Node.Files, host.RecertConfig, config); err != nil {
		return err
	}
	if err := p.writeNetwork(ctx); err != nil {
		return err
	}
	return p.foretell(ctx, config)
}

// primary is the node's primary address: what nodeip-configuration chose, else the Node object's first.
func (p *PrePivot) primary(fallback []netip.Addr) netip.Addr {
	if data, err := p.Node.Files.Read(host.PrimaryIP); err == nil {
		if a, err := netip.ParseAddr(trim(data)); err == nil {
			return a
		}
	}
	if len(fallback) > 0 {
		return fallback[0]
	}
	return netip.Addr{}
}

func (p *PrePivot) writeNetwork(ctx context.Context) error {
	now, err := p.Node.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe the node's network: %w", err)
	}
	uplink, err := FindUplink(ctx, p.Node.Switch, now)
	if err != nil {
		return err
	}
	doc, err := RenderNetwork(p.Request, uplink)
	if err != nil {
		return err
	}
	data, err := doc.Encode()
	if err != nil {
		return err
	}
	if err := p.Node.Files.Write(host.NMState, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", host.NMState, err)
	}
	return nil
}

// uncollect wipes what collect wrote; the request stays, it is the operator's.
func (p *PrePivot) uncollect(context.Context) error {
	var errs []error
	for _, f := range append(secretFiles(), host.RecertConfig, host.NMState, host.Forecast) {
		errs = append(errs, p.Node.Files.Remove(f))
	}
	return errors.Join(errs...)
}

func (p *PrePivot) clone(ctx context.Context) error {
	if _, err := p.Node.Deployments.Clone(ctx, p.Request.NewStateroot); err != nil {
		return fmt.Errorf("deploy stateroot %s: %w", p.Request.NewStateroot, err)
	}
	return nil
}

func (p *PrePivot) unclone(ctx context.Context) error {
	return p.Node.Deployments.Remove(ctx, p.Request.NewStateroot)
}

// copyLive copies the bulk of /var while the cluster runs, so that the outage does not
// depend on how much there is.
func (p *PrePivot) copyLive(ctx context.Context) error {
	r := p.varCopy()
	r.Live = true
	return p.mirror(ctx, r)
}

// uncopy gives the room back before anything else of the stateroot is touched: on a disk that the copy has filled,
// ostree could not even write the boot menu without it.
func (p *PrePivot) uncopy(context.Context) error {
	dir := host.InVar(p.Request.NewStateroot, "/var")
	if err := p.Node.Files.Remove(dir); err != nil {
		return fmt.Errorf("remove the copy in %s: %w", dir, err)
	}
	return nil
}

// varCopy mirrors the old stateroot's /var. What etcd and this operation wrote is
// always copied: it decides what the new cluster is.
func (p *PrePivot) varCopy() host.CopyRequest {
	return host.CopyRequest{
		From: host.InVar(p.Request.OldStateroot, "/var"), To: host.InVar(p.Request.NewStateroot, "/var"),
		Skip:   []string{"lib/lca/evidence", "lib/lca/ipc.json"},
		Always: []string{"lib/etcd", "lib/lca"},
	}
}

func (p *PrePivot) mirror(ctx context.Context, r host.CopyRequest) error {
	stats, err := p.Node.Trees.Mirror(ctx, r)
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", r.From, r.To, err)
	}
	p.Node.Log.Info("copied", "from", r.From, "files", stats.Files, "copied", stats.Copied,
		"removed", stats.Removed, "bytes", stats.Bytes, "reflinked", stats.Reflinked, "took", stats.Took)
	return nil
}

// quiesce stops everything that writes below /var. The mask is in /run only: if
// the power fails from here on, the old system boots whole.
func (p *PrePivot) quiesce(ctx context.Context) error {
	// Stopped first: a masked unit has lost its own settings for the stop, KillMode= and the like.
	if err := p.Node.Units.Stop(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitKubelet, err)
	}
	if err := p.Node.Masks.Mask(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("mask %s until the next boot: %w", host.UnitKubelet, err)
	}
	if err := p.Node.Containers.StopAll(ctx); err != nil {
		return fmt.Errorf("stop the containers: %w", err)
	}
	if err := p.Node.Units.Stop(ctx, host.UnitCRIO); err != nil {
		return fmt.Errorf("stop %s: %w", host.UnitCRIO, err)
	}
	return nil
}

// revive brings the old cluster back without a reboot.
func (p *PrePivot) revive(ctx context.Context) error {
	if err := p.Node.Masks.Unmask(ctx, host.UnitKubelet); err != nil {
		return fmt.Errorf("unmask %s: %w", host.UnitKubelet, err)
	}
	for _, unit := range []string{host.UnitCRIO, host.UnitKubelet} {
		state, err := p.Node.Units.State(ctx, unit)
		if err != nil {
			return fmt.Errorf("look at %s: %w", unit, err)
		}
		if !state.Exists() {
			continue
		}
		if err := p.Node.Units.Start(ctx, unit); err != nil {
			return fmt.Errorf("start %s: %w", unit, err)
		}
	}
	return nil
}

// reviveStopped brings the cluster back if quiesce stopped it; its mask tells.
func (p *PrePivot) reviveStopped(ctx context.Context) error {
	state, err := p.Node.Units.State(ctx, host.UnitKubelet)
	if err != nil {
		return fmt.Errorf("look at %s: %w", host.UnitKubelet, err)
	}
	if state.Load != "masked" {
		return nil
	}
	return p.revive(ctx)
}

func trim(data []byte) string { return strings.TrimSpace(string(data)) }
