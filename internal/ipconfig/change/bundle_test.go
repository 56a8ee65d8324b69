package change_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// quoted are secrets, and the ways in which logs and documents quote them.
type quoted struct {
	key   string // PEM
	leaks []string
	log   string
}

func plant(t *testing.T) quoted {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P384(), rand.Reader)
	require.NoError(t, err)
	der, err := x509.MarshalECPrivateKey(private)
	require.NoError(t, err)
	p := quoted{key: string(pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}))}
	lines := strings.Split(strings.TrimSpace(p.key), "\n")
	p.leaks = append(p.leaks, lines[1:len(lines)-1]...)
	wrapped := base64.StdEncoding.EncodeToString([]byte(p.key))
	p.leaks = append(p.leaks, "registry-Passw0rd", base64.StdEncoding.EncodeToString([]byte("admin:registry-Passw0rd")), "hunter2hunter2",
		"c2lnbmF0dXJlc2lnbmF0dXJl", "abcdefghijklmnop", "Sup3rS3cr3tToken", wrapped[20:60])
	var b strings.Builder
	for _, line := range lines[2:] { // the window of the log begins inside the key
		b.WriteString("2026-01-02T03:04:05+0000 sno kubelet[7]: " + line + "\n")
	}
	for _, line := range lines {
		b.WriteString("2026-01-02T03:04:06+0000 sno kubelet[7]: " + line + "\n")
	}
	fmt.Fprintf(&b, "pulling with registry-Passw0rd\nAuthorization: Bearer abcdefghijklmnop\npassword: hunter2hunter2\n"+
		"tls.key: %s\n{\"auths\":{\"r\":{\"auth\":%q}}}\neyJhbGciOiJSUzI1NiJ9.eyJpc3MiOiJrdWJlIn0.c2lnbmF0dXJlc2lnbmF0dXJl\n"+
		"GET https://admin:hunter2hunter2@registry.example.org/v2\nsha256~Sup3rS3cr3tToken\nwell known: nothing to hide\n", wrapped, p.leaks[len(lines)-1])
	p.log = b.String()
	return p
}

// talkative are logs of units that tell everything, at length.
type talkative struct{ says string }

func (l talkative) Unit(_ context.Context, unit string, _ int) ([]byte, error) {
	switch unit {
	case "ovs-configuration.service":
		return nil, errors.New("journalctl: " + l.says)
	case host.UnitKubelet:
		return append(bytes.Repeat([]byte("noise of the kubelet\n"), 100_000), l.says...), nil
	}
	return []byte(unit + " says:\n" + l.says), nil
}

func (l talkative) System(context.Context, int) ([]byte, error) { return []byte(l.says), nil }

// revealing fails as no adapter should: its error quotes what it worked on.
type revealing struct{ says string }

func (r revealing) Run(context.Context, string) error { return errors.New("no signer key: " + r.says) }

// TestAFailureBundleWithoutSecrets fails a change in every way there is, on a node that is full of secrets and talks of
// them, and looks at what the stateroot that boots afterwards holds.
func TestAFailureBundleWithoutSecrets(t *testing.T) {
	for _, c := range []struct {
		name, cause string
		arrange     func(*world, quoted)
	}{
		{"post-pivot fails", "automatic rollback: ip-config post-pivot failed", func(w *world, p quoted) { w.recert = revealing{p.log} }},
		{"attempt limit", "given up after 5 runs", func(w *world, _ quoted) {
			w.wrap = failing(ipconfig.StepApplyNetwork, func(context.Context) error { w.node.KillHere(); return nil })
		}},
		{"watchdog", ipconfig.CauseWatchdog, func(w *world, _ quoted) {
			w.arrival = func(w *world) {
				op, err := w.open(context.Background())
				require.NoError(w.t, err)
				_ = op.RollBack(context.Background(), "", ipconfig.CauseWatchdog+"30m0s")
			}
		}},
		{"on request", ipconfig.CauseRequested, func(w *world, _ quoted) { w.then = rollBackOnRequest }},
		{"pre-pivot fails", "pre-pivot failed at step furnish", func(w *world, p quoted) {
			w.wrap = failing(ipconfig.StepFurnish, func(context.Context) error { return errors.New("no luck: " + p.log) })
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := plant(t)
			w := newWorld(t)
			w.logs, w.key = talkative{p.log}, []byte(p.key)
			require.NoError(t, w.node.Seed(host.KubeletConfigJSON, fmt.Appendf(nil, `{"auths":{"r":{"auth":%q}}}`,
				base64.StdEncoding.EncodeToString([]byte("admin:registry-Passw0rd")))))
			require.NoError(t, w.node.Seed(host.RecertSummary, []byte("summary:\n"+p.log)))
			c.arrange(w, p)
			require.NoError(t, w.Live(nil))
			require.Equal(t, oldStateroot, w.node.Describe().Booted, "%v", w.node.Failures())
			requireBundle(t, w, p, c.cause)
		})
	}
}

