package create_test

import (
	"context"
	"errors"
	"io/fs"
	"log/slog"
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
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// Wherever the power fails or the program dies, the very same cluster runs afterwards and the image gets published.
func TestCrashMatrix(t *testing.T) {
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(kill)
			plan := create.Plan(w.ports(), seed.Request{OperationID: "op", SeedImage: seedName}, host.Deployment{Stateroot: running})
			require.NoError(t, plan.Validate())
			res := flowtest.Matrix(t, []flow.Plan{plan}, func(*testing.T) flowtest.World { return newWorld(kill) })
			t.Logf("%s: %s", name, res)
			require.Equal(t, res.Cells, res.Verdicts["published"])
		})
	}
}

// open reads the image that the world's registry has.
func open(t *testing.T, w *world) *image.Image {
	t.Helper()
	repo, err := w.node.Registries(w.registry).Open(t.Context(), host.RegistryAccess{Image: seedName})
	require.NoError(t, err)
	i, err := image.Open(t.Context(), repo, "1")
	require.NoError(t, err)
	return i
}

func TestAnImageHasWhatTheFieldReads(t *testing.T) {
	w := newWorld(false)
	require.NoError(t, w.Live(nil))
	i := open(t, w)
	require.Equal(t, "4", i.Labels["com.openshift.lifecycle-agent.seed_format_version"])
	require.Equal(t, "sno", i.Cluster.ClusterName)
	require.Equal(t, "192.0.2.10", i.Cluster.NodeIP)
	require.Equal(t, "quay.io/edge/recert:v0", i.Cluster.RecertImage)
	var names []string
	for _, l := range i.Layers {
		names = append(names, l.Content)
	}
	booted, err := host.Booted(list(t, w))
	require.NoError(t, err)
	require.ElementsMatch(t, []string{
		"lca-cli", "containers.list", "manifest.json", "var.tgz", "etc.tgz", "etc.deletions", "ostree.tgz", "rpm-ostree.json",
		"ostree-" + booted.ID() + ".origin", "seed-sha256sums", "seed-node-facts.json", "seed-secrets.json", "mco-currentconfig.json",
	}, names)
	text, err := i.Small(t.Context(), "containers.list")
	require.NoError(t, err)
	require.Equal(t, "quay.io/edge/recert:v0\nquay.io/team/app:1\nquay.io/team/other@sha256:00\n", string(text))
	sums, err := i.Small(t.Context(), image.Sums)
	require.NoError(t, err)
	parsed, err := image.ParseSums(sums)
	require.NoError(t, err)
	for _, name := range []string{"var.tgz", "ostree.tgz", "manifest.json", "var/lib/app/data", "etc/app.conf"} {
		require.Contains(t, parsed, name)
	}
	require.NotContains(t, parsed, "var/lib/lca")
}

func list(t *testing.T, w *world) []host.Deployment {
	t.Helper()
	all, err := w.node.Deployments().List(t.Context())
	require.NoError(t, err)
	return all
}

// The image has the cluster's data, expired, and nothing of the seed's own administration or machine.
func TestWhatMustNotShipDoesNot(t *testing.T) {
	w := newWorld(false)
	require.NoError(t, w.Live(nil))
	i := open(t, w)
	for _, l := range i.Layers {
		data, err := i.Small(t.Context(), l.Content)
		require.NoError(t, err)
		for _, secret := range []string{"seedpullsecret", "seedmachine", "c2VlZHB1bGxzZWNyZXQ", "c2VlZG1hY2hpbmU", "typed", "dHlwZWQ="} {
			require.NotContains(t, string(data), secret, l.Content)
		}
	}
	type entry struct {
		Name string
		Data []byte
	}
	v, err := i.Small(t.Context(), "var.tgz")
	require.NoError(t, err)
	found := map[string]string{}
	for _, e := range decode[[]entry](t, v) {
		found[e.Name] = string(e.Data)
	}
	require.Equal(t, "data", found["var/lib/app/data"])
	require.Equal(t, seed.PlaceholderPullSecret, found["var/lib/kubelet/config.json"])
	require.Contains(t, found, "var/log", "the folder ships")
	require.NotContains(t, found, "var/log/messages")
	require.NotContains(t, found, "var/lib/lca")
	require.Contains(t, found["var/lib/etcd/member/snap/db"], "RXhwaXJlZ") // "Expired", in base64
}

func TestASecondImageSendsOnlyWhatChanged(t *testing.T) {
	w := newWorld(false)
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.node.Files().Write("/var/lib/app/data", []byte("other"), 0o600))
	require.NoError(t, w.node.Run(t.Context(), w.ask))
	require.NoError(t, w.node.Settle(t.Context(), 1))
	o, err := seed.ReadOutcome(w.node.Files())
	require.NoError(t, err)
	var sent []string
	for _, l := range o.Layers {
		if !l.Reused {
			sent = append(sent, l.Content)
		}
	}
	require.ElementsMatch(t, []string{"var.tgz", "seed-sha256sums"}, sent)
	require.Less(t, o.Sent, o.Size)
}

