package create_test

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/create"
)

// stoppedWorld is a node whose generation died while the cluster was stopped, in the same boot.
func stoppedWorld(t *testing.T) *world {
	t.Helper()
	w := newWorld(true)
	stopped := false
	w.node.KillWhen(func(op hostOp, _ int) bool {
		stopped = stopped || strings.HasPrefix(op.String(), "units.stop "+host.UnitCRIO)
		return stopped && strings.HasPrefix(op.Name, "trees.")
	})
	err := w.node.Run(t.Context(), func(ctx context.Context) error {
		if err := w.request(); err != nil {
			return err
		}
		return create.Run(ctx, w.ports(), instruments)
	})
	require.ErrorIs(t, err, hosttest.Killed)
	require.Error(t, w.node.ClusterUp(), "the cluster is not stopped")
	return w
}

// A generation that cannot be continued does not hold the cluster: the unit starts it at once.
func TestAGenerationThatCannotGoOnStartsTheCluster(t *testing.T) {
	for name, damage := range map[string]func(*world) error{
		"request damaged": func(w *world) error { return w.node.Files().Write(seed.RequestFile, []byte("{"), 0o600) },
		"request removed": func(w *world) error { return w.node.Files().Remove(seed.RequestFile) },
		"journal of another version": func(w *world) error {
			return w.node.Files().Write(operation.JournalPath(w.id), []byte("{\"version\":99}\n"), 0o600)
		},
		"journal is a folder": func(w *world) error {
			at := operation.JournalPath(w.id)
			return errors.Join(w.node.Files().Remove(at), w.node.Files().Write(at+"/x", nil, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := stoppedWorld(t)
			require.NoError(t, damage(w))
			require.Error(t, w.node.Run(t.Context(), func(ctx context.Context) error { return create.Run(ctx, w.ports(), instruments) }))
			require.NoError(t, w.node.ClusterUp())
			require.Equal(t, w.first, w.cluster(), "the cluster's own etcd was changed")
		})
	}
}

// TestAGenerationWithADamagedRequestIsEndedByAnAbort, in its own boot and in a later one; the refusal of another one names it.
func TestAGenerationWithADamagedRequestIsEndedByAnAbort(t *testing.T) {
	for name, reboot := range map[string]bool{"same boot": false, "after a reboot": true} {
		t.Run(name, func(t *testing.T) {
			w := stoppedWorld(t)
			require.NoError(t, w.node.Seed(seed.RequestFile, []byte("{")))
			if reboot {
				w.node.Cut()
				require.NoError(t, w.node.Settle(t.Context(), 1))
			}
			first := w.id
			err := w.request()
			require.ErrorIs(t, err, operation.ErrRefused, "its journal says that it continues")
			require.ErrorContains(t, err, "'lca-cli seed abort' ends it")
			require.ErrorContains(t, w.node.Run(t.Context(), func(ctx context.Context) error {
				return create.Run(ctx, w.ports(), instruments)
			}), "'lca-cli seed abort' ends")
			w.id = first
			abort := func(ctx context.Context) error { return create.Abort(ctx, w.ports(), instruments) }
			require.NoError(t, w.node.Run(t.Context(), abort))
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Contains(t, verdict, "given up")

			require.NoError(t, w.node.Seed(seed.RequestFile, []byte("{")))
			require.ErrorIs(t, w.node.Run(t.Context(), abort), operation.ErrRefused, "nothing is under way any more")
			_, err = w.node.Files().Stat(seed.RequestFile)
			require.ErrorIs(t, err, fs.ErrNotExist)
			require.NoError(t, w.Again())
		})
	}
}

// Where the unit never runs again, the next boot starts the cluster: the mask is in /run.
func TestTheNextBootStartsTheCluster(t *testing.T) {
	w := stoppedWorld(t)
	require.NoError(t, w.node.Files().Write(operation.JournalPath(w.id), []byte("damaged\n\n"), 0o600))
	w.node.Cut()
	require.NoError(t, w.node.Settle(t.Context(), 1))
	require.NoError(t, w.node.ClusterUp())
}

// A kubelet that others have masked is not started.
func TestOthersMasksStay(t *testing.T) {
	w := newWorld(false)
	ctx := t.Context()
	require.NoError(t, w.node.Units().Stop(ctx, host.UnitKubelet))
	require.NoError(t, w.node.Ports().Masks.Mask(ctx, host.UnitKubelet))
	require.ErrorIs(t, create.Run(ctx, w.ports(), instruments), operation.ErrRefused)
	require.Error(t, w.node.ClusterUp())
}

// TestAGenerationThatIsGivenUpHasAWayOut has each step fail until nobody tries any more.
func TestAGenerationThatIsGivenUpHasAWayOut(t *testing.T) {
	plan := create.Plan(newWorld(false).ports(), seed.Request{}, host.Deployment{})
	got := flowtest.GiveUp(t, []flow.Plan{plan}, func(*testing.T) flowtest.Person { return ended{newWorld(false)} })
	require.Equal(t, 2*len(plan.Steps), got.Cells)
}

func TestADiskThatFillsWhileTheClusterIsStopped(t *testing.T) {
	w := newWorld(false)
	stopped := false
	w.node.FailWhen(func(op hostOp, _ int) error {
		stopped = stopped || strings.HasPrefix(op.String(), "units.stop "+host.UnitCRIO)
		if stopped && strings.HasPrefix(op.Name, "trees.copy") {
			return errors.New("no space left on device")
		}
		return nil
	})
	require.NoError(t, w.Live(nil))
	require.True(t, stopped)
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Contains(t, verdict, "no space left on device")
	w.node.Disarm()
	require.NoError(t, w.Again())
}

// Each fault of a registry names it, the repository, and what to do.
func TestFaultsOfARegistryAreSentences(t *testing.T) {
	for fault, advice := range map[error]string{
		host.ErrRegistryAway: "check that the registry runs", host.ErrRegistryLogin: "renew key seedAuth",
		host.ErrRegistryForbidden: "grant the account the right to push", host.ErrRegistryFull: "free space on the registry",
		host.ErrRegistryTrust: "add the authority", host.ErrRegistryPlain: "over TLS alone", host.ErrRegistryClock: "set the clock of this node",
	} {
		w := newWorld(false)
		w.registry.Fail = func(string) error { return fault }
		require.NoError(t, w.Live(nil))
		verdict, err := w.Judge()
		require.NoError(t, err)
		for _, want := range []string{"registry registry.example.com, repository team/seed: ", fault.Error(), advice} {
			require.Contains(t, verdict, want)
		}
	}
}

// A tag that has another image is refused before anything is stopped; one of this node's own is replaced.
func TestATagOfAnotherImageIsRefused(t *testing.T) {
	w := newWorld(false)
	repo, err := w.node.Registries(w.registry).Open(t.Context(), host.RegistryAccess{Image: seedName})
	require.NoError(t, err)
	digest, err := repo.PutManifest(t.Context(), "1", "application/vnd.oci.image.manifest.v1+json", []byte(`{"schemaVersion":2}`))
	require.NoError(t, err)
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Contains(t, verdict, "registry registry.example.com, repository team/seed: tag 1 has another image, "+digest)
	require.Contains(t, verdict, "choose another tag")
	for _, op := range w.node.Ops() {
		require.NotContains(t, op.String(), "units.stop "+host.UnitKubelet)
	}
}

// An account that may push need not be able to read a tag that may not exist yet: the image is published, and what could not be
// proved is said, also where the program died in between.
func TestATagThatMayNotBeReadIsPublished(t *testing.T) {
	for name, fault := range map[string]error{"401": host.ErrRegistryLogin, "403": host.ErrRegistryForbidden} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(false)
			w.registry.Fail = func(request string) error {
				if request == "get manifest" {
					return fault
				}
				return nil
			}
			require.NoError(t, w.Live(nil))
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, "published", verdict)
			o, err := seed.ReadOutcome(w.node.Files())
			require.NoError(t, err)
			require.True(t, o.TagUnread)
			require.Len(t, o.Warnings(), 1)
			require.Contains(t, o.Warnings()[0], "registry registry.example.com did not let the account read tag 1 of team/seed beforehand")

			w.registry.Fail = nil
			require.NoError(t, w.Again(), "the node knows the image as its own")
			o, err = seed.ReadOutcome(w.node.Files())
			require.NoError(t, err)
			require.False(t, o.TagUnread)
		})
	}
}

