package rehearsal

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// rehearsal is one on its way.
type rehearsal struct {
	Ports
	request Request
}

// Plan lists the steps. There is no commit point: whatever ends the rehearsal early, everything that it made is removed. What turns out not
// to work is a finding, and the rehearsal continues with what does not depend on it.
func Plan(n Ports, r Request) flow.Plan {
	h := &rehearsal{n, r}
	return flow.Plan{
		Name: Flow, MaxAttempts: maxAttempts,
		Steps: []flow.Step{
			{Name: StepPrepare, Title: "Have a reboot remove what is left", Do: h.prepareRemoval, Undo: h.forgetRemoval},
			{Name: StepCopy, Title: "Copy the configuration", Do: h.copyConfiguration, Undo: h.removeCopy},
			// Its undo is that of copy-configuration.
			{Name: StepStore, Title: "Copy the etcd of the running cluster", Do: h.copyStore},
			// Its undo is that of copy-configuration.
			{Name: StepRewrite, Title: "Rewrite certificates and cluster state of the copy", Do: h.rewriteCopy},
			{Name: StepRun, Title: "Start the control plane of the copy", Do: h.runCopy, Undo: n.removeControlPlane},
			{Name: StepRemove, Title: "Remove the copy", Again: true, Do: h.removeEverything},
		},
	}
}

// prepareRemoval begins the report, and has systemd-tmpfiles remove at boot what a power cut would leave, request included.
func (h *rehearsal) prepareRemoval(context.Context) error {
	lines := "# Removes what a rehearsal has left that a power cut ended.\n" +
		"R! " + Dir + "\nr! " + RequestFile + "\nr! " + removalFile + "\n"
	if err := h.Files.Write(removalFile, []byte(lines), 0o644); err != nil {
		return fmt.Errorf("write %s: %w", removalFile, err)
	}
	return h.beginReport()
}

func (h *rehearsal) forgetRemoval(context.Context) error {
	if err := h.Files.Remove(removalFile); err != nil {
		return fmt.Errorf("remove %s: %w", removalFile, err)
	}
	return nil
}

// copyRequests are the folders that recert and the control plane read. Volumes of pods are other file systems.
func copyRequests() []host.CopyRequest {
	return []host.CopyRequest{
		{From: "/etc", To: Root + "/etc", Skip: []string{stateroot.RecordInEtc}, Live: true},
		{From: "/var/lib/kubelet", To: Root + "/var/lib/kubelet", Live: true,
			Skip: []string{"pods", "plugins", "plugins_registry", "device-plugins", "pod-resources", "checkpoints"}},
	}
}

func (h *rehearsal) copyConfiguration(ctx context.Context) error {
	if err := h.removeCopy(ctx); err != nil {
		return err
	}
	return h.prove(ctx, ProofCopy, func(ctx context.Context) (string, error) {
		if err := h.requireDisk(ctx); err != nil {
			return "", err
		}
		files := 0
		for _, r := range copyRequests() {
			stats, err := h.Trees.Mirror(ctx, r)
			if err != nil {
				return "", fmt.Errorf("copy %s: %w", r.From, err)
			}
			files += stats.Files
		}
		return fmt.Sprintf("%d files", files), nil
	})
}

func (h *rehearsal) copyStore(ctx context.Context) error {
	return h.prove(ctx, ProofStore, func(ctx context.Context) (string, error) {
		return "as a power cut would leave it", h.ControlPlane.CopyStore(ctx, Root)
	})
}

// rewriteCopy has recert do to the copy what it would do to the new stateroot.
func (h *rehearsal) rewriteCopy(ctx context.Context) error {
	return h.prove(ctx, ProofRecert, func(ctx context.Context) (string, error) {
		if err := change.PrepareRecert(ctx, h.Ports.Ports, h.request.Change, h.Copies.Files(Root)); err != nil {
			return "", err
		}
		if err := h.Copies.Recert(Root).Run(ctx, host.RecertConfig); err != nil {
			return "", fmt.Errorf("recert: %w", err)
		}
		return "by the native engine", nil
	})
}

// removeCopy removes the copy, which has every key of the cluster.
func (h *rehearsal) removeCopy(context.Context) error {
	if err := h.Files.Remove(Dir); err != nil {
		return fmt.Errorf("remove the copy: %w", err)
	}
	return nil
}

func (n Ports) removeControlPlane(ctx context.Context) error {
	return n.ControlPlane.Remove(context.WithoutCancel(ctx))
}

// removeEverything removes what the undo of each step would.
func (h *rehearsal) removeEverything(ctx context.Context) error {
	return errors.Join(h.removeControlPlane(ctx), h.removeCopy(ctx), h.forgetRemoval(ctx))
}
