package cluster

import (
	"fmt"
	"path/filepath"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/nodefiles"
)

// Agent names the program that runs a node's static pods as kubelet.service.
type Agent string

const (
	// Kubelet is the real one, with containerd and runc.
	Kubelet Agent = "kubelet"
	// Nodelet is the lab's stand-in, lab/cmd/nodelet: quick, and content with a slow machine.
	Nodelet Agent = "nodelet"
)

// program is a file of BinDir that the node gets as /usr/local/bin/NAME. The product's own may still be missing: a node
// without them is a node all the same.
type program struct {
	name     string
	optional bool
}

// programs are those that a node with the agent runs. etcd is there for the product, which opens the database while
// no container can run.
func (a Agent) programs() []program {
	all := []program{{name: "etcd"}, {name: "lca-cli", optional: true}, {name: "lifecycle-agent", optional: true}}
	if a == Kubelet {
		return append(all, program{name: "kubelet"}, program{name: "crictl"})
	}
	return append(all, program{name: "kube-apiserver"}, program{name: "nodelet"})
}

// furnish writes what only a node with this agent has.
func (a Agent) furnish(p *Provisioning) error {
	if a == Nodelet {
		return nodefiles.Nodelet().Write(p.Etc, p.Var)
	}
	if err := nodefiles.Kubelet().Write(p.Etc, p.Var); err != nil {
		return err
	}
	return containerimage.ControlPlane(p.BinDir).Write(filepath.Join(p.Var, nodefiles.ImageArchive))
}

func (a Agent) validate() error {
	if a != Kubelet && a != Nodelet {
		return fmt.Errorf("unknown node agent %q, want %s or %s", a, Kubelet, Nodelet)
	}
	return nil
}
