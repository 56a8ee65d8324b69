package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/image"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// ErrNone says that there is no lab of that name.
var ErrNone = errors.New("there is no such lab; make it with: lab up")

// Lab is one node and its surroundings.
type Lab struct {
	Name string
	Kind machine.Kind
	// Dir holds all files of this lab.
	Dir     string
	Net     network.Network
	Machine machine.Machine
	cards   int
}

// Tools says where the lab's helpers are, and what a new node is like.
type Tools struct {
	// Root is the directory of all labs; caches are in Root/cache.
	Root string
	// Binaries is the directory of the project's own programs, which are put on the node.
	Binaries string
	// Supervise is the command line that must call Supervise for the lab whose name follows it.
	Supervise []string
	// Site is where a node is delivered that has to be made; nil means HomeSite.
	Site *cluster.Site
	// Agent is what runs the static pods of a node that has to be made; empty means the one that suits the machine (agentOf).
	Agent cluster.Agent
	// Cards is how many network cards a node has that has to be made, besides the uplink; an emulated one only.
	Cards int
	// Bond makes a bond of the first card and an extra one the uplink of a node that has to be made; an emulated one only.
	Bond bool
}

// record is what a lab remembers about itself on disk.
type record struct {
	Kind  machine.Kind `json:"kind"`
	Cards int          `json:"cards,omitempty"`
}

// namePattern keeps a name usable as host name, namespace name and, with a suffix, in an interface list.
var namePattern = regexp.MustCompile(`^[a-z][a-z0-9-]{0,30}$`)

// Open returns an existing lab, ErrNone if there is none.
func Open(tools Tools, name string) (*Lab, error) {
	dir, err := directory(tools, name)
	if err != nil {
		return nil, err
	}
	text, err := os.ReadFile(filepath.Join(dir, "lab.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("lab %s: %w", name, ErrNone)
	}
	if err != nil {
		return nil, fmt.Errorf("lab %s: %w", name, err)
	}
	var r record
	if err := json.Unmarshal(text, &r); err != nil {
		return nil, fmt.Errorf("lab %s: read lab.json: %w", name, err)
	}
	return assemble(tools, name, dir, r)
}

// Names lists the labs below a root.
func Names(tools Tools) ([]string, error) {
	records, err := filepath.Glob(filepath.Join(tools.Root, "*", "lab.json"))
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(records))
	for _, path := range records {
		names = append(names, filepath.Base(filepath.Dir(path)))
	}
	return names, nil
}

func directory(tools Tools, name string) (string, error) {
	if !namePattern.MatchString(name) {
		return "", fmt.Errorf("lab name %q: use lower-case letters, digits and dashes, a letter first, at most 31", name)
	}
	root, err := filepath.Abs(tools.Root)
	if err != nil {
		return "", err
	}
	return filepath.Join(root, name), nil
}

func assemble(tools Tools, name, dir string, r record) (*Lab, error) {
	l := &Lab{Name: name, Kind: r.Kind, Dir: dir, cards: r.Cards, Net: network.Network{Name: name, Dir: dir}}
	switch r.Kind {
	case machine.Nspawn:
		l.Machine = machine.Container{Name: name, Dir: dir, Net: l.Net, Supervisor: append(tools.Supervise[:len(tools.Supervise):len(tools.Supervise)], name)}
	case machine.QEMU:
		l.Machine = machine.Emulated{Name: name, Dir: dir, Net: l.Net, Cards: r.Cards}
	default:
		return nil, fmt.Errorf("unknown machine kind %q, want %s or %s", r.Kind, machine.Nspawn, machine.QEMU)
	}
	return l, nil
}

// save records the lab, as the last step of its making: a lab without the record is a half-made one and is made anew.
func (l *Lab) save() error {
	text, err := json.Marshal(record{Kind: l.Kind, Cards: l.cards})
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(l.Dir, "lab.json"), append(text, '\n'), 0o644)
}

// Cable pulls the cable of a network card (0 is the first, the extra ones are numbered from 1), or plugs it in.
func (l *Lab) Cable(ctx context.Context, card int, plugged bool) error {
	emulated, is := l.Machine.(machine.Emulated)
	switch {
	case is:
		return emulated.Cable(ctx, card, plugged)
	case card > 0:
		return fmt.Errorf("a machine of kind %s has no card %d", l.Kind, card)
	case plugged:
		return l.Net.LinkUp(ctx)
	}
	return l.Net.LinkDown(ctx)
}

// Kubeconfig is the path of the administrator's credentials for the node's cluster.
func (l *Lab) Kubeconfig() string { return filepath.Join(l.Dir, "kubeconfig") }

// Down cuts the machine's power and removes the network. Unless keep is set, the node's disk and all its files go too.
func (l *Lab) Down(ctx context.Context, keep bool) error {
	if err := l.Machine.PowerCut(ctx); err != nil {
		return err
	}
	if err := l.Net.Down(ctx); err != nil {
		return err
	}
	if keep {
		return nil
	}
	return image.RemoveTree(l.Dir)
}