// A program that dies after it wrote the tag reads its own image then; that the tag was not read before stays known.
func TestATagThatWasNotReadStaysKnownAsSuch(t *testing.T) {
	w := newWorld(false)
	published := false
	w.node.FailWhen(func(op hostOp, _ int) error {
		published = published || op.String() == "registry put manifest"
		return nil
	})
	w.registry.Fail = func(request string) error {
		switch {
		case request == "get manifest" && !published:
			return host.ErrRegistryForbidden
		case request == "get manifest" && published:
			published = false
			w.registry.Fail = nil
			return host.ErrRegistryAway
		}
		return nil
	}
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "published", verdict)
	o, err := seed.ReadOutcome(w.node.Files())
	require.NoError(t, err)
	require.True(t, o.TagUnread)
}

// The field's installer removes path by path, and removes no folder that has content.
func TestADeletedFolderIsListedAfterItsContent(t *testing.T) {
	w := newWorld(false)
	booted, err := host.Booted(list(t, w))
	require.NoError(t, err)
	for _, file := range []string{"gone/a", "gone/below/b", "gone.d/c", "half/gone/d", "half/kept", "single"} {
		require.NoError(t, w.node.Seed(booted.InDeployment("/usr/etc/"+file), []byte("the system's")))
	}
	require.NoError(t, w.node.Seed("/etc/half/kept", []byte("the system's")))
	require.NoError(t, w.Live(nil))
	deleted, err := open(t, w).Small(t.Context(), "etc.deletions")
	require.NoError(t, err)
	lines := strings.Fields(string(deleted))
	require.ElementsMatch(t, []string{"/etc/gone", "/etc/gone/a", "/etc/gone/below", "/etc/gone/below/b", "/etc/gone.d", "/etc/gone.d/c",
		"/etc/half/gone", "/etc/half/gone/d", "/etc/single"}, lines)
	for i, name := range lines {
		for _, later := range lines[i+1:] {
			require.False(t, strings.HasPrefix(later, name+"/"), "%s comes before %s", name, later)
		}
	}
}

