package cluster

import (
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func TestImagesOfThePodsThatHaveNotEnded(t *testing.T) {
	pod := func(name string, phase corev1.PodPhase) *corev1.Pod {
		return &corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: name},
			Spec: corev1.PodSpec{InitContainers: []corev1.Container{{Name: "i", Image: "init:1"}},
				Containers: []corev1.Container{{Name: "c", Image: "main:1", ImagePullPolicy: corev1.PullAlways}}},
			Status: corev1.PodStatus{Phase: phase, ContainerStatuses: []corev1.ContainerStatus{{Name: "c", ImageID: "main@sha256:1"}}},
		}
	}
	got, err := RunningImages(t.Context(), api(t, nil, pod("a", corev1.PodRunning), pod("b", corev1.PodSucceeded), pod("c", corev1.PodFailed)))
	require.NoError(t, err)
	require.Equal(t, []RunningImage{{Pod: "ns/a", Image: "init:1"}, {Pod: "ns/a", Image: "main:1", ID: "main@sha256:1", Always: true}}, got)
}
