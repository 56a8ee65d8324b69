package seedgen

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// fakeNode is a node that does nothing by itself: a test plays lca-cli on it.
type fakeNode struct {
	files map[string][]byte
	units map[string]host.UnitState
	// launches lists the units that were started.
	launches   []string
	holder     *host.Holder
	setDefault error
	free       int64
	// writing is called before each change of the node; its error refuses the change.
	writing func() error
	// stopping is called with each unit before it stops.
	stopping func(unit string)
}

const script = `source /etc/default/sno_dnsmasq_configuration_overrides
HOST_IP=${SNO_DNSMASQ_IP_OVERRIDE:-"192.0.2.10"}
CLUSTER_NAME=${SNO_CLUSTER_NAME_OVERRIDE:-"sno"}
BASE_DOMAIN=${SNO_BASE_DOMAIN_OVERRIDE:-"example.com"}
`

func newFakeNode() *fakeNode {
	return &fakeNode{units: map[string]host.UnitState{}, free: 100 << 30, writing: func() error { return nil },
		files: map[string][]byte{
			host.BootIDFile:                    []byte("boot-1\n"),
			"/proc/1/mountinfo":                []byte("36 25 8:5 / /var/lib/containers rw - xfs /dev/sda5 rw,prjquota\n"),
			"/proc/cpuinfo":                    []byte("processor : 0\nprocessor : 1\n"),
			"/proc/sys/crypto/fips_enabled":    []byte("0\n"),
			"/usr/local/bin/dnsmasq_config.sh": []byte(script),
			host.KubeletConfigJSON:             []byte(`{"auths":{"registry.example.com":{"auth":"c2VjcmV0OnNlY3JldA=="}}}`),
		}}
}

func (n *fakeNode) node() Node {
	return Node{Files: n, Disk: n, Deployments: n, Units: n, Transients: n, Lock: n}
}

// boot is a reboot: transient units are gone.
func (n *fakeNode) boot(id string) {
	n.files[host.BootIDFile] = []byte(id + "\n")
	n.units = map[string]host.UnitState{}
}

func (n *fakeNode) Read(path string) ([]byte, error) {
	data, ok := n.files[path]
	if !ok {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return data, nil
}

func (n *fakeNode) Write(path string, data []byte, _ fs.FileMode) error {
	if err := n.writing(); err != nil {
		return err
	}
	n.files[path] = bytes.Clone(data)
	return nil
}

func (n *fakeNode) Append(path string, data []byte, _ fs.FileMode) error {
	n.files[path] = append(n.files[path], data...)
	return nil
}

func (n *fakeNode) Remove(path string) error {
	if _, err := n.Stat(path); err == nil {
		if err := n.writing(); err != nil {
			return err
		}
	}
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

func (n *fakeNode) Usage(context.Context, string) (host.Size, error) {
	return host.Size{Bytes: 4 << 30, Inodes: 50_000}, nil
}
func (n *fakeNode) Free(string) (host.Size, error) {
	return host.Size{Bytes: n.free, Inodes: 1 << 20}, nil
}
func (n *fakeNode) Shares(string) (bool, error)         { return true, nil }
func (n *fakeNode) CanSetDefault(context.Context) error { return n.setDefault }
func (n *fakeNode) Forget(_ context.Context, unit string) error {
	if n.units[unit].Active == "failed" {
		delete(n.units, unit)
	}
	return nil
}

func (n *fakeNode) State(_ context.Context, unit string) (host.UnitState, error) {
	s, ok := n.units[unit]
	if !ok {
		s = host.UnitState{Load: "not-found", Active: "inactive"}
	}
	return s, nil
}

func (n *fakeNode) Stop(_ context.Context, unit string) error {
	if n.stopping != nil {
		n.stopping(unit)
	}
	delete(n.units, unit)
	return nil
}

func (n *fakeNode) Launch(_ context.Context, t host.Transient) error {
	if n.units[t.Unit].Running() {
		return host.ErrUnitRunning
	}
	argv := map[string]string{seed.UnitCreate: " seed create", unitAbort: " seed abort"}
	if !t.Restart || strings.Join(t.Argv, " ") != host.CLI+argv[t.Unit] {
		return errors.New("not what the node expects: " + strings.Join(t.Argv, " "))
	}
	if err := n.writing(); err != nil {
		return err
	}
	n.launches = append(n.launches, t.Unit)
	n.units[t.Unit] = host.UnitState{Load: "loaded", Active: "active"}
	return nil
}

func (n *fakeNode) Holder(context.Context) (host.Holder, bool, error) {
	if n.holder == nil {
		return host.Holder{}, false, nil
	}
	return *n.holder, true, nil
}
