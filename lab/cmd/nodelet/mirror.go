package main

import (
	"context"
	"crypto/sha256"
	"fmt"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	leaseNamespace = corev1.NamespaceNodeLease
	leaseSeconds   = 40
)

// renewLease updates the node's lease, making it when it is missing.
func (r *registrar) renewLease(ctx context.Context) error {
	leases := r.clients.CoordinationV1().Leases(leaseNamespace)
	lease, err := leases.Get(ctx, r.name, metav1.GetOptions{})
	missing := apierrors.IsNotFound(err)
	if missing {
		lease = &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: r.name, Namespace: leaseNamespace}}
	} else if err != nil {
		return err
	}
	seconds, now := int32(leaseSeconds), metav1.NewMicroTime(time.Now())
	lease.Spec = coordinationv1.LeaseSpec{HolderIdentity: &r.name, LeaseDurationSeconds: &seconds, RenewTime: &now}
	if missing {
		_, err = leases.Create(ctx, lease, metav1.CreateOptions{})
		return err
	}
	_, err = leases.Update(ctx, lease, metav1.UpdateOptions{})
	return err
}

// mirror shows the static pods in the API as the kubelet does: name-node, with the hash of the manifest. A mirror of another
// manifest is replaced. Existing ones are found by listing: the node authorizer lets a node list its own pods, but get one only
// when it knows of it already.
func (r *registrar) mirror(ctx context.Context) error {
	list, err := r.clients.CoreV1().Pods("").List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName=" + r.name})
	if err != nil {
		return err
	}
	existing := map[string]*corev1.Pod{}
	for i := range list.Items {
		pod := &list.Items[i]
		existing[pod.Namespace+"/"+pod.Name] = pod
	}
	for _, p := range r.pods {
		want := r.mirrorPod(p)
		if err := r.mirrorOne(ctx, want, existing[want.Namespace+"/"+want.Name]); err != nil {
			return err
		}
	}
	return nil
}

func (r *registrar) mirrorOne(ctx context.Context, want, have *corev1.Pod) (err error) {
	pods := r.clients.CoreV1().Pods(want.Namespace)
	if have != nil && have.Annotations[corev1.MirrorPodAnnotationKey] != want.Annotations[corev1.MirrorPodAnnotationKey] {
		zero := int64(0)
		if err := pods.Delete(ctx, have.Name, metav1.DeleteOptions{GracePeriodSeconds: &zero}); err != nil {
			return err
		}
		have = nil
	}
	if have == nil {
		if have, err = pods.Create(ctx, want, metav1.CreateOptions{}); err != nil {
			return err
		}
	}
	have.Status = r.podStatus(have)
	_, err = pods.UpdateStatus(ctx, have, metav1.UpdateOptions{})
	return err
}

func (r *registrar) mirrorPod(p staticPod) *corev1.Pod {
	hash := fmt.Sprintf("%x", sha256.Sum256(p.text))[:32]
	pod := &corev1.Pod{ObjectMeta: *p.ObjectMeta.DeepCopy(), Spec: *p.Spec.DeepCopy()}
	pod.Name = p.Name + "-" + r.name
	if pod.Annotations == nil {
		pod.Annotations = map[string]string{}
	}
	pod.Annotations[corev1.MirrorPodAnnotationKey] = hash
	pod.Annotations["kubernetes.io/config.hash"] = hash
	pod.Annotations["kubernetes.io/config.source"] = "file"
	pod.Spec.NodeName = r.name
	return pod
}

func (r *registrar) podStatus(pod *corev1.Pod) corev1.PodStatus {
	ip, started := r.ips[0].String(), metav1.NewTime(r.started)
	status := corev1.PodStatus{Phase: corev1.PodRunning, HostIP: ip, PodIP: ip, StartTime: &started, QOSClass: pod.Status.QOSClass}
	for _, addr := range r.ips {
		status.PodIPs = append(status.PodIPs, corev1.PodIP{IP: addr.String()})
		status.HostIPs = append(status.HostIPs, corev1.HostIP{IP: addr.String()})
	}
	for _, kind := range []corev1.PodConditionType{corev1.PodInitialized, corev1.PodScheduled, corev1.ContainersReady, corev1.PodReady} {
		status.Conditions = append(status.Conditions, corev1.PodCondition{Type: kind, Status: corev1.ConditionTrue, LastTransitionTime: started})
	}
	for _, c := range pod.Spec.Containers {
		running := true
		status.ContainerStatuses = append(status.ContainerStatuses, corev1.ContainerStatus{Name: c.Name, Image: c.Image, Ready: true, Started: &running,
			State: corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: started}}})
	}
	return status
}
