//go:build interop

package interop

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

const (
	configHash   = "kubernetes.io/config.hash"
	configMirror = "kubernetes.io/config.mirror"
	configSource = "kubernetes.io/config.source"
)

// staticPodKubelet does a kubelet's part for the operators of static pods: it runs their installers, which are the operators' own
// programs, and mirrors the pods whose manifests they write. The pods do not run.
type staticPodKubelet struct {
	c        *labCluster
	programs map[string]string // by the name that a pod's command has
	pods     map[string]string // manifest by namespace
}

// newStaticPodKubelet mirrors the pods that a lab node has.
func newStaticPodKubelet() *staticPodKubelet {
	return &staticPodKubelet{programs: map[string]string{}, pods: map[string]string{
		"openshift-etcd": "etcd-pod.yaml", "openshift-kube-apiserver": "kube-apiserver-pod.yaml"}}
}

// start works until the returned function is called, which waits for it to rest.
func (k *staticPodKubelet) start() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	done.Go(func() {
		_ = wait.PollUntilContextCancel(ctx, 4*tick, true, func(ctx context.Context) (bool, error) {
			for namespace, manifest := range k.pods {
				k.sync(ctx, namespace, manifest)
			}
			return false, nil
		})
	})
	return func() { cancel(); done.Wait() }
}

// sync looks at one namespace; what fails is tried again with the next look.
func (k *staticPodKubelet) sync(ctx context.Context, namespace, manifest string) {
	list := &corev1.PodList{}
	if k.c.Client.List(ctx, list, client.InNamespace(namespace)) != nil {
		return
	}
	var mirror *corev1.Pod
	for _, pod := range list.Items {
		switch {
		case pod.DeletionTimestamp != nil:
			_ = k.c.Client.Delete(ctx, &pod, client.GracePeriodSeconds(0))
		case pod.Annotations[configMirror] != "":
			mirror = &pod
		case pod.Status.Phase == corev1.PodPending:
			k.runToEnd(ctx, &pod)
		}
	}
	k.mirror(ctx, namespace, manifest, mirror)
}

// runToEnd runs the program of an installer; any other pod is done at once.
func (k *staticPodKubelet) runToEnd(ctx context.Context, pod *corev1.Pod) {
	phase := corev1.PodSucceeded
	if pod.Labels["app"] == "installer" {
		if k.install(ctx, pod) != nil { // which is in the test's log; the operator tries again
			phase = corev1.PodFailed
		}
	}
	k.report(ctx, pod, phase)
}

func (k *staticPodKubelet) install(ctx context.Context, pod *corev1.Pod) error {
	container := pod.Spec.Containers[0]
	argv := append(append([]string{}, container.Command...), container.Args...)
	for i := range argv {
		argv[i] = strings.ReplaceAll(argv[i], "/etc/kubernetes", k.c.at("etc/kubernetes"))
	}
	argv[0] = k.programs[argv[0]]
	argv = k.c.inside(append(argv, "--kubeconfig="+k.c.kubeconfig())...)
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = append(os.Environ(), "POD_NAME="+pod.Name, "POD_NAMESPACE="+pod.Namespace, "NODE_NAME="+nodeName)
	out, err := cmd.CombinedOutput()
	if err != nil {
		k.c.t.Logf("installer %s failed: %v\n%s", pod.Name, err, out[max(0, len(out)-lastOutput):])
	}
	return err
}

// mirror makes the pod of a manifest visible, as it is now.
func (k *staticPodKubelet) mirror(ctx context.Context, namespace, manifest string, now *corev1.Pod) {
	text, err := os.ReadFile(k.c.at("etc/kubernetes/manifests", manifest))
	if err != nil {
		return
	}
	sum := sha256.Sum256(text)
	hash := hex.EncodeToString(sum[:])
	if now != nil && now.Annotations[configHash] == hash && now.Status.HostIP == k.c.site.Primary().String() {
		return
	}
	if now != nil {
		_ = k.c.Client.Delete(ctx, now, client.GracePeriodSeconds(0))
	}
	pod := &corev1.Pod{}
	if yaml.Unmarshal(text, pod) != nil {
		return
	}
	pod.Name, pod.Namespace, pod.Spec.NodeName = pod.Name+"-"+nodeName, namespace, nodeName
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, configHash, hash)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, configMirror, hash)
	metav1.SetMetaDataAnnotation(&pod.ObjectMeta, configSource, "file")
	if k.c.Client.Create(ctx, pod) == nil {
		k.report(ctx, pod, corev1.PodRunning)
	}
}

// report says how a pod is: a running one is ready.
func (k *staticPodKubelet) report(ctx context.Context, pod *corev1.Pod, phase corev1.PodPhase) {
	running, now, ready := phase == corev1.PodRunning, metav1.Now(), corev1.ConditionFalse
	state := corev1.ContainerState{Terminated: &corev1.ContainerStateTerminated{Reason: "Completed"}}
	if running {
		ready, state = corev1.ConditionTrue, corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: now}}
	}
	pod.Status = corev1.PodStatus{Phase: phase, StartTime: &now, HostIP: k.c.site.Primary().String(),
		Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: ready, LastTransitionTime: now}}}
	for _, container := range pod.Spec.Containers {
		pod.Status.ContainerStatuses = append(pod.Status.ContainerStatuses, corev1.ContainerStatus{Name: container.Name, Ready: running, State: state})
	}
	_ = k.c.Client.Status().Update(ctx, pod)
}

// volumes writes the Secrets and ConfigMaps that a program reads as a pod does, each to a folder of its own; the keys are their files.
func (c *labCluster) volumes(of map[string]client.Object) (dir string) {
	c.t.Helper()
	dir = c.t.TempDir()
	for folder, o := range of {
		require.NoError(c.t, c.Client.Get(c.t.Context(), client.ObjectKeyFromObject(o), o), folder)
		data := map[string][]byte{}
		switch o := o.(type) {
		case *corev1.Secret:
			data = o.Data
		case *corev1.ConfigMap:
			for name, text := range o.Data {
				data[name] = []byte(text)
			}
		}
		for name, text := range data {
			put(c.t, filepath.Join(dir, folder, name), string(text))
		}
	}
	return dir
}

// withRun runs a program in the cluster's network with a folder as its /run.
func (c *labCluster) withRun(t *testing.T, dir string, env environment, argv ...string) *process {
	t.Helper()
	const script = `mount --bind "$1" /run && shift && exec "$@"`
	return launch(t, env, c.inside(append([]string{"unshare", "--mount", "--propagation=private", "bash", "-c", script, "run", dir}, argv...)...)...)
}
