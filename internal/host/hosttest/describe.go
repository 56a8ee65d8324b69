package hosttest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

// Description is what a test judges a node by.
type Description struct {
	Default, Booted string // stateroots
	Boots           int
	// Running are the addresses on the network now, and ClusterDown why the cluster
	// does not work, empty where it does.
	Running     []string
	ClusterDown string
	Stateroots  map[string]StaterootState
}

// StaterootState is one stateroot as it lies on the disk.
type StaterootState struct {
	// Deployed says that it is in the boot menu and can boot.
	Deployed bool
	// Profiles are the addresses in its NetworkManager profiles, as "address/length".
	Profiles []string
	// Keystore are the addresses in its etcd data, all of them; more
	// than the node has means that it is half rewritten. StoreError says that it cannot be read.
	Keystore   []string
	StoreError string
	// DNSName is the address that dnsmasq gives to the cluster's names.
	DNSName string
	// Enabled are the units that start when it boots.
	Enabled []string
}

// Describe looks at the node from outside; it works without power too, and then
// sees what the disk will have when it is back.
func (n *Node) Describe() Description {
	n.m.Lock()
	defer n.m.Unlock()
	if !n.m.Powered() {
		defer n.m.Peek()()
	}
	d := Description{Booted: n.m.Booted.Stateroot, Boots: n.m.Boots, Stateroots: map[string]StaterootState{}}
	if menu := n.Menu(); len(menu) > 0 {
		d.Default = menu[0].Stateroot
	}
	if n.m.Powered() {
		d.Running = n.nodeAddresses()
	}
	if err := n.clusterUp(); err != nil {
		d.ClusterDown = err.Error()
	}
	for _, name := range n.m.Disk.Children(host.DeployDir) {
		d.Stateroots[name] = n.stateroot(name)
	}
	return d
}

func (n *Node) stateroot(name string) StaterootState {
	var s StaterootState
	if at, ok := n.FirstOf(name); ok {
		root := n.Menu()[at].Dir()
		s.Deployed = n.Bootable(n.Menu()[at]) == nil
		s.Enabled = n.EnabledUnits(root)
		s.Profiles = n.ProfileAddresses(root)
		s.DNSName = n.dnsName(root)
	}
	s.Keystore, s.StoreError = n.AddressesIn(name)
	return s
}

func (n *Node) dnsName(root string) string {
	data, err := n.m.ReadFile(path.Join(root, host.DnsmasqOverrides))
	if err != nil {
		return ""
	}
	for _, line := range strings.Split(string(data), "\n") {
		if value, ok := strings.CutPrefix(line, dnsNameKey); ok {
			return value
		}
	}
	return ""
}

// Snapshot is the disk and the boot menu at one moment, by path.
type Snapshot map[string]string

// Snapshot reads what a power cut at this moment would leave, or, with live, what
// programs see.
func (n *Node) Snapshot(live bool) Snapshot {
	n.m.Lock()
	defer n.m.Unlock()
	from, s := n.m.Disk.Durable, Snapshot{}
	if live {
		from = n.m.Disk.Live
	}
	for p, in := range from {
		if !machine.Volatile(p) {
			s[p] = fmt.Sprintf("%s %s%s", in.Mode, in.Link, in.Data)
		}
	}
	for i, m := range n.Menu() {
		s[fmt.Sprintf("boot menu %d", i)] = m.Stateroot + " " + m.ID()
	}
	return s
}

// Diff lists what differs between two snapshots: "- path", "+ path" and "~ path".
func (s Snapshot) Diff(after Snapshot) []string {
	var out []string
	for p, was := range s {
		if is, ok := after[p]; !ok {
			out = append(out, "- "+p)
		} else if is != was {
			out = append(out, "~ "+p)
		}
	}
	for p := range after {
		if _, ok := s[p]; !ok {
			out = append(out, "+ "+p)
		}
	}
	slices.SortFunc(out, func(a, b string) int { return strings.Compare(a[2:], b[2:]) })
	return out
}

// Below keeps the entries at or below a path.
func (s Snapshot) Below(dir string) Snapshot {
	out := Snapshot{}
	for p, v := range s {
		if machine.Within(p, dir) {
			out[p] = v
		}
	}
	return out
}
