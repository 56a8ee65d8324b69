//go:build lab

package scenario

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// TestRollbackBeforeCompletion asks for the way back while the new cluster is not healthy, so that the change can not complete.
func TestRollbackBeforeCompletion(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := sharedNode(t)
	degrade(ctx, t, l)
	skip := object{lcav1.SkipPreConfigurationHealthChecksAnnotation: ""}
	require.NoError(t, d.Patch(ctx, withAnnotations(move(), skip)))
	untilJournal(ctx, t, l, "a finished post-pivot", `"flow":"post-pivot","kind":"finished"`)
	ipc, err := d.Until(ctx, "a way back while the change waits for the cluster", func(ipc *lcav1.IPConfig) bool {
		next := ipc.Status.ValidNextStages
		return len(next) == 1 && next[0] == lcav1.StageRollback && ipc.Status.IPv4 != nil && ipc.Status.IPv4.Address == away.String()
	})
	require.NoError(t, err)
	require.False(t, drive.Is(lcav1.ConditionConfigCompleted)(ipc))
	require.NoError(t, d.Stage(ctx, lcav1.StageRollback))
	until(ctx, t, "the old address", func() bool { return drive.Look(ctx, l, home).API })
	heal(ctx, t, l)
	ipc, err = d.Until(ctx, "a completed rollback", drive.Is(lcav1.ConditionRollbackCompleted))
	require.NoError(t, err)
	requireBack(ctx, t, l, d, ipc)
}

// operators is what the cluster says of its own parts.
var operators = schema.GroupVersionResource{Group: "config.openshift.io", Version: "v1", Resource: "clusteroperators"}

// degrade lets one part of the cluster say that it is ill; heal takes that back, in the old system.
func degrade(ctx context.Context, t *testing.T, l *lab.Lab) { setDegraded(ctx, t, l, "True") }

func heal(ctx context.Context, t *testing.T, l *lab.Lab) { setDegraded(ctx, t, l, "False") }

// setDegraded asks until it is done: an API server that has just come back turns callers away at first.
func setDegraded(ctx context.Context, t *testing.T, l *lab.Lab, status string) {
	t.Helper()
	config, err := drive.ConfigAt(l, home)
	require.NoError(t, err)
	all, err := dynamic.NewForConfig(config)
	require.NoError(t, err)
	until(ctx, t, "part storage of the cluster with Degraded "+status, func() bool {
		err := sayDegraded(ctx, all.Resource(operators), status)
		if err != nil {
			t.Log(err)
		}
		return err == nil
	})
}

func sayDegraded(ctx context.Context, operators dynamic.ResourceInterface, status string) error {
	storage, err := operators.Get(ctx, "storage", metav1.GetOptions{})
	if err != nil {
		return err
	}
	conditions, _, err := unstructured.NestedSlice(storage.Object, "status", "conditions")
	if err != nil {
		return err
	}
	for _, c := range conditions {
		if condition := c.(map[string]any); condition["type"] == "Degraded" {
			condition["status"], condition["reason"] = status, "Scenario"
		}
	}
	if err := unstructured.SetNestedSlice(storage.Object, conditions, "status", "conditions"); err != nil {
		return err
	}
	_, err = operators.UpdateStatus(ctx, storage, metav1.UpdateOptions{})
	return err
}

// TestARebootLoopEnds cuts the power each time the new system has begun its work, until that has been tried often enough.
func TestARebootLoopEnds(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	const limit = 5 // internal/ipconfig: how often post-pivot is begun
	ctx, l, d := sharedNode(t)
	require.NoError(t, d.Patch(ctx, move()))
	for attempt := 1; attempt <= limit; attempt++ {
		begun := fmt.Sprintf(`grep -qhE '"flow":"post-pivot","kind":"intent".*"attempt":%d' /var/lib/lca/journal/*.jsonl`, attempt)
		until(ctx, t, begun, func() bool { return says(ctx, l, begun) })
		cut(ctx, t, l)
	}
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), fmt.Sprintf("given up after %d runs", limit))
	requireBack(ctx, t, l, d, ipc)
}

// says runs a shell command in the node and says whether it went well.
func says(ctx context.Context, l *lab.Lab, command string) bool {
	res, err := l.Machine.Exec(ctx, machine.Command{Argv: []string{"sh", "-c", command}})
	return err == nil && res.ExitCode == 0
}

// TestTheAPIIsAwayForMinutes takes the API server away while the change is prepared, and again when it only has to be proved.
func TestTheAPIIsAwayForMinutes(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	const minutes = 2 * time.Minute
	ctx, l, d := node(t, "scenario-no-api")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 15*time.Minute)
	defer cancel()
	require.NoError(t, d.Patch(ctx, move()))
	untilJournal(ctx, t, l, "the copy under way", `"intent","step":"copy-while-running"`)
	in(ctx, t, l, "pkill", "--signal", "STOP", "--full", "^kube-apiserver|/kube-apiserver ")
	untilJournal(ctx, t, l, "a finished post-pivot", `"flow":"post-pivot","kind":"finished"`)

	in(ctx, t, l, "sh", "-c", "mv /etc/kubernetes/manifests/kube-apiserver-pod.yaml /etc/kubernetes/kept.yaml")
	back := time.Now().Add(minutes)
	until(ctx, t, "minutes without an API", func() bool {
		require.False(t, drive.Look(ctx, l, home).Ping, "the node went back")
		return time.Now().After(back)
	})
	in(ctx, t, l, "sh", "-c", "mv /etc/kubernetes/kept.yaml /etc/kubernetes/manifests/kube-apiserver-pod.yaml")
	_, err := d.Eventually(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	require.True(t, drive.Look(ctx, l, away).API)
}

// TestAFullDiskWhilePreparing fills the file system while /var is copied. The emulated machine has a disk of its own to fill.
func TestAFullDiskWhilePreparing(t *testing.T) {
	if kind() != machine.QEMU {
		t.Skip("reason: only the emulated machine has a disk of its own to fill: make test-disk")
	}
	ctx, l, d := node(t, "scenario-full-disk")
	require.NoError(t, d.Patch(ctx, move()))
	untilJournal(ctx, t, l, "the copy under way", `"intent","step":"copy-while-running"`)
	in(ctx, t, l, "sh", "-c", "fallocate -l $(( $(df --output=avail -B1 /var | tail -1) - 4194304 )) /var/tmp/filler")
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Regexp(t, "no space left|free", drive.Summary(ipc))
	require.Equal(t, "1", in(ctx, t, l, "sh", "-c", "ls /ostree/deploy | wc -l"), "the new stateroot is gone")
	in(ctx, t, l, "rm", "/var/tmp/filler")
	requireBack(ctx, t, l, d, ipc)
	require.NoError(t, d.Patch(ctx, move()))
	_, err = d.Until(ctx, "a completed change, now that there is room", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
}
