package main

import (
	"context"
	"io"
	"log/slog"
	"os"
	"path"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/containers"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/registry"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

// newSeedCommand is "seed" with its verbs; those that look at images work on any machine.
func newSeedCommand(shared verb.Wiring, open opener) *cobra.Command {
	fs := files.New("/")
	cmd := seed.Command(seed.Wiring{
		Wiring: shared, Node: open.openSeedCreate, Restore: open.openSeedRestore, Target: targetCluster{localCluster{files: fs}},
		Site: open.openSite(shared.Lock), Survey: open.seedSurvey(shared.Lock), Files: fs,
		Registries: registry.New(registry.Options{Files: fs, Log: open.log}), Archives: archive.New(archive.Options{}),
		ReadInput: os.ReadFile, NewID: newOperationID,
	})
	cmd.AddCommand(newMovedCommand("secret"))
	return cmd
}

// openSeedCreate adds what making a seed image needs besides.
func (o opener) openSeedCreate(ctx context.Context, acting bool) (create.Ports, operation.Instruments, error) {
	node, with, err := o.openNode(ctx, acting)
	return seedPorts(node, o.log), with, err
}

func seedPorts(node host.Node, log *slog.Logger) create.Ports {
	fs := files.New("/")
	runner := run.New(run.Options{})
	return create.Ports{
		Node: node, Archives: archive.New(archive.Options{}), Registries: registry.New(registry.Options{Files: fs, Log: log}),
		Copies: systemCopies{log: log, runtime: seedEtcd}, Cluster: localCluster{files: fs}, Clock: flow.SystemClock{}, Log: log,
		Reports: systemReports{
			containers.New(containers.Options{Runner: runner, Units: node.Units, Log: log}),
			ostree.New(ostree.Options{Runner: runner, Files: fs, Log: log}),
		},
	}
}

// systemReports are those of two tools.
type systemReports struct {
	*containers.Runtime
	*ostree.Deployments
}

// seedEtcd is where the sockets of an etcd over the copy for a seed image are.
const seedEtcd = "/run/lca/seed-etcd"

// systemCopies opens copies of /etc and /var with the adapters of the node itself.
type systemCopies struct {
	log *slog.Logger
	// runtime is where the sockets of an etcd over a copy are.
	runtime string
	// cgroups is podman's --cgroups; empty leaves it to podman.
	cgroups string
}

var _ host.SystemCopies = systemCopies{}

func (c systemCopies) Files(root string) host.Files { return files.New(root) }

func (c systemCopies) Open(root, p string) (io.ReadCloser, error) {
	return files.New(root).OpenRegular(p)
}

func (c systemCopies) Keystore(root string) host.Keystore { return etcd.New(c.etcdConfig(root)) }

// etcdConfig runs the release that the copy's own manifest names.
func (c systemCopies) etcdConfig(root string) etcd.Config {
	return etcd.Config{
		DataDir: path.Join(root, host.EtcdData), Manifest: path.Join(root, host.EtcdPodManifest),
		RuntimeDir: c.runtime, CGroups: c.cgroups, Log: c.log,
	}
}

func (c systemCopies) Recert(root string) host.Recert {
	return limitedRecert{recert.New(recert.Ports{Keystore: c.Keystore(root), Files: c.Files(root), Log: c.log})}
}

// limitedRecert bounds the memory of a run: the cluster may have started again meanwhile.
type limitedRecert struct{ host.Recert }

// Run implements host.Recert.
func (r limitedRecert) Run(ctx context.Context, configPath string) error {
	defer recert.LimitMemory()()
	return r.Recert.Run(ctx, configPath)
}

func (c systemCopies) Purge(ctx context.Context, root string) error {
	return etcd.Purge(ctx, c.etcdConfig(root))
}
