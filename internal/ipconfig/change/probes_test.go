package change_test

import (
	"encoding/json"
	"errors"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

func TestProbesTravelWithTheRequest(t *testing.T) {
	spec := lcav1.IPConfigSpec{IPv4: &lcav1.IPv4Config{Address: newSite.address, MachineNetwork: newSite.network, Gateway: newSite.gateway}}
	spec.Probes = []lcav1.Probe{
		{Name: "ntp", Type: lcav1.ProbeICMP, Target: "192.0.2.7"},
		{Name: "web", Type: lcav1.ProbeHTTP, Target: "https://a/", TimeoutSeconds: 5,
			HTTP: &lcav1.HTTPProbe{StatusCodes: []int32{204}, CABundle: "pem", InsecureSkipVerify: true}},
	}
	data, err := json.Marshal(ipconfig.BuildRequest("op", "rhcos", spec, ipconfig.Current{}).Probes)
	require.NoError(t, err)
	require.JSONEq(t, `[{"name":"ntp","type":"icmp","target":"192.0.2.7","timeout-seconds":30},
		{"name":"web","type":"http","target":"https://a/","timeout-seconds":5,"status-codes":[204],"ca-bundle":"pem","insecure-skip-verify":true}]`, string(data))
}

// TestAFailingProbeRollsBackAndIsNamed: the new network carries the cluster, but not what the user needs.
func TestAFailingProbeRollsBackAndIsNamed(t *testing.T) {
	w := newWorld(t)
	w.node.Serve("http://hub.example/healthz", errors.New("the answer is 503 Service Unavailable"))
	w.probes = append(w.probes,
		lcav1.Probe{Name: "hub", Type: lcav1.ProbeHTTP, Target: "http://hub.example/healthz", TimeoutSeconds: 7},
		lcav1.Probe{Name: "backup", Type: lcav1.ProbeDNS, Target: "backup.example"})
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "old", verdict)
	op, err := w.open(t.Context())
	require.NoError(t, err)
	progress, err := ipconfig.ReadProgress(w.node.Files(), op.Request.OperationID)
	require.NoError(t, err)
	require.Contains(t, progress.Cause, `automatic rollback: ip-config post-pivot failed: `)
	require.Contains(t, progress.Cause, `probe "hub" got no good answer within 7s: http http://hub.example/healthz: the answer is 503`)
	require.Contains(t, progress.Cause, `probe "backup" got no good answer within 30s: dns backup.example: no answer`)
	require.NotContains(t, progress.Cause, "registry", "it answers")
	w.probes = nil
	require.NoError(t, w.Again())
}

// TestOneDNSServerOfEachFamilySuffices: the others are a warning.
func TestOneDNSServerOfEachFamilySuffices(t *testing.T) {
	const silent, refusing = "198.51.100.54", "198.51.100.55"
	for _, c := range []struct {
		name    string
		servers []string
		verdict string
		says    []string
	}{
		{"one of three serves", []string{silent, newSite.dns, refusing}, "new", []string{silent + ": no answer", refusing + ": refused"}},
		{"none serves", []string{silent, refusing}, "old", []string{silent + ": no answer", refusing + ": refused"}},
		{"one that refuses is as good as none", []string{refusing}, "old", []string{refusing + ": refused"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			w.edit = func(s *lcav1.IPConfigSpec) { s.DNSServers = c.servers }
			w.node.Silence(netip.MustParseAddr(silent))
			w.node.Refuse(netip.MustParseAddr(refusing))
			require.NoError(t, w.Live(nil))
			w.requireVerdict(c.verdict)
			p := w.progress()
			for _, says := range c.says {
				require.Contains(t, p.DNS+p.Cause, says)
			}
			require.Equal(t, c.verdict == "new", p.DNS != "")
			require.NotContains(t, p.DNS, newSite.dns)
		})
	}
}

// TestAProbeThatAnswersLateIsInTime: what a change starts anew takes a moment.
func TestAProbeThatAnswersLateIsInTime(t *testing.T) {
	w := newWorld(t)
	const late = "late.example:443"
	w.probes = []lcav1.Probe{{Name: "late", Type: lcav1.ProbeTCP, Target: late, TimeoutSeconds: 60}}
	var first time.Time
	w.clock.slept = func(now time.Time) {
		if first.IsZero() {
			first = now
		}
		if now.Sub(first) > 20*time.Second {
			w.node.Serve(late, nil)
		}
	}
	require.NoError(t, w.Live(nil))
	require.Empty(t, w.node.Failures())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "new", verdict)
}
