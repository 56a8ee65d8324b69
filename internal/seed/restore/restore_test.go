package restore_test

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net/netip"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

func TestAnImageIsRestoredAndTheNodeGoesBack(t *testing.T) {
	w := newWorld(t, false)
	w.node.BootWith("root=LABEL=mine", "systemd.unified_cgroup_hierarchy=1")
	require.NoError(t, w.Live(nil))
	require.Empty(t, w.node.Failures())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "restored", verdict)
	read := func(file string) string {
		data, err := w.node.Files().Read(file)
		require.NoError(t, err)
		return string(data)
	}
	require.Equal(t, "of the seed", read("/var/lib/app/data"))
	require.Equal(t, "of the seed", read("/etc/app.conf"))
	require.Equal(t, "mine", read("/etc/machine-id"), "the machine is the same")
	require.Equal(t, "mine", read("/etc/ssh/ssh_host_rsa_key"))
	require.Equal(t, "lca-cli program\n", read(host.CLIInVar), "the program that runs, not the seed's")
	for _, gone := range []string{"/etc/hosts", "/etc/lvm/devices/system.devices"} {
		_, err := w.node.Files().Stat(gone)
		require.ErrorContains(t, err, "not exist")
	}
	name, err := w.node.Hostname().Hostname(t.Context())
	require.NoError(t, err)
	require.Equal(t, "store42", name)
	require.Equal(t, []string{"root=LABEL=mine", "systemd.unified_cgroup_hierarchy=1"}, w.node.ArgumentsOf(w.node.Describe().Booted))
	require.NoError(t, w.Again())
}

// refused begins a restore that must be refused, without a change to the node.
func (w *world) refused(ask restore.Ask) error {
	w.t.Helper()
	before := w.node.Snapshot(true)
	var err error
	require.NoError(w.t, w.node.Run(w.t.Context(), func(ctx context.Context) error {
		_, err = restore.Begin(ctx, w.ports(), ask)
		return nil
	}))
	require.ErrorIs(w.t, err, operation.ErrRefused)
	require.Empty(w.t, before.Diff(w.node.Snapshot(true)), "nothing was touched")
	return err
}

// A journal that nobody can read does not say how far the restore came, so that everything is removed; what says that it has
// ended is the journal, which has that after it.
func TestAnUnreadableJournalRemovesEverythingAndEnds(t *testing.T) {
	w := newWorld(t, false)
	w.stopAt(seed.StepHand)
	require.NoError(t, w.node.Files().Append(operation.JournalPath(w.request().OperationID), []byte("no journal\n\x00{}\n"), 0o600))

	refuse := errors.New("ostree is locked")
	w.node.FailWhen(func(op hosttest.Op, _ int) error {
		if strings.HasPrefix(op.Name, "deployments.remove") {
			return refuse
		}
		return nil
	})
	require.ErrorIs(t, w.run(), refuse)
	require.NotEmpty(t, w.request().OperationID, "the half-made stateroot is there, so the request stays")
	w.node.Disarm()
	require.Error(t, w.run())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	require.NoError(t, w.Again())
}

// A reboot that cannot be requested is given up after some runs, but the restore has not ended: it boots next, and holds the node
// until a person has rebooted it or removes the restored stateroot.
func TestARebootThatIsGivenUpHasTwoWaysOut(t *testing.T) {
	for verdict, out := range map[string]func(*world) error{
		"restored": func(w *world) error { w.node.Cut(); return w.node.Settle(t.Context(), maxBoots) },
		"old":      func(w *world) error { return w.abort() },
	} {
		w := newWorld(t, false)
		w.node.FailWhen(func(op hosttest.Op, _ int) error {
			if op.Name == "power.reboot" {
				return errors.New("logind does not answer")
			}
			return nil
		})
		require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error {
			_, err := restore.Begin(ctx, w.ports(), w.ask())
			return err
		}))
		for range 3 {
			require.ErrorContains(t, w.run(), "logind does not answer")
		}
		err := w.run()
		require.ErrorIs(t, err, flow.ErrGivenUp)
		require.ErrorContains(t, err, "reboot the node to run its cluster, or remove it with 'lca-cli seed abort'")
		require.Equal(t, w.request().New, w.node.Describe().Default)
		_, held, err := restore.Kind(w.ports()).Reservation(w.node.Ports()).Unfinished(t.Context())
		require.NoError(t, err)
		require.True(t, held)
		w.node.Disarm()

		require.NoError(t, out(w))
		got, err := w.Judge()
		require.NoError(t, err)
		require.Equal(t, verdict, got)
		require.NoError(t, w.Again())
	}
}

func TestAbortBeforeTheFlipRemovesWhatWasMade(t *testing.T) {
	for _, step := range []string{seed.StepDeploy, seed.StepUnpackVar, seed.StepHand, stateroot.StepSeal, seed.StepWipe} {
		w := newWorld(t, false)
		w.stopAt(step)
		require.NoError(t, w.abort())
		verdict, err := w.Judge()
		require.NoError(t, err, step)
		require.Equal(t, "old", verdict)
		require.Len(t, w.node.Describe().Stateroots, 1)
		require.NoError(t, w.Again())
	}
}

