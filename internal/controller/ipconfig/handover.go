package ipconfig

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// handOver gives the request to lca-cli. Each part can be done again; the request
// is written last of the files and from then on is the operation.
func (r *Reconciler) handOver(ctx context.Context, ipc *lcav1.IPConfig, o observation) error {
	if err := r.installCLI(); err != nil {
		return err
	}
	if err := r.save(ipc); err != nil {
		return err
	}
	request := ipconfig.BuildRequest(ipc.Status.OperationID, o.booted.Stateroot, ipc.Spec, o.current)
	request.PullSecretRefName = ipc.Annotations[lcav1.RecertPullSecretAnnotation]
	post := ipconfig.PostPivotConfig{RecertImage: r.recertImage(ipc)}
	if err := ipconfig.WriteRequest(r.Node.Files, request, post, ipconfig.AutoRollbackFor(ipc)); err != nil {
		return err
	}
	r.preparing.reset()
	r.preparing.began(o.now)
	return r.launch(ctx, host.UnitPrePivot, "pre-pivot")
}

// recertImage is the image that the annotation asks the container engine to run, by default the one
// the operator was shipped with. Empty means the native engine, which needs none.
func (r *Reconciler) recertImage(ipc *lcav1.IPConfig) string {
	image, asked := ipc.Annotations[lcav1.RecertImageAnnotation]
	if asked && image == "" {
		return cmp.Or(r.RecertImage, "(none named)")
	}
	return image
}

// save exports the object to ipc.json, from which it is restored should it be lost
// while an operation runs.
func (r *Reconciler) save(ipc *lcav1.IPConfig) error {
	out := ipc.DeepCopy()
	out.APIVersion, out.Kind = lcav1.GroupVersion.String(), "IPConfig"
	out.ManagedFields, out.ResourceVersion, out.UID = nil, "", ""
	data, err := json.MarshalIndent(out, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", host.SavedIPConfig, err)
	}
	if err := r.Node.Files.Write(host.SavedIPConfig, data, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", host.SavedIPConfig, err)
	}
	return nil
}

// installCLI puts the lca-cli that this operator was built with onto the node. Without
// one (the operator runs on the node itself) the node has its own.
func (r *Reconciler) installCLI() error {
	if r.CLI == nil {
		return nil
	}
	want, err := r.CLI()
	if err != nil {
		return fmt.Errorf("read the lca-cli of the operator: %w", err)
	}
	if have, err := r.Node.Files.Read(host.CLIInVar); err == nil && bytes.Equal(have, want) {
		return nil
	}
	if err := r.Node.Files.Write(host.CLIInVar, want, 0o755); err != nil {
		return fmt.Errorf("install %s: %w", host.CLIInVar, err)
	}
	return nil
}
