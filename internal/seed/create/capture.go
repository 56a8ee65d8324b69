package create

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// copyLive copies the bulk of /var, so that the cluster is down for the differences alone.
func (g *generation) copyLive(ctx context.Context) error {
	r, err := g.varCopyRequest()
	if err != nil {
		return err
	}
	r.Live = true
	_, err = g.mirrorTree(ctx, r)
	return err
}

// captureState completes the copy while the cluster is down, flushes it, and says so.
func (g *generation) captureState(ctx context.Context) error {
	r, err := g.varCopyRequest()
	if err != nil {
		return err
	}
	stats, err := g.mirrorTree(ctx, r)
	if err != nil {
		return err
	}
	etc := host.CopyRequest{From: "/etc", To: path.Join(g.systemDir(), "etc"), Skip: []string{stateroot.RecordInEtc}}
	if _, err := g.mirrorTree(ctx, etc); err != nil {
		return err
	}
	if err := g.Trees.Sync(g.copyDir()); err != nil {
		return fmt.Errorf("flush the copy to the disk: %w", err)
	}
	return operation.WriteJSON(g.Files, g.markFile(), capturedMark{Reflinked: stats.Reflinked})
}

// varCopyRequest is the copy of /var. What is emptied keeps its folder and what a MachineConfig put there.
func (g *generation) varCopyRequest() (host.CopyRequest, error) {
	r := host.CopyRequest{
		From: host.InVar(g.booted.Stateroot, "/var"), To: path.Join(g.systemDir(), "var"), Skip: slices.Clone(leftOut),
		Always: []string{"lib/etcd"},
	}
	owned, err := g.ownedFiles()
	if err != nil {
		return r, err
	}
	for _, dir := range emptied {
		skip, err := g.listUnowned(dir, owned)
		if err != nil {
			return r, err
		}
		r.Skip = append(r.Skip, skip...)
	}
	return r, nil
}

// ownedFiles are the files below /var that a MachineConfig wrote, relative to it.
func (g *generation) ownedFiles() (list []string, err error) {
	config, err := bringup.ReadMachineConfig(g.Files)
	if err != nil {
		return nil, err
	}
	for file := range config.Owned {
		if rel, ok := strings.CutPrefix(file, "/var/"); ok {
			list = append(list, rel)
		}
	}
	slices.Sort(list)
	return list, nil
}

// listUnowned lists what is in the folder and not owned.
func (g *generation) listUnowned(dir string, owned []string) (list []string, err error) {
	names, err := g.Files.List(path.Join(host.InVar(g.booted.Stateroot, "/var"), dir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("list /var/%s: %w", dir, err)
	}
	for _, name := range names {
		at := path.Join(dir, name)
		keeps := slices.ContainsFunc(owned, func(o string) bool { return o == at || strings.HasPrefix(o, at+"/") })
		if !keeps {
			list = append(list, at)
		}
	}
	return list, nil
}

func (g *generation) mirrorTree(ctx context.Context, r host.CopyRequest) (host.CopyStats, error) {
	stats, err := g.Trees.Mirror(ctx, r)
	if err != nil {
		return stats, fmt.Errorf("copy %s: %w", r.From, err)
	}
	g.Log.Info("copied", "from", r.From, "files", stats.Files, "bytes", stats.Bytes, "reflinked", stats.Reflinked, "took", stats.Took)
	return stats, nil
}
