package cluster

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/nodefiles"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// maxAge bounds how old a prepared state may be: its shortest certificates live thirty days.
const maxAge = 7 * pki.Day

// preparedState returns the directory with the prepared etc, var and out of the site, making it when the cache has none.
func (p *Provisioning) preparedState(ctx context.Context) (string, error) {
	src, err := findSources(ctx, p.ModuleDir)
	if err != nil {
		return "", err
	}
	key, err := cacheKey(p.Node, p.ModuleDir, src.sum)
	if err != nil {
		return "", err
	}
	final := filepath.Join(p.CacheDir, key)
	if info, err := os.Stat(final); err == nil && time.Since(info.ModTime()) < maxAge {
		return final, nil
	}
	if err := os.RemoveAll(final); err != nil {
		return "", fmt.Errorf("drop an outdated prepared state: %w", err)
	}
	if err := os.MkdirAll(p.CacheDir, 0o755); err != nil {
		return "", fmt.Errorf("make the cache: %w", err)
	}
	if err := prune(p.CacheDir); err != nil {
		return "", err
	}
	work, err := os.MkdirTemp(p.CacheDir, "preparing-")
	if err != nil {
		return "", fmt.Errorf("make a scratch directory: %w", err)
	}
	defer os.RemoveAll(work)
	p.Log.Info("preparing the control plane's state", "site", p.Node.Hostname, "address", p.Node.Primary().String())
	if err := p.prepare(ctx, work, src); err != nil {
		return "", err
	}
	// Somebody else may have finished the same state meanwhile; either serves.
	if err := os.Rename(filepath.Join(work, "state"), final); err != nil && !errors.Is(err, fs.ErrExist) {
		return "", fmt.Errorf("keep the prepared state: %w", err)
	}
	return final, nil
}

// prune drops all but the newest few prepared states: each takes some 65 MB, and a change of this package makes a new one.
func prune(cache string) error {
	const keep = 4
	entries, err := filepath.Glob(filepath.Join(cache, "[0-9a-f]*"))
	if err != nil || len(entries) <= keep {
		return err
	}
	age := map[string]time.Time{}
	for _, entry := range entries {
		if info, err := os.Stat(entry); err == nil {
			age[entry] = info.ModTime()
		}
	}
	slices.SortFunc(entries, func(a, b string) int { return age[b].Compare(age[a]) })
	for _, entry := range entries[keep:] {
		if err := os.RemoveAll(entry); err != nil {
			return fmt.Errorf("drop an old prepared state: %w", err)
		}
	}
	return nil
}

// prepare builds the state in work/state; work itself holds scratch files.
func (p *Provisioning) prepare(ctx context.Context, work string, src sources) error {
	state := filepath.Join(work, "state")
	etc, varDir, out := filepath.Join(state, "etc"), filepath.Join(state, "var"), filepath.Join(state, "out")
	dataDir := filepath.Join(varDir, "lib", "etcd")
	for _, dir := range []string{etc, out, dataDir} {
		if err := os.MkdirAll(dir, 0o755); err != nil {
			return fmt.Errorf("make %s: %w", dir, err)
		}
	}
	if err := os.Chmod(dataDir, 0o700); err != nil {
		return fmt.Errorf("close etcd's directory: %w", err)
	}
	id, err := pki.NewIdentity(p.Node, now())
	if err != nil {
		return err
	}
	tx, err := documents.NewTexts(p.Node)
	if err != nil {
		return err
	}
	mc, err := documents.NewMachineConfigs(p.Node)
	if err != nil {
		return err
	}
	run := preparation{binDir: p.BinDir, workDir: work, dataDir: dataDir, src: src, site: p.Node, id: id, texts: tx, mc: mc, log: p.Log}
	if err := run.run(ctx); err != nil {
		return err
	}
	files, err := nodefiles.New(p.Node, id, run.texts, mc) // after the run: a file is named after etcd's member
	if err != nil {
		return err
	}
	if err := files.Write(etc, varDir); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(out, "kubeconfig"), pki.OutsideKubeconfig(p.Node, id), 0o600); err != nil {
		return fmt.Errorf("write the outside kubeconfig: %w", err)
	}
	return nil
}

// cacheKey hashes all that decides what the prepared state is: the site, the manifests of others, this package's sources and the pinned
// versions of the control plane.
func cacheKey(s site.Site, moduleDir, srcSum string) (string, error) {
	site, err := json.Marshal(s)
	if err != nil {
		return "", fmt.Errorf("encode the site: %w", err)
	}
	hash := sha256.New()
	fmt.Fprintf(hash, "%s\n%s\n", site, srcSum)
	own := filepath.Join(moduleDir, "lab", "cluster")
	err = filepath.WalkDir(own, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || strings.HasSuffix(path, "_test.go") {
			return err
		}
		return hashFile(hash, own, path)
	})
	if err != nil {
		return "", fmt.Errorf("hash the lab's sources: %w", err)
	}
	if err := hashFile(hash, moduleDir, filepath.Join(moduleDir, "tools", "controlplane", "go.mod")); err != nil {
		return "", fmt.Errorf("hash the control plane's versions: %w", err)
	}
	return fmt.Sprintf("%x", hash.Sum(nil))[:20], nil
}

func hashFile(hash io.Writer, base, path string) error {
	text, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	rel, err := filepath.Rel(base, path)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(hash, "%s %x\n", filepath.ToSlash(rel), sha256.Sum256(text))
	return err
}
