package cluster

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// RunningImage is an image that a pod needs.
type RunningImage struct {
	// Pod is its namespace and name, Image what its specification names.
	Pod, Image string
	// ID is the runtime's name for the image; empty where no container of it has started.
	ID string
	// Always: it is pulled at each start.
	Always bool
}

// RunningImages lists what the pods that have not ended need, init containers included.
func RunningImages(ctx context.Context, r kube.Reader) (out []RunningImage, err error) {
	var pods corev1.PodList
	if err := r.List(ctx, &pods); err != nil {
		return nil, fmt.Errorf("list pods: %w", err)
	}
	for i := range pods.Items {
		p := &pods.Items[i]
		if p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed {
			continue
		}
		ids := map[string]string{}
		for _, list := range [][]corev1.ContainerStatus{p.Status.InitContainerStatuses, p.Status.ContainerStatuses} {
			for _, s := range list {
				ids[s.Name] = s.ImageID
			}
		}
		for _, list := range [][]corev1.Container{p.Spec.InitContainers, p.Spec.Containers} {
			for _, c := range list {
				out = append(out, RunningImage{Pod: p.Namespace + "/" + p.Name, Image: c.Image, ID: ids[c.Name],
					Always: c.ImagePullPolicy == corev1.PullAlways})
			}
		}
	}
	return out, nil
}