// A registry that refuses is found out before anything is stopped; one that fails later leaves the cluster running and no copy.
func TestARegistryThatFails(t *testing.T) {
	for name, c := range map[string]struct {
		request string
		why     error
		stops   bool
	}{
		"denied":        {"open for push", host.ErrRegistryDenied, false},
		"away":          {"open for push", host.ErrRegistryAway, false},
		"not trusted":   {"open for push", host.ErrRegistryTrust, false},
		"full":          {"put blob", host.ErrRegistryFull, true},
		"breaks off":    {"put blob", host.ErrRegistryAway, true},
		"full at last":  {"put manifest", host.ErrRegistryFull, true},
		"reads nothing": {"get manifest", host.ErrRegistryAway, false},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(false)
			w.registry.Fail = func(request string) error {
				if request == c.request {
					return c.why
				}
				return nil
			}
			require.NoError(t, w.Live(nil))
			verdict, err := w.Judge()
			require.NoError(t, err)
			require.Contains(t, verdict, "given up")
			require.Contains(t, verdict, c.why.Error())
			stopped := false
			for _, op := range w.node.Ops() {
				stopped = stopped || strings.Contains(op.String(), "units.stop "+host.UnitKubelet)
			}
			require.Equal(t, c.stops, stopped)
			w.registry.Fail = nil
			require.NoError(t, w.Again())
		})
	}
}

func TestAFullDiskIsFoundOutBeforeAnythingIsStopped(t *testing.T) {
	w := newWorld(false)
	w.node.FailWhen(func(op hostOp, _ int) error {
		if strings.HasPrefix(op.Name, "trees.copy") {
			return errors.New("no space left on device")
		}
		return nil
	})
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Contains(t, verdict, "no space left on device")
	w.node.Disarm()
	require.NoError(t, w.Again())
}

func TestAnAbortBringsTheClusterBack(t *testing.T) {
	for _, at := range []string{"units.stop", "keystore.commit", "registry put blob"} {
		w := newWorld(false)
		w.node.KillWhen(func(op hostOp, _ int) bool { return strings.HasPrefix(op.String(), at) })
		err := w.node.Run(t.Context(), func(ctx context.Context) error {
			if err := w.request(); err != nil {
				return err
			}
			return create.Run(ctx, w.ports(), instruments)
		})
		require.ErrorIs(t, err, hosttest.Killed, at)
		require.NoError(t, w.node.Run(t.Context(), func(ctx context.Context) error { return create.Abort(ctx, w.ports(), instruments) }))
		verdict, err := w.Judge()
		require.NoError(t, err, at)
		require.Contains(t, verdict, "given up", at)
		require.NoError(t, w.Again(), at)
	}
}

func TestWithoutARequestNothingHappens(t *testing.T) {
	w := newWorld(false)
	before := w.node.Snapshot(true)
	require.Error(t, create.Run(t.Context(), w.ports(), instruments))
	require.Equal(t, before, w.node.Snapshot(true))
}

func TestASignatureIsThatOfTheKey(t *testing.T) {
	w := newWorld(false)
	key, public := newKey(t)
	require.NoError(t, w.node.Files().Write(seed.SigningKeyFile, key, 0o600))
	require.NoError(t, seed.WriteRequest(t.Context(), operation.Intake{Files: w.node.Files(), Boots: w.node.Power(), Log: slog.New(slog.DiscardHandler)}, seed.Request{OperationID: "20250101-000000-0001", SeedImage: seedName, Sign: true}))
	require.NoError(t, create.Run(t.Context(), w.ports(), instruments))
	_, err := w.node.Files().Stat(seed.SigningKeyFile)
	require.ErrorIs(t, err, fs.ErrNotExist, "the key is wiped")
	o, err := seed.ReadOutcome(w.node.Files())
	require.NoError(t, err)
	require.True(t, o.Signed)
	repo, err := w.node.Registries(w.registry).Open(t.Context(), host.RegistryAccess{Image: seedName})
	require.NoError(t, err)
	require.NoError(t, image.VerifySignature(t.Context(), repo, o.Digest, public))
	_, other := newKey(t)
	require.ErrorIs(t, image.VerifySignature(t.Context(), repo, o.Digest, other), image.ErrUnsigned)
	require.ErrorIs(t, image.VerifySignature(t.Context(), repo, "sha256:00", public), image.ErrUnsigned)
}

func TestObjectsAreSelectedByTheirKeys(t *testing.T) {
	for key, want := range map[string]bool{
		"lca.openshift.io/seedgenerators/seedimage":                                                      true,
		"lca.openshift.io/ipconfigs/ipconfig":                                                            true,
		"secrets/openshift-lifecycle-agent/seedgen":                                                      true,
		"secrets/openshift-lifecycle-agent/other":                                                        false,
		"secrets/open-cluster-management-agent/hub-kubeconfig-secret":                                    true,
		"deployments/open-cluster-management-agent/klusterlet":                                           true,
		"operator.open-cluster-management.io/klusterlets/klusterlet":                                     true,
		"apiextensions.k8s.io/customresourcedefinitions/klusterlets.operator.open-cluster-management.io": true,
		"apiextensions.k8s.io/customresourcedefinitions/seedgenerators.lca.openshift.io":                 false,
		"namespaces/open-cluster-management-agent":                                                       true,
		"rhsyseng.github.io/clusterrelocations/cluster":                                                  true,
		"nmstate.io/nodenetworkstates/node0":                                                             true,
		"nmstate.io/nodenetworkconfigurationenactments/node0.bond":                                       true,
		"nmstate.io/nodenetworkconfigurationpolicies/bond":                                               false,
		"namespaces/default":      false,
		"clusterroles/klusterlet": true,
		"pods/default/klusterlet": false,
	} {
		got := false
		for _, o := range seed.Shipped() {
			got = got || o.Selects(seed.StoragePrefix+key)
		}
		require.Equal(t, want, got, key)
	}
}

func TestTagsOfPullSpecifications(t *testing.T) {
	for spec, tag := range map[string]string{"r.example.com:5000/a/b": "latest", "r.example.com:5000/a/b:1": "1", "r/a:v2": "v2"} {
		require.Equal(t, tag, seed.Tag(spec))
	}
}
