package report_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/report"
)

const site = "rhcos_site-x"

// factory is a node in a factory, and what its cluster says.
type factory struct {
	node       *hosttest.Node
	facts      relocation.Facts
	crypto     report.Crypto
	encryption string
	problems   []string
	images     []report.Image
	have       []host.ContainerImage
	err        error
}

func (f *factory) Facts(context.Context) (relocation.Facts, error)          { return f.facts, f.err }
func (f *factory) Problems(context.Context) ([]string, error)               { return f.problems, f.err }
func (f *factory) Crypto(context.Context) (report.Crypto, error)            { return f.crypto, f.err }
func (f *factory) Encryption(context.Context) (string, error)               { return f.encryption, f.err }
func (f *factory) Images(context.Context) ([]report.Image, error)           { return f.images, f.err }
func (f *factory) RPMOSTree(context.Context) ([]byte, error)                { return nil, nil }
func (f *factory) installed(context.Context) ([]host.ContainerImage, error) { return f.have, nil }

type runtime struct{ *factory }

func (r runtime) Images(ctx context.Context) ([]host.ContainerImage, error) { return r.installed(ctx) }

// still is a clock that stands.
type still struct{ flow.Clock }

func (still) Now() time.Time { return time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC) }

func days(n int) time.Time { return still{}.Now().Add(time.Duration(n) * 24 * time.Hour) }

// ready is a node that may be shipped.
func ready(t *testing.T) *factory {
	t.Helper()
	f := &factory{node: hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}),
		facts: relocation.Facts{Version: "4.22.1", Node: "n", ClusterName: "c", BaseDomain: "example.com", ControlPlaneNodes: 1},
		crypto: report.Crypto{Certificates: []relocation.Certificate{
			{Subject: "CN=kubelet", Ends: days(1), Renewed: true, Places: []string{"/var/lib/kubelet/pki/kubelet-client-current.pem"}},
			{Subject: "CN=etcd", Ends: days(1000), Renewed: true}}},
		images: []report.Image{{Pod: "a/b", Name: "registry.example.org/a@sha256:1"}, {Pod: "a/c", Name: "a:1", ID: "mirror.example.org/c@sha256:2"}},
		have:   []host.ContainerImage{{Digests: []string{"mirror.example.org/a@sha256:1"}}, {Digests: []string{"mirror.example.org/c@sha256:2"}}},
	}
	_, err := f.node.Deployments().Clone(t.Context(), site)
	require.NoError(t, err)
	require.NoError(t, f.node.Deployments().SetDefault(t.Context(), site))
	f.record(t, relocation.Record{Factory: "rhcos", Site: site, Uplink: "enp1s0", Internal: netip.MustParsePrefix("192.0.2.1/29")})
	return f
}

func (f *factory) record(t *testing.T, r relocation.Record) {
	t.Helper()
	require.NoError(t, operation.WriteJSON(f.node.Files(), relocation.RecordFile, r))
}

func (f *factory) verify(t *testing.T) report.Report {
	t.Helper()
	r, err := report.Verify(t.Context(), report.Ports{Node: f.node.Ports(), Reports: runtime{f}, Cluster: f, Lock: f.node.Lock(), Clock: still{}}, "SN-1", 30)
	require.NoError(t, err)
	return r
}

func find(t *testing.T, r report.Report, name string) report.Check {
	t.Helper()
	for _, c := range r.Checks {
		if c.Name == name {
			return c
		}
	}
	require.Failf(t, "no such check", "%s", name)
	return report.Check{}
}

func TestANodeThatMayBeShipped(t *testing.T) {
	r := ready(t).verify(t)
	for _, c := range r.Checks {
		require.NotEqual(t, report.Failure, c.Severity, "%s: %s", c.Name, c.Message)
	}
	require.True(t, r.Ready)
	c := find(t, r, "certificates")
	require.Equal(t, report.Notice, c.Severity)
	require.Equal(t, []string{"CN=kubelet, until 2026-01-03, in /var/lib/kubelet/pki/kubelet-client-current.pem: renewed on site"}, c.Details)
}