// Somebody chooses the old cluster in the boot menu: what was restored may have worked for long and stays.
func TestTheOldClusterBootedByHandRemovesNothing(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	site := w.node.Describe().Booted
	require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.node.Deployments().SetDefault(ctx, oldStateroot) }))
	w.node.Cut()
	require.NoError(t, w.node.Settle(t.Context(), maxBoots))
	d := w.node.Describe()
	require.Equal(t, oldStateroot, d.Booted)
	require.NoError(t, w.node.ClusterUp())
	require.True(t, d.Stateroots[site].Deployed)
	require.ErrorContains(t, w.run(), "somebody chose to boot stateroot "+oldStateroot)
	require.NoError(t, w.abort(), "a person may remove it")
	require.NotContains(t, w.node.Describe().Stateroots, site)
	require.NoError(t, w.Again())
}

// Somebody removes the restored stateroot himself, or the power fails while it is removed: nothing boots it any more, and the node
// is free for another restore.
func TestARestoredStaterootThatIsGoneEndsTheRestore(t *testing.T) {
	for name, remove := range map[string]func(*testing.T, *world, string){
		"by a person": func(t *testing.T, w *world, site string) {
			require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.node.Deployments().Remove(ctx, site) }))
		},
		"by an interrupted abort": func(t *testing.T, w *world, _ string) {
			w.node.CrashWhen(func(op hosttest.Op, _ int) bool { return strings.HasPrefix(op.Name, "files.remove") })
			require.ErrorIs(t, w.abort(), hosttest.PowerCut)
			w.node.Disarm()
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			require.NoError(t, w.Live(nil))
			site := w.node.Describe().Booted
			require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.node.Deployments().SetDefault(ctx, oldStateroot) }))
			w.node.Cut()
			require.NoError(t, w.node.Settle(t.Context(), maxBoots))
			remove(t, w, site)
			require.NotContains(t, w.node.Describe().Stateroots, site)
			w.node.Cut()
			require.NoError(t, w.node.Settle(t.Context(), maxBoots))
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Equal(t, "old", verdict)
			_, held, err := restore.Kind(restore.Ports{}).Reservation(w.node.Ports()).Unfinished(t.Context())
			require.NoError(t, err)
			require.False(t, held)
			require.NoError(t, w.Again())
		})
	}
}

func TestASiteThatDoesNotAnswerBringsTheOldClusterBack(t *testing.T) {
	w := newWorld(t, false)
	w.node.Silence(netip.MustParseAddr("203.0.113.1"))
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict, "%v", w.node.Failures())
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Contains(t, last.Cause, "203.0.113.1")
	w.node.Answer(netip.MustParseAddr("203.0.113.1"))
	require.NoError(t, w.Again())
}

// The watchdog runs from the first boot of what was restored: the network is proved under it already.
func TestTheWatchdogRunsFromTheFirstBoot(t *testing.T) {
	w := newWorld(t, false)
	var enabled []string
	w.node.Command("lca-cli relocation reconfigure", func(ctx context.Context, _ []string) error {
		d := w.node.Describe()
		enabled = d.Stateroots[d.Booted].Enabled
		return hosttest.ErrStays
	})
	require.NoError(t, w.Live(nil))
	require.Contains(t, enabled, relocation.UnitMonitor)
	require.NotContains(t, enabled, host.UnitKubelet, "the cluster is held back until it has its identity")
}

// The restored system may find no room at its first boot: a rollback needs a little for itself, and has it.
func TestAFullDiskInTheRestoredSystemDoesNotKeepTheNodeThere(t *testing.T) {
	w := newWorld(t, false)
	w.node.Command("lca-cli relocation reconfigure", func(context.Context, []string) error { return hosttest.ErrStays })
	require.NoError(t, w.Live(nil))
	require.True(t, relocation.IsSite(w.node.Describe().Booted))
	w.node.SetFree(0)
	require.NoError(t, w.do(func(ctx context.Context) error { return w.launch(ctx, relocation.UnitRollback, "rollback") }))
	verdict, err := w.Judge()
	require.NoError(t, err, "%v", w.node.Failures())
	require.Equal(t, "old", verdict)
}

func TestCommitGivesTheWayBackUp(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.node.Run(t.Context(), w.service().Keep))
	require.Len(t, w.node.Describe().Stateroots, 1)
	require.NoError(t, w.node.ClusterUp())
	w.network = "192.0.2"
	require.NoError(t, w.do(w.restore), "another image can be restored")
	require.NoError(t, w.node.ClusterUp())
	require.Equal(t, []string{"192.0.2.20"}, w.node.Describe().Running)
}