// What the system itself has in /etc is not deleted on the target, and what a MachineConfig wrote ships; all else of the folder does not.
func TestFilesOfTheSystemBecomeAsItHasThem(t *testing.T) {
	w := newWorld(false)
	booted, err := host.Booted(list(t, w))
	require.NoError(t, err)
	for file, text := range map[string]string{
		booted.InDeployment("/usr/etc/ipsec.d/defaults"): "the system's", "/etc/ipsec.d/defaults": "seedchanged", "/etc/ipsec.d/own.secrets": "seedipsec",
		"/etc/NetworkManager/system-connections/own.nmconnection": "seedwifi", "/etc/NetworkManager/system-connections/mc.nmconnection": "of a MachineConfig",
		host.MachineConfig: `{"spec":{"config":{"storage":{"files":[{"path":"/etc/NetworkManager/system-connections/mc.nmconnection"}]}}}}`,
	} {
		require.NoError(t, w.node.Seed(file, []byte(text)))
	}
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "published", verdict)
	i := open(t, w)
	etc, err := i.Small(t.Context(), "etc.tgz")
	require.NoError(t, err)
	found := map[string]string{}
	for _, e := range decode[[]struct {
		Name string
		Data []byte
	}](t, etc) {
		found[e.Name] = string(e.Data)
	}
	require.Equal(t, "of a MachineConfig", found["etc/NetworkManager/system-connections/mc.nmconnection"])
	require.NotContains(t, found, "etc/NetworkManager/system-connections/own.nmconnection")
	require.NotContains(t, found, "etc/ipsec.d/own.secrets")
	require.NotEqual(t, "seedchanged", found["etc/ipsec.d/defaults"])
	deleted, err := i.Small(t.Context(), "etc.deletions")
	require.NoError(t, err)
	require.NotContains(t, string(deleted), "ipsec.d")
}
