package hosttest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// StartCluster is what kubelet.service does unless Program says otherwise: br-ex comes up over the
// uplink, the node's address is written to /run, and the containers start. Whether the
// cluster then works is for ClusterUp to say.
func (n *Node) StartCluster(context.Context) error {
	n.lock()
	defer n.mu.Unlock()
	if !n.unitState(host.UnitCRIO).Running() {
		return errors.New("no container runtime")
	}
	if err := n.bridgeUp(); err != nil {
		return err
	}
	if all := n.nodeAddresses(); len(all) > 0 {
		if err := n.writeDurable(host.PrimaryIP, text(all[0])); err != nil {
			return err
		}
	}
	n.containers = true
	if _, err := n.openStore(""); err != nil {
		return nil // etcd loops
	}
	return n.writeDurable(storeInUse, secret(n.booted.stateroot))
}

// nodeAddresses are those that run, the primary one first: its family is that of the hint.
func (n *Node) nodeAddresses() []string {
	hint, _ := n.readFile(host.NodeIPHint)
	v6 := strings.Contains(string(hint), ":")
	var first, rest []string
	for _, a := range n.net.addresses() {
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
	if at, err := n.resolve(storeInUse, false); err == nil && n.containers {
		if string(n.disk.live[at].data) == n.booted.stateroot {
			n.disk.remove(at, true)
		}
	}
	n.containers = false
}

// Containers is the node's host.Containers.
func (n *Node) Containers() host.Containers { return containers{n} }

type containers struct{ n *Node }

func (c containers) StopAll(context.Context) error {
	n := c.n
	n.lock()
	defer n.mu.Unlock()
	if n.containers {
		if err := n.op("containers.stop", ""); err != nil {
			return err
		}
		n.stopContainers()
	}
	return nil
}

// ClusterUp returns nil where the node's cluster works, and otherwise what is wrong with
// it: it is down, its data is damaged, or its addresses are not those that run.
func (n *Node) ClusterUp() error {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.clusterUp()
}

func (n *Node) clusterUp() error {
	switch {
	case !n.powered:
		return PowerCut
	case !n.unitState(host.UnitKubelet).Running() && n.waitsFor(host.UnitKubelet) != "":
		return fmt.Errorf("kubelet does not run: it is ordered after %s, which is starting", n.waitsFor(host.UnitKubelet))
	case !n.unitState(host.UnitKubelet).Running():
		return errors.New("kubelet does not run")
	case !n.unitState(host.UnitCRIO).Running():
		return errors.New("container runtime does not run")
	case !n.containers:
		return errors.New("containers are stopped")
	}
	s, err := n.openStore("")
	if err != nil {
		return err
	}
	running := n.nodeAddresses()
	if err := s.consistent(running); err != nil {
		return err
	}
	pod, err := n.readFile(host.EtcdPodManifest)
	if err == nil && !strings.Contains(string(pod), "//"+urlHost(running[0])+":") {
		err = fmt.Errorf("%s is not for address %s", host.EtcdPodManifest, running[0])
	}
	return err
}

// consistent says whether everything in the store is for exactly the given addresses.
func (s store) consistent(addrs []string) error {
	if len(addrs) == 0 {
		return errors.New("the node has no address")
	}
	for _, key := range sorted(s.Keys) {
		var r resource
		if err := json.Unmarshal(s.Keys[key].Value, &r); err != nil || r.Addresses == nil {
			continue
		}
		if !sameSet(r.Addresses, addrs) {
			return fmt.Errorf("key %s is for %v, the node has %v", key, r.Addresses, addrs)
		}
	}
	for _, m := range s.Members {
		if !slices.Contains(m.PeerURLs, peerURL(addrs[0])) {
			return fmt.Errorf("etcd member %s is at %v, the node at %s", m.Name, m.PeerURLs, addrs[0])
		}
	}
	return nil
}

func sameSet(a, b []string) bool {
	a, b = slices.Clone(a), slices.Clone(b)
	slices.Sort(a)
	slices.Sort(b)
	return slices.Equal(a, b)
}
