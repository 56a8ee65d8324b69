package gather_test

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"io"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive/archivetest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/gather"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// stored are journals in folders; a folder that is not there has none.
type stored map[string]string

func (s stored) Stored(_ context.Context, folder string, _ int) ([]byte, error) {
	return []byte(s[folder]), nil
}

// said is a node whose units and kernel have logged something.
type said string

func (s said) Unit(_ context.Context, unit string, _ int) ([]byte, error) {
	return []byte(unit + " says: " + string(s)), nil
}

func (s said) System(context.Context, int) ([]byte, error) {
	return []byte("the system says: " + string(s)), nil
}

const (
	pemKey = "-----BEGIN PRIVATE KEY-----\nMIGHplantedKeyAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgplanted1\n-----END PRIVATE KEY-----\n"
	jwt    = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJwbGFudGVkIn0.plantedplantedplanted"
)

// secrets are the words that must be in no archive, and files that have them.
func plant(t *testing.T, files host.Files) (words []string) {
	t.Helper()
	pull := `{"auths":{"registry.test":{"auth":"` + base64.StdEncoding.EncodeToString([]byte("user:planted-pull-password")) + `"}}}`
	kubeconfig := "users:\n- name: a\n  user:\n    token: planted-kubeconfig-token\n    client-key-data: " +
		base64.StdEncoding.EncodeToString([]byte(pemKey)) + "\n"
	other := func(p string) string { return host.InVar("rhcos_ipc-other", p) }
	for file, text := range map[string]string{
		host.NMConnections + "/wifi.nmconnection":        "[wifi-security]\npsk=planted-psk with blank\n[802-1x]\npassword=planted-8021x\nprivate-key-password=planted-pkp\n",
		"/etc/NetworkManager/conf.d/99-kni.conf":         "[keyfile]\npath=/etc/NetworkManager/merged\n",
		"/etc/NetworkManager/merged/macsec.nmconnection": "[macsec]\nmka-cak=planted-key-of-the-overlay\n",
		relocation.RequestFile:                           `{"site":{"pullSecret":"{\"auths\":{\"r\":{\"auth\":\"planted-request-inner\"}}}","other":{"secret":"planted-request-pull"},"users":[{"password":"planted-request-password"}]}}`,
		relocation.SiteConfigFile:                        "kubeadminPassword: planted-site-password\npullSecret: '{\"auths\":{\"r\":{\"auth\":\"planted-site-auth\"}}}'\n",
		relocation.PasswordFile:                          "planted-kubeadmin\n",
		seed.RestoreFile:                                 `{"cluster":{"pull-secret":"planted-restore-pull","recert":{"token":"planted-restore-token"}}}`,
		other(relocation.PasswordFile):                   "planted-kubeadmin-of-the-other\n",
		other(seed.RestoreFile):                          `{"password":"planted-restore-of-the-other"}`,
		host.RecertPullSecret:                            pull,
		host.KubeletConfigJSON:                           pull,
		host.LocalKubeconfig:                             kubeconfig,
		ipconfig.CryptoDir + "/admin.key":                pemKey,
		host.Workspace + "/anything-else":                "planted-file-that-no-list-has",
		seed.SigningPasswordFile:                         "planted-cosign",
		ipconfig.RequestFile:                             `{"operation-id":"op"}`,
		host.RecertSummary:                               "certificates: 3\n" + pemKey,
		operation.JournalPath("op"):                      `{"step":"apply-network","error":"psk planted-psk with blank refused"}` + "\n",
		other(operation.JournalPath("op")):               `{"step":"recert"}` + "\n",
		operation.EvidencePath("op") + "/bundle.json":    `{"cause":"watchdog"}`,
	} {
		require.NoError(t, files.Write(file, []byte(text), 0o600), file)
	}
	return []string{"planted", "cGxhbnRlZ", "MIGHplanted"}
}

func collect(t *testing.T, n gather.Node) map[string]string {
	t.Helper()
	var file bytes.Buffer
	others, err := n.Others(t.Context())
	require.NoError(t, err)
	a := archive.New(&file, "root", time.Unix(1, 0), n.Redactor(others).Redact)
	require.NoError(t, n.Collect(t.Context(), a, others))
	require.NoError(t, a.Close())
	return archivetest.Unpack(t, &file, "root")
}