func TestEveryCheckFindsWhatItIsFor(t *testing.T) {
	for name, k := range map[string]struct {
		check    string
		change   func(t *testing.T, f *factory)
		severity report.Severity
		want     string
	}{
		"workers":      {"single-node", func(_ *testing.T, f *factory) { f.facts.OtherNodes = 2 }, report.Failure, "1 control-plane nodes and 2 others"},
		"sick":         {"health", func(_ *testing.T, f *factory) { f.problems = []string{"clusteroperator dns: degraded"} }, report.Failure, "1 problem"},
		"not prepared": {"prepared", func(t *testing.T, f *factory) { require.NoError(t, f.node.Files().Remove(relocation.Dir)) }, report.Failure, "is not prepared"},
		"another default": {"prepared", func(t *testing.T, f *factory) {
			require.NoError(t, f.node.Deployments().SetDefault(t.Context(), "rhcos"))
		}, report.Failure, "stateroot rhcos boots next"},
		"away": {"prepared", func(t *testing.T, f *factory) { f.record(t, relocation.Record{Factory: "other", Site: site}) }, report.Failure, "is not the factory's"},
		"a pending request": {"operation", func(t *testing.T, f *factory) {
			require.NoError(t, operation.WriteJSON(f.node.Files(), relocation.PendingFile, relocation.Pending{Action: relocation.PendingCancel}))
		}, report.Failure, "a cancel was asked for"},
		"lock held": {"operation", func(t *testing.T, f *factory) {
			_, err := f.node.Lock().Acquire(t.Context(), host.Holder{Operation: "stateroot-clone 1", Program: "p"})
			require.NoError(t, err)
		}, report.Failure, "the node is held by"},
		"certificate for good": {"certificates", func(_ *testing.T, f *factory) {
			f.crypto.Certificates = append(f.crypto.Certificates, relocation.Certificate{Subject: "CN=api", Ends: days(29)})
		}, report.Failure, "2 certificates end within 30 days, 1 of them for good"},
		"all last":      {"certificates", func(_ *testing.T, f *factory) { f.crypto.Certificates = f.crypto.Certificates[1:] }, report.OK, "all 1 certificates last longer"},
		"image missing": {"images", func(_ *testing.T, f *factory) { f.have = f.have[:1] }, report.Failure, "1 image of a pod is not on the node"},
		"image pulled":  {"images", func(_ *testing.T, f *factory) { f.images[0].Always = true }, report.Warning, "pulled at each start"},
		"no runtime":    {"images", func(_ *testing.T, f *factory) { f.have = nil }, report.Notice, "lists no images"},
		"encrypted":     {"encryption", func(_ *testing.T, f *factory) { f.encryption = "aescbc" }, report.Failure, "encrypted (aescbc)"},
		"blocked":       {"recert", func(_ *testing.T, f *factory) { f.crypto.Blocked = []string{"etcd: unreadable"} }, report.Failure, "could not rewrite"},
		"owned profile": {"machine-config", owned("/etc/NetworkManager/system-connections/a.nmconnection"), report.Failure, "MachineConfig m owns files"},
		"other units":   {"machine-config", owned("/etc/systemd/system/" + relocation.UnitReconfigure), report.Failure, "MachineConfig m owns files"},
		"owned hint":    {"machine-config", owned(host.NodeIPHint), report.Warning, "owns the node-IP hint"},
		"other files":   {"machine-config", owned("/etc/motd"), report.OK, "no MachineConfig owns"},
		"no room":       {"disk", func(_ *testing.T, f *factory) { f.node.SetFree(1 << 20) }, report.Failure, "1 MiB are free, 1024 MiB are needed"},
		"site gone":     {"ostree", func(t *testing.T, f *factory) { f.record(t, relocation.Record{Factory: "rhcos", Site: "gone"}) }, report.Failure, "is not deployed"},
		"old ostree":    {"ostree", func(_ *testing.T, f *factory) { f.node.SetDefaultUnsupported(errors.New("too old")) }, report.Failure, "cannot choose its next boot"},
		"no address":    {"internal-address", func(t *testing.T, f *factory) { f.record(t, relocation.Record{Factory: "rhcos", Site: site}) }, report.Notice, "no known address"},
		"API down":      {"health", func(_ *testing.T, f *factory) { f.err = errors.New("connection refused") }, report.Failure, "cannot be checked: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			f := ready(t)
			k.change(t, f)
			r := f.verify(t)
			c := find(t, r, k.check)
			require.Equal(t, k.severity, c.Severity, c.Message)
			require.Contains(t, c.Message, k.want)
			require.Equal(t, r.Count(report.Failure) == 0, r.Ready)
			if k.severity == report.Failure {
				require.False(t, r.Ready)
				require.NotEmpty(t, c.Hint)
			}
		})
	}
}

func owned(file string) func(*testing.T, *factory) {
	return func(t *testing.T, f *factory) {
		require.NoError(t, f.node.Files().Write(file, []byte("theirs"), 0o644))
		require.NoError(t, f.node.Files().Write(host.MachineConfig, []byte(`{"metadata":{"name":"m"},"spec":{"config":{"storage":{"files":[{"path":"`+file+`"}]},`+
			`"systemd":{"units":[{"name":"`+relocation.UnitReconfigure+`","contents":""}]}}}}`), 0o644))
	}
}

func TestFormats(t *testing.T) {
	f := ready(t)
	f.problems = []string{"<script>alert(1)</script>"}
	r := f.verify(t)
	var text, page bytes.Buffer
	require.NoError(t, r.Text(&text))
	require.Contains(t, text.String(), "FAILURE   Health of the cluster: 1 problem\n")
	require.Contains(t, text.String(), "This node is NOT ready to be shipped: 1 check has failed.\n")
	require.NoError(t, r.HTML(&page))
	require.Contains(t, page.String(), "<title>Shipping report: SN-1</title>")
	require.Contains(t, page.String(), "&lt;script&gt;")
	require.NotContains(t, page.String(), "<script")
	require.Contains(t, page.String(), "Fri, 02 Jan 2026")
	data, err := json.Marshal(r)
	require.NoError(t, err)
	var back report.Report
	require.NoError(t, json.Unmarshal(data, &back))
	require.Equal(t, r.Checks, back.Checks)
	require.Len(t, back.Ending, 1)
}
