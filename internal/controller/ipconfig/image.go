package ipconfig

import (
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// cacheImage has lca-cli fetch the image that was chosen for recert while the node is at rest: when the change comes, the
// network may be one that reaches no registry. What is on the node is said in an annotation; a change looks for itself.
func (r *Reconciler) cacheImage(ctx context.Context, ipc *lcav1.IPConfig, o observation) error {
	have, want := ipconfig.CachedImage(r.Node.Files), r.recertImage(ipc)
	if have != "" && have == want {
		r.fetching.reset()
	}
	if have != "" && ipc.Annotations[lcav1.RecertImageCachedAnnotation] != have {
		return r.sayCached(ctx, ipc, have)
	}
	if want == "" || want == have {
		return nil
	}
	if problem := ipconfig.CheckImage(want); problem != nil {
		return nil //nolint:nilerr // a change is refused for it, with this sentence; at rest there is nothing to fetch
	}
	unit, err := r.Node.Units.State(ctx, host.UnitRecertImage)
	if err != nil {
		return fmt.Errorf("look at %s: %w", host.UnitRecertImage, err)
	}
	if unit.Running() || !r.fetching.ready(o.now) {
		return nil
	}
	if unit.Active == "failed" {
		r.emit(ctx, ipc, imageNotCached(want, howItEnded(host.UnitRecertImage, unit, ""), o.now))
	}
	if err := r.installCLI(); err != nil {
		return err
	}
	argv := []string{"fetch-recert-image", "--image", want}
	if secret := ipc.Annotations[lcav1.RecertPullSecretAnnotation]; secret != "" {
		argv = append(argv, "--pull-secret", secret)
	}
	return r.again(ctx, o, &r.fetching, host.UnitRecertImage, argv...)
}

// sayCached writes the annotation.
func (r *Reconciler) sayCached(ctx context.Context, ipc *lcav1.IPConfig, image string) error {
	base := ipc.DeepCopy()
	if ipc.Annotations == nil {
		ipc.Annotations = map[string]string{}
	}
	ipc.Annotations[lcav1.RecertImageCachedAnnotation] = image
	if err := r.Client.Patch(ctx, ipc, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("annotate ipconfig %s with the cached image: %w", ipc.Name, err)
	}
	return nil
}

// imageNotCached is told every ten minutes at most.
func imageNotCached(image, why string, now time.Time) notice {
	note := fmt.Sprintf("The image %s could not be fetched ahead of a change, trying again: %s", image, why)
	return notice{corev1.EventTypeWarning, "RecertImageNotCached", "FetchImage", note, now.Truncate(retold)}
}
