package change

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// collect refuses what cannot work on this node, while nothing is touched yet. Then it reads everything that needs the
// running cluster and writes it into the workspace, which is copied to the new stateroot.
func (p *PrePivot) collect(ctx context.Context) error {
	if err := p.refuse(ctx); err != nil {
		return err
	}
	in, err := p.Cluster.Inputs(ctx, p.Request.PullSecretRefName)
	if err != nil {
		return fmt.Errorf("collect recert's inputs from the cluster: %w", err)
	}
	if err := p.writeSecrets(in); err != nil {
		return err
	}
	config, err := renderRecert(p.Request, in, primary(p.Files, in.NodeAddresses))
	if err != nil {
		return err
	}
	if err := operation.WriteJSON(p.Files, host.RecertConfig, config); err != nil {
		return err
	}
	if err := p.writeNetwork(ctx); err != nil {
		return err
	}
	return p.forecast(ctx, config)
}

// refuse fails on what no retry mends.
func (p *PrePivot) refuse(ctx context.Context) error {
	if _, err := chosenImage(p.Files); err != nil {
		return err
	}
	if err := stateroot.OwnState(p.Files, p.Request.OldStateroot); err != nil {
		return flow.Permanent(err)
	}
	if err := p.Deployments.CanSetDefault(ctx); err != nil {
		return flow.Permanent(err)
	}
	return stateroot.Room{Files: p.Files, Disk: p.Trees}.Enough(ctx, p.pair())
}

func (p *PrePivot) writeSecrets(in Inputs) error {
	for name, data := range in.Crypto {
		if err := p.Files.Write(path.Join(ipconfig.CryptoDir, name), data, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	if len(in.PullSecret) == 0 {
		return nil
	}
	if err := p.Files.Write(host.RecertPullSecret, in.PullSecret, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", host.RecertPullSecret, err)
	}
	return nil
}

// primary is the node's primary address: what nodeip-configuration chose, else the Node object's first.
func primary(files host.Files, fallback []netip.Addr) netip.Addr {
	if data, err := files.Read(host.PrimaryIP); err == nil {
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
	now, err := p.Network.Observe(ctx)
	if err != nil {
		return fmt.Errorf("observe the node's network: %w", err)
	}
	uplink, err := FindUplink(ctx, p.Switch, now)
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
	if err := p.Files.Write(ipconfig.NMStateFile, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", ipconfig.NMStateFile, err)
	}
	return nil
}

// uncollect wipes what collect wrote; the request stays, the operator owns it.
func (p *PrePivot) uncollect(context.Context) error {
	var errs []error
	for _, f := range append(secretFiles(), host.RecertConfig, ipconfig.NMStateFile, ipconfig.ForecastFile) {
		errs = append(errs, p.Files.Remove(f))
	}
	return errors.Join(errs...)
}

func trim(data []byte) string { return strings.TrimSpace(string(data)) }
