package relocation_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	domain "github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/report"
)

const siteFile = "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: site-1\nnodeIPs: [198.51.100.20]\n"

// sleepless is a clock that ends each wait at once.
type sleepless struct{ flow.SystemClock }

func (sleepless) Sleep(ctx context.Context, _ time.Duration) error { return ctx.Err() }

// api is a cluster without a fault.
type api struct{ problems []string }

func (api) Facts(context.Context) (domain.Facts, error) {
	return domain.Facts{Node: "n", ClusterName: "c", BaseDomain: "example.com", ControlPlaneNodes: 1}, nil
}
func (a api) Problems(context.Context) ([]string, error)               { return a.problems, nil }
func (api) Crypto(context.Context) (report.Crypto, error)              { return report.Crypto{}, nil }
func (api) Encryption(context.Context) (string, error)                 { return "", nil }
func (api) Images(context.Context) ([]report.Image, error)             { return nil, nil }
func (api) Certificates(context.Context) ([]domain.Certificate, error) { return nil, nil }
func (api) Healthy(context.Context) error                              { return nil }

// held is a node that waits for its site's configuration.
func held(t *testing.T) *hosttest.Node {
	t.Helper()
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos_site-x"})
	put := func(file string, value any) { require.NoError(t, operation.WriteJSON(n.Files(), file, value)) }
	put(domain.RecordFile, domain.Record{OperationID: "x", Factory: "rhcos", Site: "rhcos_site-x", Facts: domain.Facts{
		Node: "n", ClusterName: "c", BaseDomain: "example.com", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}})
	put(domain.HoldFile, struct{}{})
	require.NoError(t, n.Files().Write(host.UnitDir+"/"+domain.UnitReconfigure, []byte("[Service]\nExecStart=sleep 1\n"), 0o600))
	return n
}

func verbs(t *testing.T, n *hosttest.Node, a api, out *bytes.Buffer) *cobra.Command {
	t.Helper()
	return group(wiring(n, a, out))
}

func wiring(n *hosttest.Node, a api, out *bytes.Buffer) cli.NodeWiring {
	log := slog.New(slog.DiscardHandler)
	return cli.NodeWiring{
		Wiring: verb.Wiring{Lock: n.Lock(), Log: log, Out: out, Clock: sleepless{}},
		Factory: func(context.Context, bool) (factory.Ports, operation.Instruments, error) {
			return factory.Ports{Node: n.Ports(), Cluster: a, Clock: sleepless{}, Log: log}, operation.Instruments{}, nil
		},
		Site: func(context.Context, bool) (onsite.Ports, operation.Instruments, error) {
			return onsite.Ports{Node: n.Ports(), Clock: sleepless{}, Log: log, NewID: func() string { return "y" }}, operation.Instruments{}, nil
		},
		Report: func(context.Context) (report.Ports, error) {
			return report.Ports{Node: n.Ports(), Reports: n.Reports(), Cluster: a, Lock: n.Lock(), Clock: sleepless{}}, nil
		},
		Machine: func() string { return "SN-1" }, NewID: func() string { return "y" }, Alive: func() {},
	}
}

func group(w cli.NodeWiring) *cobra.Command {
	root := cli.Group(cli.NodeCommands(w)...)
	root.SilenceErrors, root.SilenceUsage = true, true
	return root
}

func onNode(t *testing.T, n *hosttest.Node, in string, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := verbs(t, n, api{}, &out)
	cmd.SetIn(strings.NewReader(in))
	cmd.SetArgs(args)
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func requireFinal(t *testing.T, err error, words string) {
	t.Helper()
	var final *verb.FinalError
	require.ErrorAs(t, err, &final)
	require.ErrorContains(t, err, words)
}

func TestApplyShowsThePlanAndHandsTheConfigurationOver(t *testing.T) {
	n := held(t)
	out, err := onNode(t, n, siteFile, "apply", "-f", "-", "--dry-run")
	require.NoError(t, err)
	require.Contains(t, out, "- Rename the node from n to site-1.\n")
	_, err = n.Files().Stat(domain.TypedFile)
	require.Error(t, err, "a dry run changes nothing")

	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "site-config.yaml"), []byte(siteFile), 0o600))
	for _, from := range []string{dir, filepath.Join(dir, "site-config.yaml")} {
		require.NoError(t, n.Files().Remove(domain.TypedFile))
		_, err = onNode(t, n, "", "apply", "-f", from, "--no-wait")
		require.NoError(t, err)
		typed, err := n.Files().Read(domain.TypedFile)
		require.NoError(t, err)
		require.Contains(t, string(typed), "hostname: site-1")
	}
	_, err = onNode(t, n, siteFile, "apply", "-f", "-", "--no-wait")
	requireFinal(t, err, "another configuration is being carried out")
}

func TestApplyRefuses(t *testing.T) {
	n := held(t)
	_, err := onNode(t, n, siteFile+"nonsense: 1\n", "apply", "-f", "-")
	requireFinal(t, err, "nonsense: is not a known key")
	_, err = onNode(t, n, "", "apply", "-f", filepath.Join(t.TempDir(), "none"))
	require.ErrorContains(t, err, "no such file")
	_, err = onNode(t, n, strings.Replace(siteFile, "198.51.100.20", "2001:db8::1", 1), "apply", "-f", "-")
	requireFinal(t, err, "nodeIPs")
	require.NoError(t, n.Files().Remove(domain.Dir))
	_, err = onNode(t, n, siteFile, "apply", "-f", "-")
	requireFinal(t, err, "not prepared for relocation")
}

