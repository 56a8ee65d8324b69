package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

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
		if err := copyTree(filepath.Join(state, part.src), part.dst); err != nil {
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
	if err := p.Node.validate(); err != nil {
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
		err := copyFile(filepath.Join(p.BinDir, bin.name), filepath.Join(dst, bin.name), 0o755)
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

// copyTree copies directories, files and links below src into dst, replacing what is there and leaving the rest.
func copyTree(src, dst string) error {
	return filepath.WalkDir(src, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(src, path)
		if err != nil {
			return err
		}
		target := filepath.Join(dst, rel)
		info, err := entry.Info()
		if err != nil {
			return err
		}
		switch {
		case entry.IsDir():
			return os.MkdirAll(target, info.Mode().Perm())
		case info.Mode()&fs.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				return err
			}
			return relink(target, link)
		}
		return copyFile(path, target, info.Mode().Perm())
	})
}

// copyFile replaces dst by a copy of src, sharing blocks where the file system can.
func copyFile(src, dst string, mode os.FileMode) error {
	in, err := os.Open(src)
	if err != nil {
		return err
	}
	defer in.Close()
	if err := os.Remove(dst); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	out, err := os.OpenFile(dst, os.O_CREATE|os.O_WRONLY|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	if _, err := io.Copy(out, in); err != nil {
		out.Close()
		return err
	}
	if err := out.Chmod(mode); err != nil {
		out.Close()
		return err
	}
	return out.Close()
}

// now is the moment all certificates of one preparation are made.
func now() time.Time { return time.Now().Truncate(time.Second) }
