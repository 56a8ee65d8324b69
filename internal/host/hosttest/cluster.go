package hosttest

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// StartCluster is what kubelet.service does unless Program says otherwise: br-ex comes up over the
// uplink, the node's address is written to /run, and the containers start. Whether the
// cluster then works is for ClusterUp to say.
func (n *Node) StartCluster(context.Context) error {
	n.m.Enter()
	defer n.m.Unlock()
	if !n.UnitState(host.UnitCRIO).Running() {
		return errors.New("no container runtime")
	}
	if err := n.BridgeUp(); err != nil {
		return err
	}
	if all := n.nodeAddresses(); len(all) > 0 {
		if err := n.m.WriteDurable(host.PrimaryIP, machine.Text(all[0])); err != nil {
			return err
		}
	}
	n.containers = true
	return n.StartEtcd()
}

// nodeAddresses are those that run, the primary one first: its family is that of the hint.
func (n *Node) nodeAddresses() []string {
	hint, _ := n.m.ReadFile(host.NodeIPHint)
	v6 := strings.Contains(string(hint), ":")
	var first, rest []string
	for _, a := range n.Addresses() {
		if a.Addr().Is6() == v6 {
			first = append(first, a.Addr().String())
		} else {
			rest = append(rest, a.Addr().String())
		}
	}
	return append(first, rest...)
}

// stopContainers ends the cluster in good order; etcd's data is then at rest.
func (n *Node) stopContainers() {
	if n.containers {
		n.StopEtcd()
	}
	n.containers = false
}

// Containers is the node's host.Containers.
func (n *Node) Containers() host.Containers { return containers{n} }

type containers struct{ n *Node }

func (c containers) StopAll(context.Context) error {
	n := c.n
	n.m.Enter()
	defer n.m.Unlock()
	if n.containers {
		if err := n.m.Change("containers.stop", ""); err != nil {
			return err
		}
		n.stopContainers()
	}
	return nil
}

// ClusterUp returns nil where the node's cluster works, and otherwise what is wrong with
// it: it is down, its data is damaged, or its addresses are not those that run.
func (n *Node) ClusterUp() error {
	n.m.Lock()
	defer n.m.Unlock()
	return n.clusterUp()
}

func (n *Node) clusterUp() error {
	switch {
	case !n.m.Powered():
		return PowerCut
	case !n.UnitState(host.UnitKubelet).Running() && n.WaitsFor(host.UnitKubelet) != "":
		return fmt.Errorf("kubelet does not run: it is ordered after %s, which is starting", n.WaitsFor(host.UnitKubelet))
	case !n.UnitState(host.UnitKubelet).Running():
		return errors.New("kubelet does not run")
	case !n.UnitState(host.UnitCRIO).Running():
		return errors.New("container runtime does not run")
	case !n.containers:
		return errors.New("containers are stopped")
	}
	s, err := n.Store("")
	if err != nil {
		return err
	}
	running := n.nodeAddresses()
	if err := s.Consistent(running); err != nil {
		return err
	}
	pod, err := n.m.ReadFile(host.EtcdPodManifest)
	if err == nil && !strings.Contains(string(pod), "//"+etcd.URLHost(running[0])+":") {
		err = fmt.Errorf("%s is not for address %s", host.EtcdPodManifest, running[0])
	}
	return err
}
