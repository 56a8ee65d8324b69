package hosttest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
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
	n.mu.Lock()
	defer n.mu.Unlock()
	if !n.powered {
		defer n.peek()()
	}
	d := Description{Booted: n.booted.stateroot, Boots: n.boots, Stateroots: map[string]StaterootState{}}
	if len(n.menu) > 0 {
		d.Default = n.menu[0].stateroot
	}
	if n.powered {
		d.Running = n.nodeAddresses()
	}
	if err := n.clusterUp(); err != nil {
		d.ClusterDown = err.Error()
	}
	for _, name := range n.disk.children(host.DeployDir) {
		d.Stateroots[name] = n.stateroot(name)
	}
	return d
}

// peek shows the disk as after a power cut until the returned function is called.
func (n *Node) peek() (back func()) {
	now := *n.disk
	n.disk.lose(n.options.TornWrites)
	return func() { *n.disk = now }
}

func (n *Node) stateroot(name string) StaterootState {
	var s StaterootState
	if at, ok := n.firstOf(name); ok {
		root := n.menu[at].dir()
		s.Deployed = n.bootable(n.menu[at]) == nil
		s.Enabled = n.enabledUnits(root)
		for _, p := range n.profilesIn(root) {
			for _, a := range p.addresses() {
				s.Profiles = append(s.Profiles, a.String())
			}
		}
		slices.Sort(s.Profiles)
		s.DNSName = n.dnsName(root)
	}
	data, err := n.readStore(host.InVar(name, storeFile))
	if err == nil {
		s.Keystore = data.addresses()
	} else if !errors.Is(err, fs.ErrNotExist) {
		s.StoreError = err.Error()
	}
	if by, err := n.readFile(host.InVar(name, storeInUse)); err == nil && string(by) != name {
		s.StoreError = ErrHotCopy.Error()
	}
	return s
}

func (n *Node) dnsName(root string) string {
	data, err := n.readFile(path.Join(root, host.DnsmasqOverrides))
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

// addresses lists every address the store mentions, once, sorted.
func (s store) addresses() []string {
	found := map[string]bool{}
	for _, v := range s.Keys {
		var r resource
		if json.Unmarshal(v.Value, &r) == nil {
			for _, a := range r.Addresses {
				found[a] = true
			}
		}
	}
	for _, m := range s.Members {
		for _, u := range m.PeerURLs {
			host := strings.TrimSuffix(strings.TrimPrefix(u, "https://"), ":2380")
			found[strings.Trim(host, "[]")] = true
		}
	}
	return sorted(found)
}

// Snapshot is the disk and the boot menu at one moment, by path.
type Snapshot map[string]string

// Snapshot reads what a power cut at this moment would leave, or, with live, what
// programs see.
func (n *Node) Snapshot(live bool) Snapshot {
	n.mu.Lock()
	defer n.mu.Unlock()
	from, s := n.disk.durable, Snapshot{}
	if live {
		from = n.disk.live
	}
	for p, in := range from {
		if !volatile(p) {
			s[p] = fmt.Sprintf("%s %s%s", in.mode, in.link, in.data)
		}
	}
	for i, m := range n.menu {
		s[fmt.Sprintf("boot menu %d", i)] = m.stateroot + " " + m.port().ID()
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
		if within(p, dir) {
			out[p] = v
		}
	}
	return out
}
