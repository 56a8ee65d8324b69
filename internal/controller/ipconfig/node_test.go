package ipconfig

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// fakeNode is a node that does nothing by itself: a test plays lca-cli on it.
type fakeNode struct {
	files       map[string][]byte
	deployments []host.Deployment
	doc         netstate.Document
	units       map[string]host.UnitState
	// Acts lists everything the operator did to the node, files aside.
	acts         []string
	free, inodes int64
	// kernelArguments are those of the boot entry.
	kernelArguments []string
	// bare are stateroots without a deployment.
	bare []string
	// claims are what other machines on the link have, asked the questions that were put to it.
	claims map[netip.Addr]host.Claim
	asked  []string
	// stopping is called with each unit before it stops.
	stopping func(unit string)
	restarts []string // units that systemd starts again by itself
	// holder has the node's lock.
	holder *host.Holder
	// fail makes the named act fail.
	fail map[string]error
}

func newFakeNode() *fakeNode {
	static := false
	return &fakeNode{
		files: map[string][]byte{host.BootIDFile: []byte("boot-1\n"), host.InVar("rhcos", "/var"): nil, host.EtcdPodManifest: nil},
		free:  10 << 30, inodes: 1 << 20, claims: map[netip.Addr]host.Claim{},
		deployments: []host.Deployment{{Stateroot: "rhcos", Checksum: "c0", Booted: true, Default: true}},
		units:       map[string]host.UnitState{},
		fail:        map[string]error{},
		doc: netstate.Document{
			Interfaces: []netstate.Interface{
				{Name: "br-ex", Type: netstate.TypeOVSBridge, Bridge: &netstate.Bridge{Ports: []netstate.BridgePort{
					{Name: "br-ex"}, {Name: "enp1s0"}, {Name: "patch-br-ex_sno-to-br-int"}}}},
				{Name: "br-ex", Type: netstate.TypeOVSInterface, IPv4: &netstate.IP{Enabled: new(true), DHCP: &static,
					Addresses: []netstate.Address{{IP: "192.0.2.10", PrefixLength: 24}}}},
				{Name: "enp1s0", Type: netstate.TypeEthernet},
			},
			Routes: &netstate.Routes{Running: []netstate.Route{
				{Destination: "0.0.0.0/0", NextHopInterface: "br-ex", NextHopAddress: "192.0.2.254", Metric: 100},
				{Destination: "0.0.0.0/0", NextHopInterface: "br-ex", NextHopAddress: "192.0.2.1", Metric: 48},
			}},
			DNS: &netstate.DNS{Running: &netstate.Resolver{Server: []string{"192.0.2.53"}}},
		},
	}
}

func (n *fakeNode) node() Node {
	return Node{Files: n, Disk: n, Deployments: fakeDeployments{n}, OneTimeBoot: fakeDeployments{n}, Network: n, Kernel: n, Units: n, Transients: n,
		Prober: n, Lock: n}
}

// CheckKernel is host.NetworkPlanner's.
func (n *fakeNode) CheckKernel(netstate.Document) error { return n.fail["ask the kernel"] }

func (n *fakeNode) did(act string) error {
	n.acts = append(n.acts, act)
	return n.fail[act]
}

func (n *fakeNode) launched(unit string) int {
	count := 0
	for _, act := range n.acts {
		if strings.HasPrefix(act, "launch "+unit+":") {
			count++
		}
	}
	return count
}

func (n *fakeNode) boot(stateroot, id string) {
	for i := range n.deployments {
		n.deployments[i].Booted = n.deployments[i].Stateroot == stateroot
	}
	n.files[host.BootIDFile] = []byte(id + "\n")
	n.units = map[string]host.UnitState{}
}

// host.Files

func (n *fakeNode) Read(path string) ([]byte, error) {
	data, ok := n.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return data, nil
}

func (n *fakeNode) Write(path string, data []byte, _ fs.FileMode) error {
	n.files[path] = bytes.Clone(data)
	return n.fail["write "+path]
}

func (n *fakeNode) Append(path string, data []byte, _ fs.FileMode) error {
	n.files[path] = append(n.files[path], data...)
	return nil
}

func (n *fakeNode) Remove(path string) error {
	maps.DeleteFunc(n.files, func(p string, _ []byte) bool { return p == path || strings.HasPrefix(p, path+"/") })
	return nil
}