func newNode(t *testing.T) gather.Node {
	t.Helper()
	fake := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	p := fake.Ports()
	return gather.Node{
		Files: p.Files, Deployments: stateroots{p.Deployments}, Units: p.Units, Network: p.Network,
		Logs:     said("planted-key-of-the-overlay, Authorization: Bearer planted.token.of.a.log, " + jwt + ", planted-site-password, planted-site-auth, planted-kubeadmin, planted-request-inner, planted-psk with blank"),
		Journals: stored{host.InVar("rhcos_ipc-other", "/var/log/journal"): "the other stateroot says: planted-restore-of-the-other\n"},
	}
}

// TestNoPlantedSecretIsInTheArchive: keys of NetworkManager, documents of a restore and of a relocation, pull secrets, kubeconfigs, tokens
// and private keys, in their files and where logs and journals quote them.
func TestNoPlantedSecretIsInTheArchive(t *testing.T) {
	n := newNode(t)
	words := plant(t, n.Files)
	for name, text := range collect(t, n) {
		for _, word := range words {
			require.NotContains(t, name, word)
			require.NotContains(t, text, word, name)
		}
	}
}

// TestTheArchiveHasBothStateroots, their operations, units, network and the summary of recert.
func TestTheArchiveHasBothStateroots(t *testing.T) {
	n := newNode(t)
	plant(t, n.Files)
	files := collect(t, n)
	for name, text := range map[string]string{
		"deployments.json":                             `"stateroot": "rhcos"`,
		"running/journal.log":                          "the system says",
		"running/var/lib/lca/journal/op.jsonl":         "apply-network",
		"running/var/lib/lca/evidence/op/bundle.json":  "watchdog",
		"running/var/tmp/recert-summary.yaml":          "certificates: 3",
		"rhcos_ipc-other/var/lib/lca/journal/op.jsonl": "recert",
		"rhcos_ipc-other/journal.log":                  "the other stateroot says",
		"units/kubelet.service.log":                    "kubelet.service says",
		"units/states.json":                            `"kubelet.service"`,
		"network/observed.yaml":                        "interfaces",
		"network/connections.txt":                      "/etc/NetworkManager/merged/macsec.nmconnection\n",
		archive.Index:                                  "units/kubelet.service.log",
	} {
		require.Contains(t, files[name], text, name)
	}
	require.NotContains(t, files, "running/var/lib/lca/workspace/relocation.json")
}

// stateroots are two, of which rhcos runs.
type stateroots struct{ host.Deployments }

func (stateroots) Stateroots(context.Context) ([]string, error) {
	return []string{"rhcos", "rhcos_ipc-other"}, nil
}

// silent is a network that cannot be observed.
type silent struct{ host.Network }

func (silent) Observe(context.Context) (netstate.Document, error) {
	return netstate.Document{}, errors.New("no bus, password=planted1234")
}

func TestWhatCannotBeReadIsNoted(t *testing.T) {
	n := newNode(t)
	n.Network = silent{}
	files := collect(t, n)
	require.Contains(t, files[archive.Index], "missing  network/observed.yaml: no bus, password=[redacted]")
	require.Contains(t, files, "units/states.json")
}

// broken is a node without ostree, or one whose deployments cannot be listed.
type broken struct{ host.Deployments }

func (broken) List(context.Context) ([]host.Deployment, error) {
	return nil, errors.New("ostree: no sysroot")
}

func TestANodeWithoutOstreeHasAnArchive(t *testing.T) {
	n := newNode(t)
	words := plant(t, n.Files)
	n.Deployments = broken{n.Deployments}
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	cmd := gather.Command(gather.Wiring{Out: io.Discard, Now: time.Now, Node: func(context.Context) (gather.Node, error) { return n, nil }})
	cmd.SetArgs([]string{"--file", file})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	data, err := os.ReadFile(file)
	require.NoError(t, err)
	all := ""
	for name, text := range archivetest.Unpack(t, bytes.NewReader(data), "root") {
		all += name + "\n" + text
	}
	require.Contains(t, all, "missing  stateroots: list deployments: ostree: no sysroot")
	require.Contains(t, all, "kubelet.service says")
	for _, word := range words {
		require.NotContains(t, all, word)
	}
}

func TestTheVerbPrintsWhereTheArchiveIs(t *testing.T) {
	n := newNode(t)
	var out bytes.Buffer
	file := filepath.Join(t.TempDir(), "a.tar.gz")
	cmd := gather.Command(gather.Wiring{Out: &out, Now: time.Now, Node: func(context.Context) (gather.Node, error) { return n, nil }})
	cmd.SetArgs([]string{"--file", file})
	require.NoError(t, cmd.ExecuteContext(t.Context()))
	require.Equal(t, file+"\n", out.String())
	require.FileExists(t, file)
}
