package main

import (
	"context"
	"fmt"
	"log/slog"
	"maps"
	"net/netip"
	"os"
	"runtime"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/util/retry"
)

const (
	leaseEvery  = 10 * time.Second
	statusEvery = time.Minute
)

// registrar keeps the Node object, its Lease and the mirror pods.
type registrar struct {
	clients kubernetes.Interface
	name    string
	ips     []netip.Addr
	pods    []staticPod
	log     *slog.Logger
	started time.Time
}

// register makes the node known and Ready.
func (r *registrar) register(ctx context.Context) error {
	if err := r.ensureNode(ctx); err != nil {
		return fmt.Errorf("register the node %s: %w", r.name, err)
	}
	if err := r.renewLease(ctx); err != nil {
		return fmt.Errorf("renew the lease of node %s: %w", r.name, err)
	}
	if err := r.mirror(ctx); err != nil {
		return fmt.Errorf("mirror the static pods of node %s: %w", r.name, err)
	}
	return nil
}

// heartbeat renews the lease and now and then everything else, until ctx ends. A missing object is made again.
func (r *registrar) heartbeat(ctx context.Context) {
	tick := time.NewTicker(leaseEvery)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		err := r.renewLease(ctx)
		if err == nil && time.Since(last) >= statusEvery {
			err = r.register(ctx)
			last = time.Now()
		}
		if err != nil && ctx.Err() == nil {
			r.log.Warn("heartbeat failed", "error", err)
			last = time.Time{} // the API may have lost the node: register fully next time
		}
	}
}

func (r *registrar) ensureNode(ctx context.Context) error {
	nodes := r.clients.CoreV1().Nodes()
	return retry.OnError(retry.DefaultBackoff, apierrors.IsConflict, func() error {
		node, err := nodes.Get(ctx, r.name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			node, err = nodes.Create(ctx, r.newNode(), metav1.CreateOptions{})
		}
		if err != nil {
			return err
		}
		r.setStatus(node)
		if node, err = nodes.UpdateStatus(ctx, node, metav1.UpdateOptions{}); err != nil {
			return err
		}
		if !r.adjust(node) {
			return nil
		}
		_, err = nodes.Update(ctx, node, metav1.UpdateOptions{})
		return err
	})
}

func (r *registrar) labels() map[string]string {
	return map[string]string{
		"kubernetes.io/hostname": r.name, "kubernetes.io/os": "linux", "kubernetes.io/arch": runtime.GOARCH,
		"node-role.kubernetes.io/control-plane": "", "node-role.kubernetes.io/master": "", "node-role.kubernetes.io/worker": "",
		"node.openshift.io/os_id": "rhel",
	}
}

func (r *registrar) newNode() *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: r.name, Labels: r.labels()}}
}

// adjust corrects the labels and takes away the taint that admission puts on a new node and a controller, which the lab has
// none of, would remove once the node is Ready. It tells whether anything changed.
func (r *registrar) adjust(node *corev1.Node) bool {
	labels := maps.Clone(node.Labels)
	if labels == nil {
		labels = map[string]string{}
	}
	maps.Copy(labels, r.labels())
	var taints []corev1.Taint
	for _, t := range node.Spec.Taints {
		if t.Key != corev1.TaintNodeNotReady {
			taints = append(taints, t)
		}
	}
	if maps.Equal(labels, node.Labels) && len(taints) == len(node.Spec.Taints) {
		return false
	}
	node.Labels, node.Spec.Taints = labels, taints
	return true
}

func (r *registrar) setStatus(node *corev1.Node) {
	s := &node.Status
	s.Addresses = nil
	for _, ip := range r.ips {
		s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeInternalIP, Address: ip.String()})
	}
	s.Addresses = append(s.Addresses, corev1.NodeAddress{Type: corev1.NodeHostName, Address: r.name})
	s.Capacity = corev1.ResourceList{
		corev1.ResourceCPU:    *resource.NewQuantity(int64(runtime.NumCPU()), resource.DecimalSI),
		corev1.ResourceMemory: resource.MustParse("16Gi"), corev1.ResourcePods: resource.MustParse("250"),
	}
	s.Allocatable = s.Capacity
	s.NodeInfo = corev1.NodeSystemInfo{OperatingSystem: "linux", Architecture: runtime.GOARCH, KubeletVersion: "v1.35.4",
		MachineID: systemID("/etc/machine-id"), BootID: systemID("/proc/sys/kernel/random/boot_id"), KernelVersion: systemID("/proc/sys/kernel/osrelease"),
		OSImage: "lifecycle-agent lab node", ContainerRuntimeVersion: "none://0"}
	for _, c := range []corev1.NodeCondition{
		{Type: corev1.NodeMemoryPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientMemory", Message: "kubelet has sufficient memory available"},
		{Type: corev1.NodeDiskPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasNoDiskPressure", Message: "kubelet has no disk pressure"},
		{Type: corev1.NodePIDPressure, Status: corev1.ConditionFalse, Reason: "KubeletHasSufficientPID", Message: "kubelet has sufficient PID available"},
		{Type: corev1.NodeReady, Status: corev1.ConditionTrue, Reason: "KubeletReady", Message: "kubelet is posting ready status"},
	} {
		setCondition(s, c)
	}
}

// setCondition replaces a condition, keeping the time of its last change when its status stays.
func setCondition(s *corev1.NodeStatus, c corev1.NodeCondition) {
	now := metav1.Now()
	c.LastHeartbeatTime, c.LastTransitionTime = now, now
	for i, old := range s.Conditions {
		if old.Type == c.Type {
			if old.Status == c.Status {
				c.LastTransitionTime = old.LastTransitionTime
			}
			s.Conditions[i] = c
			return
		}
	}
	s.Conditions = append(s.Conditions, c)
}

// systemID reads a one-line fact of the machine; a missing one is reported as empty, as nothing depends on it.
func systemID(file string) string {
	text, err := os.ReadFile(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(text))
}