func (n *fakeNode) List(path string) ([]string, error) {
	var names []string
	for p := range n.files {
		if rest, ok := strings.CutPrefix(p, strings.TrimSuffix(path, "/")+"/"); ok {
			name, _, _ := strings.Cut(rest, "/")
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names), nil
}

func (n *fakeNode) Stat(path string) (fs.FileInfo, error) {
	if _, ok := n.files[path]; !ok {
		return nil, &fs.PathError{Op: "stat", Path: path, Err: fs.ErrNotExist}
	}
	return fileInfo{path}, nil
}

type fileInfo struct{ name string }

func (f fileInfo) Name() string       { return f.name }
func (f fileInfo) Size() int64        { return 0 }
func (f fileInfo) Mode() fs.FileMode  { return 0o600 }
func (f fileInfo) ModTime() time.Time { return time.Time{} }
func (f fileInfo) IsDir() bool        { return false }
func (f fileInfo) Sys() any           { return nil }

// stateroot.Disk: /var holds 4 GiB, a kernel 100 MiB, and 64 MiB are free in /boot.

func (n *fakeNode) Usage(_ context.Context, path string) (host.Size, error) {
	if strings.HasPrefix(path, host.BootKernels) {
		return host.Size{Bytes: 100 << 20, Inodes: 3}, nil
	}
	return host.Size{Bytes: 4 << 30, Inodes: 50_000}, n.fail["usage"]
}

func (n *fakeNode) Free(path string) (host.Size, error) {
	if path == host.BootKernels {
		return host.Size{Bytes: 64 << 20, Inodes: 1000}, nil
	}
	return host.Size{Bytes: n.free, Inodes: n.inodes}, nil
}

// Shares tries, which takes a little room.
func (n *fakeNode) Shares(string) (bool, error) {
	if n.free == 0 || n.inodes == 0 {
		return false, fmt.Errorf("try to share data in /var/lib: %w", syscall.ENOSPC)
	}
	return false, nil
}

// Deployments: a wrapper, since host.Files has a List too.

type fakeDeployments struct{ n *fakeNode }

func (d fakeDeployments) List(context.Context) ([]host.Deployment, error) {
	return slices.Clone(d.n.deployments), d.n.fail["deployments"]
}

func (d fakeDeployments) Stateroots(context.Context) ([]string, error) {
	var names []string
	for _, dep := range d.n.deployments {
		names = append(names, dep.Stateroot)
	}
	return append(names, d.n.bare...), nil
}

func (d fakeDeployments) CanSetDefault(context.Context) error { return d.n.fail["set-default"] }

// Usable is host.OneTimeBoot's.
func (d fakeDeployments) Usable(context.Context) error { return d.n.fail["one-time-boot"] }

func (d fakeDeployments) KernelArguments(context.Context) ([]string, error) {
	return d.n.kernelArguments, d.n.fail["kernel-arguments"]
}

// Network

func (n *fakeNode) Observe(context.Context) (netstate.Document, error) {
	return n.doc, n.fail["observe"]
}

// InUse is the operator's part of host.Prober.
func (n *fakeNode) InUse(_ context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error) {
	n.asked = append(n.asked, addr.String()+" "+strings.Join(ifaces, " "))
	return n.claims[addr.Addr()], n.fail["in-use"]
}

// Units and transients

func (n *fakeNode) State(_ context.Context, unit string) (host.UnitState, error) {
	s, ok := n.units[unit]
	switch {
	case ok:
	case unit == host.UnitKubelet || unit == host.UnitNetwork:
		s = host.UnitState{Load: "loaded", Active: "active", File: "enabled"}
	default:
		s = host.UnitState{Load: "not-found", Active: "inactive"}
	}
	return s, n.fail["units"]
}

func (n *fakeNode) Stop(_ context.Context, unit string) error {
	if n.stopping != nil {
		n.stopping(unit)
	}
	if s, ok := n.units[unit]; ok {
		s.Active = "inactive"
		n.units[unit] = s
	}
	return n.did("stop " + unit)
}

func (n *fakeNode) Disable(_ context.Context, unit string) error { return n.did("disable " + unit) }

func (n *fakeNode) Launch(_ context.Context, t host.Transient) error {
	if s := n.units[t.Unit]; s.Running() {
		return host.ErrUnitRunning
	} else if s.Active == "failed" {
		return errors.New("a failed unit of that name is still remembered")
	}
	if err := n.did("launch " + t.Unit + ": " + strings.Join(t.Argv, " ")); err != nil {
		return err
	}
	n.units[t.Unit] = host.UnitState{Load: "loaded", Active: "active"}
	if t.Restart {
		n.restarts = append(n.restarts, t.Unit)
	}
	return nil
}

func (n *fakeNode) Forget(_ context.Context, unit string) error {
	if n.units[unit].Active == "failed" {
		delete(n.units, unit)
	}
	return nil
}

func (n *fakeNode) Holder(context.Context) (host.Holder, bool, error) {
	if n.holder == nil {
		return host.Holder{}, false, n.fail["lock"]
	}
	return *n.holder, true, nil
}

// ends says how a unit ended.
func (n *fakeNode) ends(unit string, well bool) {
	if well {
		delete(n.units, unit)
		return
	}
	n.units[unit] = host.UnitState{Load: "loaded", Active: "failed", Result: "exit-code", ExitCode: 1}
}
