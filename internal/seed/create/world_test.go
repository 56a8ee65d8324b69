package create_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

const (
	running  = "rhcos"
	seedName = "registry.example.com/team/seed:1"
)

// world is a seed node, a registry, and an agent that starts the unit again where a reboot ended it.
type world struct {
	node     *hosttest.Node
	registry *hosttest.Registry
	clock    *operationtest.Clock
	bomb     *flowtest.Bomb
	kill     bool
	ops      int
	id       string
	// first is etcd's data before anything happened.
	first map[string]string
}

func newWorld(kill bool) *world {
	w := &world{
		node: hosttest.NewNode(hosttest.Options{Stateroot: running}), registry: hosttest.NewRegistry(),
		clock: &operationtest.Clock{Time: time.Unix(1e9, 0).UTC()}, kill: kill,
	}
	for file, text := range map[string]string{
		"/ostree/repo/config": "[core]\n", host.KubeletConfigJSON: "seedpullsecret", "/var/log/messages": "line",
		"/var/roothome/.bash_history": "typed", "/var/lib/app/data": "data", "/etc/machine-id": "seedmachine",
		"/etc/openvswitch/conf.db": "db", "/etc/app.conf": "mine",
	} {
		if err := w.node.Seed(file, []byte(text)); err != nil {
			panic(err)
		}
	}
	w.node.Command("lca-cli seed create", func(ctx context.Context, _ []string) error {
		return create.RunWrapped(ctx, w.ports(), operation.Instruments{}, w.bomb.In)
	})
	w.first = w.cluster()
	return w
}

func (w *world) ports() create.Ports {
	return create.Ports{
		Node: w.node.Ports(), Archives: w.node.Archives(), Registries: w.node.Registries(w.registry), Copies: w.node.Copies(),
		Reports: w.node.Reports(), Cluster: w, Clock: w.clock, Log: slog.New(slog.DiscardHandler),
	}
}

// Ready implements create.Cluster.
func (w *world) Ready(context.Context) error { return w.node.ClusterUp() }

// cluster reads what the seed's own etcd holds, but for what the cluster itself writes.
func (w *world) cluster() map[string]string {
	out := map[string]string{}
	for p, v := range w.node.Snapshot(true).Below(host.InVar(running, host.EtcdData)) {
		if !strings.Contains(p, "in-use") {
			out[p] = v
		}
	}
	return out
}

// ask requests an image and starts the unit, as the controller does.
func (w *world) ask(ctx context.Context) error {
	if err := w.request(); err != nil {
		return err
	}
	return w.launch(ctx)
}

func (w *world) request() error {
	w.ops++
	w.id = operation.NewID(w.clock.Time.Add(time.Duration(w.ops)*time.Hour), uint16(w.ops))
	r := seed.Request{OperationID: w.id, SeedImage: seedName, AuthFile: seed.AuthFile,
		Cluster: seed.ClusterInfo{ClusterName: "sno", NodeIPs: []string{"192.0.2.10"}}, RecertImage: "quay.io/edge/recert:v0"}
	if err := w.node.Files().Write(seed.AuthFile, []byte(`{"auths":{}}`), 0o600); err != nil {
		return err
	}
	return seed.WriteRequest(context.Background(), operation.Intake{Files: w.node.Files(), Boots: w.node.Power(), Log: slog.New(slog.DiscardHandler)}, r)
}

func (w *world) launch(ctx context.Context) error {
	_ = w.node.Transients().Forget(ctx, seed.UnitCreate)
	err := w.node.Transients().Launch(ctx, host.Transient{
		Unit: seed.UnitCreate, Argv: []string{host.CLI, "seed", "create", "--run"}, Restart: true})
	if errors.Is(err, host.ErrUnitRunning) {
		return nil
	}
	return err
}

// Live implements flowtest.World.
func (w *world) Live(bomb *flowtest.Bomb) error {
	w.bomb = bomb
	operationtest.Arm(bomb, w.node, w.kill)
	asked := false
	for range 5 {
		err := w.node.Run(context.Background(), func(ctx context.Context) error {
			_, err := seed.ReadRequest(w.node.Files())
			switch {
			case err == nil:
				asked = true
				return w.launch(ctx)
			case !asked:
				asked = true
				return w.ask(ctx)
			}
			return nil
		})
		if err != nil && !errors.Is(err, hosttest.PowerCut) {
			return err
		}
		if err := w.node.Settle(context.Background(), 6); err != nil {
			return err
		}
	}
	return nil
}

// Judge implements flowtest.World: the very same cluster runs, nothing is left behind, and the image is whole or absent.
func (w *world) Judge() (string, error) {
	if err := w.node.ClusterUp(); err != nil {
		return "", fmt.Errorf("the cluster is down: %w", err)
	}
	if d := w.node.Describe(); d.Booted != running || d.Default != running {
		return "", fmt.Errorf("%s runs and %s boots next", d.Booted, d.Default)
	}
	if !maps.Equal(w.first, w.cluster()) {
		return "", errors.New("the cluster's own etcd was changed")
	}
	for _, f := range []string{seed.CopyDir(w.id), seed.AuthFile, seed.RequestFile} {
		if _, err := w.node.Files().Stat(f); !errors.Is(err, fs.ErrNotExist) {
			return "", fmt.Errorf("%s is left behind: %w", f, err)
		}
	}
	p, err := seed.ReadProgress(w.node.Files(), w.id)
	if err != nil {
		return "", err
	}
	if !p.Create.Finished && !p.Create.RolledBack {
		return "", fmt.Errorf("the generation has not ended: %+v", p.Create)
	}
	if !p.Create.Finished {
		return "given up: " + p.Create.Failure, nil
	}
	o, err := seed.ReadOutcome(w.node.Files())
	if err != nil || o.OperationID != w.id || o.Digest == "" || len(o.Layers) < 11 {
		return "", fmt.Errorf("the outcome is %+v: %w", o, err)
	}
	return "published", nil
}

// Again implements flowtest.World: another image can be made.
func (w *world) Again() error {
	w.bomb = nil
	w.clock.Time = w.clock.Time.Add(time.Hour)
	err := w.node.Run(context.Background(), w.ask)
	if err != nil {
		return err
	}
	if err := w.node.Settle(context.Background(), 1); err != nil {
		return err
	}
	if verdict, err := w.Judge(); err != nil || verdict != "published" {
		return fmt.Errorf("the second image: %s: %w", verdict, err)
	}
	return nil
}

// ended is the generation of a world that was given up: its image may be published without the end of the flow.
type ended struct{ *world }

// TakeWayOut implements flowtest.Person: another image is asked for where none was published.
func (e ended) TakeWayOut() error {
	if p, err := seed.ReadProgress(e.node.Files(), e.id); err != nil || p.Published() {
		return err
	}
	return e.Again()
}

func (e ended) Judge() (string, error) {
	if p, err := seed.ReadProgress(e.node.Files(), e.id); err != nil || !p.Published() || p.Create.Finished {
		return e.world.Judge()
	}
	if _, err := seed.ReadRequest(e.node.Files()); !errors.Is(err, seed.ErrNoRequest) {
		return "", fmt.Errorf("the request is left: %w", err)
	}
	return "published", e.node.ClusterUp()
}

func decode[T any](t *testing.T, data []byte) (v T) {
	t.Helper()
	if err := json.Unmarshal(data, &v); err != nil {
		t.Fatal(err)
	}
	return v
}

var _ flow.Clock = (*operationtest.Clock)(nil)
