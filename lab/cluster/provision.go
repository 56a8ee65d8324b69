package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/nodefiles"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// Site names one lab node and where it stands.
type Site = site.Site

// Provisioning says which node to furnish and with what.
type Provisioning struct {
	Etc string // the node's /etc, mounted somewhere; must exist
	Var string // the node's /var, mounted somewhere; must exist
	// BinDir holds the programs of the node and its image, and lca-cli and lifecycle-agent when they are built: build/bin.
	BinDir string
	OutDir string // receives the outside user's "kubeconfig"
	Node   Site   // zero fields take the lab's defaults
	Agent  Agent  // Kubelet when empty

	ModuleDir string       // root of the product's module; found by the go command when empty
	CacheDir  string       // prepared states; ModuleDir/build/lab/cache when empty
	Log       *slog.Logger // discards when nil
}

// Provision writes everything that makes the node a control plane: keys and certificates, manifests, units, the etcd database and
// the binaries. The state is prepared once for each site and version of the lab and kept in CacheDir; afterwards a call only
// copies. The node must not be running.
func Provision(ctx context.Context, p Provisioning) error {
	if err := p.complete(ctx); err != nil {
		return err
	}
	state, err := p.preparedState(ctx)
	if err != nil {
		return err
	}
	for _, part := range []struct{ src, dst string }{{"etc", p.Etc}, {"var", p.Var}, {"out", p.OutDir}} {
		if err := nodefiles.CopyTree(filepath.Join(state, part.src), part.dst); err != nil {
			return fmt.Errorf("copy the prepared %s to the node: %w", part.src, err)
		}
	}
	if err := p.Agent.furnish(&p); err != nil {
		return fmt.Errorf("furnish a node with %s: %w", p.Agent, err)
	}
	return p.copyBinaries()
}

// complete fills in what was left out and checks the rest.
func (p *Provisioning) complete(ctx context.Context) error {
	p.Node = p.Node.WithDefaults()
	if err := p.Node.Validate(); err != nil {
		return err
	}
	for name, dir := range map[string]string{"Etc": p.Etc, "Var": p.Var, "BinDir": p.BinDir, "OutDir": p.OutDir} {
		if dir == "" {
			return fmt.Errorf("provision: %s is not set", name)
		}
	}
	p.Agent = cmp.Or(p.Agent, Kubelet)
	if err := p.Agent.validate(); err != nil {
		return err
	}
	if p.Log == nil {
		p.Log = slog.New(slog.DiscardHandler)
	}
	if p.ModuleDir == "" {
		out, err := exec.CommandContext(ctx, "go", "env", "GOMOD").Output()
		if err != nil {
			return fmt.Errorf("find the root of the module: %w", err)
		}
		p.ModuleDir = filepath.Dir(strings.TrimSpace(string(out)))
	}
	if p.CacheDir == "" {
		p.CacheDir = filepath.Join(p.ModuleDir, "build", "lab", "cache")
	}
	return os.MkdirAll(p.OutDir, 0o755)
}

// copyBinaries installs the programs where /usr/local/bin leads on an ostree system.
func (p *Provisioning) copyBinaries() error {
	dst := filepath.Join(p.Var, "usrlocal", "bin")
	if err := os.MkdirAll(dst, 0o755); err != nil {
		return fmt.Errorf("make the node's /usr/local/bin: %w", err)
	}
	for _, bin := range p.Agent.programs() {
		err := nodefiles.CopyFile(filepath.Join(p.BinDir, bin.name), filepath.Join(dst, bin.name), 0o755)
		if bin.optional && errors.Is(err, fs.ErrNotExist) {
			p.Log.Warn("the node gets no copy of a program that is not built", "program", bin.name)
			continue
		}
		if err != nil {
			return fmt.Errorf("install %s on the node: %w", bin.name, err)
		}
	}
	return nil
}

// now is the moment all certificates of one preparation are made.
func now() time.Time { return time.Now().Truncate(time.Second) }