// A configuration that was applied already is reported, and not applied again.
func TestApplyTellsWhatWasAppliedAlready(t *testing.T) {
	n := held(t)
	_, err := onNode(t, n, siteFile, "apply", "-f", "-", "--no-wait")
	require.NoError(t, err)
	typed, err := n.Files().Read(domain.TypedFile)
	require.NoError(t, err)
	require.NoError(t, n.Files().Remove(domain.TypedFile))
	require.NoError(t, operation.WriteJSON(n.Files(), domain.LastFile, domain.Last{Outcome: domain.OutcomeHome, Digest: digest(typed)}))
	_, err = onNode(t, n, siteFile, "apply", "-f", "-")
	requireFinal(t, err, "and is active")
	_, err = onNode(t, n, siteFile+"baseDomain: other.example.org\n", "apply", "-f", "-")
	requireFinal(t, err, "the node is at home on its site")
}

func TestApplyReportsAFailureByItsCode(t *testing.T) {
	n := held(t)
	n.Program(domain.UnitReconfigure, func(context.Context) error {
		return errors.Join(n.Files().Remove(domain.TypedFile), operation.WriteJSON(n.Files(), domain.LastFile,
			domain.Last{Outcome: domain.OutcomeRetry, Step: "apply-network", Cause: "gateway 192.0.2.1 gives no sign of life"}))
	})
	_, err := onNode(t, n, siteFile, "apply", "-f", "-")
	requireFinal(t, err, "code L23: ")
}

func TestVerifyAndItsExitCode(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	file := filepath.Join(t.TempDir(), "report.html")
	out, err := onNode(t, n, "", "verify", "-o", "html", "--output-file", file)
	require.ErrorContains(t, err, "not ready to be shipped")
	var final *verb.FinalError
	require.False(t, errors.As(err, &final), "the exit code is 1")
	require.Contains(t, out, "This node is NOT ready to be shipped")
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Contains(t, string(page), "<title>Shipping report: SN-1</title>")

	_, err = n.Deployments().Clone(t.Context(), "rhcos_site-x")
	require.NoError(t, err)
	require.NoError(t, n.Deployments().SetDefault(t.Context(), "rhcos_site-x"))
	require.NoError(t, operation.WriteJSON(n.Files(), domain.RecordFile, domain.Record{Factory: "rhcos", Site: "rhcos_site-x"}))
	for _, format := range []string{"text", "yaml", "json"} {
		out, err = onNode(t, n, "", "verify", "-o", format)
		require.NoError(t, err)
		require.Contains(t, out, "SN-1")
	}
	_, err = onNode(t, n, "", "verify", "-o", "pdf")
	require.ErrorContains(t, err, "none of text, yaml, json, html")
}

func TestCancelAwayFromTheFactoryIsRefused(t *testing.T) {
	_, err := onNode(t, held(t), "", "cancel")
	requireFinal(t, err, "'lca-cli relocation rollback' boots that")
	_, err = onNode(t, held(t), "", "rollback")
	requireFinal(t, err, "there is nothing to go back to")
	_, err = onNode(t, held(t), "", "keep")
	requireFinal(t, err, "not at home on a site")
	_, err = onNode(t, held(t), "", "prepare")
	requireFinal(t, err, "has left the factory")
}

func TestStatusSaysWhatTheNodeWaitsFor(t *testing.T) {
	n := held(t)
	out, err := onNode(t, n, "", "status")
	require.NoError(t, err)
	require.Contains(t, out, "waiting for a site configuration")
	require.NoError(t, operation.WriteJSON(n.Files(), domain.PendingFile, domain.Pending{Action: domain.PendingRollback, Cause: onsite.CauseRequested}))
	out, err = onNode(t, n, "", "status")
	require.NoError(t, err)
	require.Contains(t, out, "a rollback was asked for and is under way")

	require.NoError(t, n.Files().Write(domain.RequestFile, []byte("{"), 0o600))
	out, err = onNode(t, n, "", "status")
	require.NoError(t, err, "a damaged request is shown")
	require.Contains(t, out, "Damaged")
	require.Contains(t, out, domain.RequestFile)
}

func TestTheMachineConfigIsPrinted(t *testing.T) {
	command := func(out *bytes.Buffer) *cobra.Command { return cli.MachineConfigCommand(cli.FilesWiring{Out: out}) }
	out, err := run(t, command, "--internal-address", "192.168.126.2/24")
	require.NoError(t, err)
	require.Contains(t, out, `"name": "98-master-lca-relocation"`)
	_, err = run(t, command, "--internal-address", "192.168.126.2")
	require.ErrorContains(t, err, "is not an address with a prefix length")
}

// The power went at the very end of an earlier run, or its unit was killed there and is restarted.
func TestCancelSweepsWhatAnEarlierOneLeft(t *testing.T) {
	for name, args := range map[string][]string{"a person": {"cancel"}, "the unit": {"cancel", "--run"}} {
		t.Run(name, func(t *testing.T) {
			n := held(t)
			require.NoError(t, n.Files().Remove(domain.RecordFile))
			require.NoError(t, operation.WriteJSON(n.Files(), domain.PendingFile, domain.Pending{Action: domain.PendingCancel}))
			_, err := onNode(t, n, "", args...)
			require.NoError(t, err)
			_, err = n.Files().Stat(domain.Dir)
			require.Error(t, err)
			_, err = onNode(t, n, "", args...)
			requireFinal(t, err, "not prepared for relocation")
		})
	}
}