// A change of the address boots another stateroot, and the restored one is its way back: neither a commit nor another restore takes it.
func TestTheWayBackOfAChangedAddressStays(t *testing.T) {
	for name, commitFirst := range map[string]bool{"committed after the change": false, "committed before it": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, false)
			require.NoError(t, w.Live(nil))
			site := w.node.Describe().Booted
			if commitFirst {
				require.NoError(t, w.node.Run(t.Context(), w.service().Keep))
			}
			const changed = "rhcos_ipc-x"
			require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return w.boot(ctx, changed) }))
			w.node.Cut()
			require.NoError(t, w.node.Settle(t.Context(), maxBoots))
			require.Equal(t, changed, w.node.Describe().Booted)
			if !commitFirst {
				require.NoError(t, w.node.Run(t.Context(), w.service().Keep))
			}
			require.Contains(t, w.node.Describe().Stateroots, site)
			require.NotContains(t, w.node.Describe().Stateroots, oldStateroot)
			w.stopAt(seed.StepDeploy)
			require.Contains(t, w.node.Describe().Stateroots, site)
		})
	}
}

// boot clones the stateroot that runs, with what the relocation knows, and makes the clone the default.
func (w *world) boot(ctx context.Context, clone string) error {
	if err := stateroot.Clone(w.node.Deployments(), clone).Do(ctx); err != nil {
		return err
	}
	all, err := w.node.Deployments().List(ctx)
	if err != nil {
		return err
	}
	made, _ := host.FirstOf(all, clone)
	kubelet := path.Join(host.UnitDir, host.UnitKubelet)
	for file, to := range map[string]string{relocation.LastFile: host.InVar(clone, relocation.LastFile),
		relocation.RecordFile: host.InVar(clone, relocation.RecordFile), kubelet: made.InDeployment(kubelet)} {
		data, err := w.node.Files().Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		if err := w.node.Files().Write(to, data, 0o600); err != nil {
			return err
		}
	}
	return w.node.Deployments().SetDefault(ctx, clone)
}

// anotherMakers has images in which the state of the agent of their seed is: those of this product leave it out.
type anotherMakers struct {
	host.Archives
	files host.Files
}

const seedRecord = host.StateDir + "/netpolicy/standing.json"

func (a anotherMakers) Unpack(ctx context.Context, dir string, r io.Reader, reading host.ArchiveReading) error {
	if err := a.Archives.Unpack(ctx, dir, r, reading); err != nil || !strings.HasPrefix(dir, host.StaterootDir(relocation.StaterootPrefix)) {
		return err
	}
	return a.files.Write(path.Join(dir, seedRecord), []byte("of the seed"), 0o600)
}

func TestTheStateOfTheSeedsAgentIsNotObeyed(t *testing.T) {
	w := newWorld(t, false)
	ports := w.ports()
	ports.Archives = anotherMakers{ports.Archives, w.node.Files()}
	err := w.node.Run(t.Context(), func(ctx context.Context) error {
		if _, err := restore.Begin(ctx, ports, w.ask()); err != nil {
			return err
		}
		return restore.Run(ctx, ports, operation.Instruments{})
	})
	require.ErrorIs(t, err, hosttest.Rebooted)
	require.NoError(t, w.node.Settle(t.Context(), maxBoots))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "restored", verdict)
	_, err = w.node.Files().Stat(seedRecord)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

func TestARestoreThatAPowerCutKeptFromBeginningIsNotBegunLater(t *testing.T) {
	w := newWorld(t, false)
	_, err := restore.Begin(t.Context(), w.ports(), w.ask())
	require.NoError(t, err)
	w.node.Cut()
	require.NoError(t, w.node.Settle(t.Context(), maxBoots))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	require.NoError(t, w.Again())
}

// recert runs the cluster's own etcd from its image, and pulls nothing: the image must be there before the reboot.
func TestTheImageOfTheSeedsEtcdIsFetchedBeforeTheReboot(t *testing.T) {
	w := newWorld(t, false)
	w.stopAt(seed.StepFurnish)
	require.Equal(t, 1, w.node.ImagePulls())
	_, err := w.node.Files().Stat(seed.RestorePullFile)
	require.ErrorIs(t, err, fs.ErrNotExist, "the pull secret is wiped at once")
	require.NoError(t, w.abort())
	require.NoError(t, w.node.RemoveImages())

	w.node.RegistryDown(true)
	require.NoError(t, w.do(w.restore), "a node may have etcd as a program")
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "restored", verdict)
}

func TestASystemThatTheNodeHasIsNotFetched(t *testing.T) {
	for fetched, commit := range map[bool]string{true: "", false: hosttest.Checksum} {
		w := newWorld(t, false)
		if commit != "" {
			w.node = hosttest.NewNode(hosttest.Options{Stateroot: oldStateroot, Commit: commit})
			w.commands()
		}
		w.stopAt(seed.StepUnpackVar)
		imported := slices.ContainsFunc(w.node.Ops(), func(op hosttest.Op) bool { return op.Name == "commits.import" })
		require.Equal(t, fetched, imported)
		_, err := w.node.Files().Stat(seed.RestoreRepo)
		require.ErrorIs(t, err, fs.ErrNotExist, "the unpacked repository is removed")
	}
}
