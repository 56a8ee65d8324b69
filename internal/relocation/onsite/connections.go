package onsite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// formerNames lists the connections that were kept. It is written when all of them are.
const formerNames = "names.json"

// applyConnections writes the keyfiles of the site where NetworkManager reads them, has it start with them, and proves the network. The
// connections that were there are kept first, so that a network that does not answer is taken back.
func (p *Reconfiguration) applyConnections(ctx context.Context) error {
	c, err := p.readConfig()
	if err != nil || len(c.Connections) == 0 {
		return err
	}
	dir, err := p.connectionsDir()
	if err != nil {
		return err
	}
	former, err := p.keepConnections(dir)
	if err != nil {
		return err
	}
	for _, f := range c.Connections {
		if err := p.Files.Write(path.Join(dir, f.Name), []byte(f.Content.Reveal()), 0o600); err != nil {
			return fmt.Errorf("write the connection %s: %w", f.Name, err)
		}
	}
	for name, text := range former {
		if !hasFile(c.Connections, name) && isRival(c.ConnectionList(), text) {
			if err := p.Files.Remove(path.Join(dir, name)); err != nil {
				return fmt.Errorf("remove the connection %s: %w", name, err)
			}
		}
	}
	if err := restartUnit(ctx, p.Units, host.UnitNetwork); err != nil {
		return err
	}
	return p.proveConnections(ctx, c)
}

// connectionsDir is where NetworkManager reads connections that stay: of an overlay in memory, the folder below it.
func (p *Reconfiguration) connectionsDir() (string, error) {
	dir, endsWithBoot, err := host.FindConnectionsDir(p.Files)
	if endsWithBoot {
		return host.NMConnections, nil
	}
	return dir, err
}

// proveConnections waits until the gateways and name servers answer through the interface that leads to them.
func (p *Reconfiguration) proveConnections(ctx context.Context, c siteconfig.SiteConfig) error {
	proof := p.firstProof()
	proof.Site = p.proofSite
	iface := ""
	for _, connection := range c.ConnectionList() {
		if iface == "" || len(connection.Gateways) > 0 {
			iface = connection.Interface
		}
	}
	if err := proof.Over(ctx, iface); err != nil {
		return flow.Permanent(err) // the proof has waited long enough by itself
	}
	return nil
}

// revertConnections puts the connections back that were there, and has NetworkManager start with them.
func (p *Reconfiguration) revertConnections(ctx context.Context) error {
	c, err := p.readConfig()
	if err != nil || len(c.Connections) == 0 {
		return err
	}
	former, kept, err := p.keptConnections()
	if err != nil {
		return err
	}
	if kept {
		if err := p.restoreConnections(ctx, c, former); err != nil {
			return err
		}
	}
	return p.Files.Remove(relocation.ConnectionsDir)
}

func (p *Reconfiguration) restoreConnections(ctx context.Context, c siteconfig.SiteConfig, former map[string]string) error {
	dir, err := p.connectionsDir()
	if err != nil {
		return err
	}
	for _, f := range c.Connections {
		if _, there := former[f.Name]; there {
			continue
		}
		if err := p.Files.Remove(path.Join(dir, f.Name)); err != nil {
			return fmt.Errorf("remove the connection %s: %w", f.Name, err)
		}
	}
	for name, text := range former {
		if err := p.Files.Write(path.Join(dir, name), []byte(text), 0o600); err != nil {
			return fmt.Errorf("put the connection %s back: %w", name, err)
		}
	}
	return restartUnit(ctx, p.Units, host.UnitNetwork)
}

// keepConnections copies the connections that are there, once: after an interruption they may be the site's.
func (p *Reconfiguration) keepConnections(dir string) (map[string]string, error) {
	if former, kept, err := p.keptConnections(); err != nil || kept {
		return former, err
	}
	names, err := p.Files.List(dir)
	if err != nil {
		return nil, fmt.Errorf("list the connections: %w", err)
	}
	names = slices.DeleteFunc(names, func(n string) bool { return path.Ext(n) != ".nmconnection" })
	former := map[string]string{}
	for _, name := range names {
		text, err := p.Files.Read(path.Join(dir, name))
		if err != nil {
			return nil, fmt.Errorf("read the connection %s: %w", name, err)
		}
		if err := p.Files.Write(path.Join(relocation.ConnectionsDir, name), text, 0o600); err != nil {
			return nil, fmt.Errorf("keep the connection %s: %w", name, err)
		}
		former[name] = string(text)
	}
	list, err := json.Marshal(names)
	if err != nil {
		return nil, fmt.Errorf("encode the names of the connections: %w", err)
	}
	if err := p.Files.Write(path.Join(relocation.ConnectionsDir, formerNames), list, 0o600); err != nil {
		return nil, fmt.Errorf("keep the connections: %w", err)
	}
	return former, nil
}

// keptConnections are the copies, by name; kept is false where they are not complete.
func (p *Reconfiguration) keptConnections() (former map[string]string, kept bool, err error) {
	data, err := p.Files.Read(path.Join(relocation.ConnectionsDir, formerNames))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, false, nil
	}
	var names []string
	if err == nil {
		err = json.Unmarshal(data, &names)
	}
	if err != nil {
		return nil, false, fmt.Errorf("read which connections were kept: %w", err)
	}
	former = map[string]string{}
	for _, name := range names {
		text, err := p.Files.Read(path.Join(relocation.ConnectionsDir, name))
		if err != nil {
			return nil, false, fmt.Errorf("read the kept connection %s: %w", name, err)
		}
		former[name] = string(text)
	}
	return former, true, nil
}

func hasFile(list []siteconfig.File, name string) bool {
	return slices.ContainsFunc(list, func(f siteconfig.File) bool { return f.Name == name })
}

// isRival says that NetworkManager could choose a connection instead of one of the site's: it is for the same interface, or has the same
// identity, or is a wired one for any interface.
func isRival(site []siteconfig.Connection, text string) bool {
	old, err := siteconfig.File{Content: siteconfig.Secret(text)}.Connection()
	if err != nil {
		return false
	}
	return slices.ContainsFunc(site, func(c siteconfig.Connection) bool {
		wired := old.Interface == "" && (old.Type == "ethernet" || old.Type == "802-3-ethernet")
		return wired || c.Interface != "" && strings.EqualFold(c.Interface, old.Interface) || c.UUID != "" && c.UUID == old.UUID
	})
}

// restartUnit has a service that runs, or should run, read its files anew.
func restartUnit(ctx context.Context, units host.Units, unit string) error {
	s, err := units.State(ctx, unit)
	if err != nil {
		return fmt.Errorf("read the state of %s: %w", unit, err)
	}
	if !s.Exists() {
		return nil
	}
	if err := units.Stop(ctx, unit); err != nil {
		return fmt.Errorf("stop %s: %w", unit, err)
	}
	if err := units.Start(ctx, unit); err != nil {
		return fmt.Errorf("start %s: %w", unit, err)
	}
	return nil
}
