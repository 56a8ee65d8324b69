package stateroot

import (
	"context"
	"fmt"
	"log/slog"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Mirror copies the state of one stateroot into another: /var, /etc and the deployment's origin.
type Mirror struct {
	Trees host.Trees
	Files host.Files
	Log   *slog.Logger
	Pair  Pair
	// Skip lists paths below /var that are left out.
	Skip []string
}

// always lists what is copied even where size and time are unchanged: etcd's data and the product's own records
// decide what the new cluster is.
var always = []string{"lib/etcd", "lib/lca"}

// The record of a stateroot stays with it, also where /var and /etc are copied: a copy gets its own.
const (
	RecordInVar = "lib/lca/stateroot.json"
	RecordInEtc = "lifecycle-agent/stateroot.json"
)

// CopyLive copies the bulk of /var while the cluster runs, so that the outage does not depend on its size.
func CopyLive(m Mirror) flow.Step {
	return flow.Step{
		Name: StepCopyLive, Title: "Copy the state while the cluster runs",
		Do: func(ctx context.Context) error {
			r := m.stateRequest()
			r.Live = true
			return m.copyTree(ctx, r)
		},
		// Before anything else of the stateroot is undone: on a disk that the copy has filled, ostree cannot even
		// write the boot menu.
		Undo: func(context.Context) error {
			dir := host.InVar(m.Pair.New, "/var")
			if err := m.Files.Remove(dir); err != nil {
				return fmt.Errorf("remove the copy in %s: %w", dir, err)
			}
			return nil
		},
	}
}

// CopyFinal copies the differences that arose since CopyLive, now that the cluster is stopped, and the /etc and the
// origin of the running deployment. It has no undo: Clone's removes the whole stateroot.
func CopyFinal(m Mirror, d host.Deployments) flow.Step {
	return flow.Step{
		Name: StepCopyFinal, Title: "Copy what changed since",
		Do: func(ctx context.Context) error { return m.finishCopy(ctx, d) },
	}
}

func (m Mirror) finishCopy(ctx context.Context, d host.Deployments) error {
	old, target, err := m.Pair.Deployments(ctx, d)
	if err != nil {
		return err
	}
	if err := m.copyTree(ctx, m.stateRequest()); err != nil {
		return err
	}
	etc := host.CopyRequest{From: old.InDeployment("/etc"), To: target.InDeployment("/etc"), Skip: []string{RecordInEtc}}
	if err := m.copyTree(ctx, etc); err != nil {
		return err
	}
	origin, err := m.Files.Read(old.Origin())
	if err != nil {
		return fmt.Errorf("read the deployment's origin: %w", err)
	}
	if err := m.Files.Write(target.Origin(), origin, 0o644); err != nil {
		return fmt.Errorf("write the new deployment's origin: %w", err)
	}
	return nil
}

func (m Mirror) stateRequest() host.CopyRequest {
	return host.CopyRequest{
		From: host.InVar(m.Pair.Old, "/var"), To: host.InVar(m.Pair.New, "/var"),
		Skip: append(slices.Clone(m.Skip), RecordInVar), Always: always,
	}
}

func (m Mirror) copyTree(ctx context.Context, r host.CopyRequest) error {
	stats, err := m.Trees.Mirror(ctx, r)
	if err != nil {
		return fmt.Errorf("copy %s to %s: %w", r.From, r.To, err)
	}
	m.Log.Info("copied", "from", r.From, "files", stats.Files, "copied", stats.Copied,
		"removed", stats.Removed, "bytes", stats.Bytes, "reflinked", stats.Reflinked, "took", stats.Took)
	return nil
}