// failing makes a step do something else.
func failing(step string, do func(context.Context) error) func(flow.Plan) flow.Plan {
	return func(p flow.Plan) flow.Plan {
		for i := range p.Steps {
			if p.Steps[i].Name == step {
				p.Steps[i].Do = do
			}
		}
		return p
	}
}

func requireBundle(t *testing.T, w *world, p quoted, cause string) {
	t.Helper()
	files := w.node.Files()
	r, err := ipconfig.ReadRequest(files)
	require.NoError(t, err)
	dir := operation.EvidencePath(r.OperationID)
	require.Contains(t, operation.Records(files, r.OperationID), dir, "status names it")

	var index struct {
		Operation, Cause string
		Files            []struct {
			Name       string
			Bytes, Cut int
		}
		Missing []struct{ Name, Error string }
	}
	data, err := files.Read(path.Join(dir, operation.BundleIndex))
	require.NoError(t, err)
	require.NoError(t, json.Unmarshal(data, &index))
	require.Equal(t, r.OperationID, index.Operation)
	require.Contains(t, index.Cause, cause)
	require.NotEmpty(t, index.Missing, "what cannot be had is noted")

	names, err := files.List(dir)
	require.NoError(t, err)
	require.Len(t, names, len(index.Files)+1)
	total, cut := 0, 0
	for _, name := range names {
		data, err := files.Read(path.Join(dir, name))
		require.NoError(t, err)
		for _, leak := range p.leaks {
			require.NotContains(t, string(data), leak, name)
		}
		info, err := files.Stat(path.Join(dir, name))
		require.NoError(t, err)
		require.EqualValues(t, 0o600, info.Mode().Perm(), name)
		total += len(data)
	}
	for _, f := range index.Files {
		cut += f.Cut
		require.LessOrEqual(t, f.Bytes, 256<<10)
	}
	require.Positive(t, cut, "two megabytes of kubelet are too much")
	require.Less(t, total, 3<<20)
	kept, err := files.Read(path.Join(dir, host.UnitKubelet+".log"))
	require.NoError(t, err)
	require.Contains(t, string(kept), "nothing to hide", "the end is what counts")
	for _, must := range []string{"operation.jsonl", "network.yaml", "journal.log", "NetworkManager.service.log"} {
		require.Contains(t, names, must)
	}
}

// TestTheBundleIsBounded has more to tell than fits: what explains most is kept.
func TestTheBundleIsBounded(t *testing.T) {
	w := newWorld(t)
	w.logs = talkative{strings.Repeat("much to tell\n", 100_000)}
	w.recert = brokenRecert{}
	require.NoError(t, w.Live(nil))
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(t, err)
	dir := operation.EvidencePath(r.OperationID)
	names, err := w.node.Files().List(dir)
	require.NoError(t, err)
	total := 0
	for _, name := range names {
		data, err := w.node.Files().Read(path.Join(dir, name))
		require.NoError(t, err)
		total += len(data)
	}
	require.LessOrEqual(t, total, 2<<20+16<<10)
	require.Contains(t, names, "operation.jsonl")
	index, err := w.node.Files().Read(path.Join(dir, operation.BundleIndex))
	require.NoError(t, err)
	require.Contains(t, string(index), "the bundle is full")
}

// TestAFullDiskDoesNotKeepTheNodeFromGoingBack, though there is no room for evidence.
func TestAFullDiskDoesNotKeepTheNodeFromGoingBack(t *testing.T) {
	w := newWorld(t)
	w.arrival = func(w *world) { w.node.SetFree(0) }
	w.power = func() error { w.node.SetFree(1 << 40); return nil }
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
}
