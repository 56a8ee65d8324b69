package cluster

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"

	corev1 "k8s.io/api/core/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// Labels by which OpenShift marks the role of a node.
const (
	LabelControlPlane = "node-role.kubernetes.io/control-plane"
	LabelMaster       = "node-role.kubernetes.io/master"
	LabelWorker       = "node-role.kubernetes.io/worker"
)

// ErrNoNode says that the API has no control-plane node, as for a short time after recert, until the kubelet has registered
// again.
var ErrNoNode = errors.New("no control-plane node is registered in the API")

// TopologyError says why a cluster is not supported.
type TopologyError struct {
	ControlPlane, Workers int
}

func (e *TopologyError) Error() string {
	if e.ControlPlane > 1 {
		return fmt.Sprintf("the cluster has %d control-plane nodes; only single-node clusters are supported", e.ControlPlane)
	}
	return fmt.Sprintf("the cluster has %d worker node(s) beside its control-plane node; "+
		"only single-node clusters without further workers are supported, because the workers would not follow the change", e.Workers)
}

// SingleNode returns the one node of a single-node cluster. Where there are more nodes, the
// error is a *TopologyError; the control-plane node is returned beside it if there is only
// one, so that its state can still be shown. ErrNoNode: none is registered.
func SingleNode(ctx context.Context, r kube.Reader) (*corev1.Node, error) {
	var nodes corev1.NodeList
	if err := r.List(ctx, &nodes); err != nil {
		return nil, fmt.Errorf("list nodes: %w", err)
	}
	var control []*corev1.Node
	for i := range nodes.Items {
		if IsControlPlane(&nodes.Items[i]) {
			control = append(control, &nodes.Items[i])
		}
	}
	workers := len(nodes.Items) - len(control)
	switch {
	case len(control) == 0:
		return nil, ErrNoNode
	case len(control) > 1:
		return nil, &TopologyError{ControlPlane: len(control), Workers: workers}
	case workers > 0:
		return control[0], &TopologyError{ControlPlane: 1, Workers: workers}
	}
	return control[0], nil
}

// IsControlPlane reports whether the node has the role, by its labels, old or new.
func IsControlPlane(n *corev1.Node) bool {
	_, control := n.Labels[LabelControlPlane]
	_, master := n.Labels[LabelMaster]
	return control || master
}

// ReadyInBoot says whether kubelet has reported the node Ready since the boot of the given id. A Node object outlives
// reboots, and its Ready condition with it; its boot id says in which boot it was written.
func ReadyInBoot(n *corev1.Node, boot string) error {
	if !strings.EqualFold(n.Status.NodeInfo.BootID, boot) {
		return fmt.Errorf("kubelet has not reported node %s since this boot", n.Name)
	}
	for _, c := range n.Status.Conditions {
		if c.Type != corev1.NodeReady {
			continue
		}
		if c.Status == corev1.ConditionTrue {
			return nil
		}
		return fmt.Errorf("node %s is not Ready: %s: %s", n.Name, c.Reason, c.Message)
	}
	return fmt.Errorf("node %s has no Ready condition", n.Name)
}

// InternalIPs returns the node's InternalIP addresses in the order in which
// the node reports them: the first one's family is the cluster's primary family.
func InternalIPs(n *corev1.Node) []netip.Addr {
	var addrs []netip.Addr
	for _, a := range n.Status.Addresses {
		if a.Type != corev1.NodeInternalIP {
			continue
		}
		if ip, err := netip.ParseAddr(a.Address); err == nil {
			addrs = append(addrs, ip.Unmap())
		}
	}
	return addrs
}

// firstOf returns the first address of a family (4 or 6), or the zero Addr.
func firstOf(addrs []netip.Addr, family int) netip.Addr {
	for _, a := range addrs {
		if a.Is4() == (family == 4) {
			return a
		}
	}
	return netip.Addr{}
}

// Addresses is the node's first address of each family with the machine network that contains it; nil
// for a family it does not have.
func Addresses(node *corev1.Node, ic InstallConfig) (v4, v6 *lcav1.IPStatus) {
	all := InternalIPs(node)
	of := func(family int) *lcav1.IPStatus {
		addr := firstOf(all, family)
		if !addr.IsValid() {
			return nil
		}
		s := &lcav1.IPStatus{Address: addr.String()}
		if network, ok := ic.MachineNetworkOf(addr); ok {
			s.MachineNetwork = network.String()
		}
		return s
	}
	return of(4), of(6)
}
