//go:build lab

package scenario

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab/demo"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// TestChangeAndRollBack is the main job, as the demo shows it.
func TestChangeAndRollBack(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, _ := sharedNode(t)
	report := filepath.Join(t.TempDir(), "report.json")
	require.NoError(t, (&demo.Demo{Lab: l, Out: os.Stderr, ReportFile: report}).Run(ctx))
	require.FileExists(t, report)
	left := in(ctx, t, l, "ls", "/ostree/deploy")
	require.Equal(t, "rhcos", left, "Idle leaves one stateroot")
	_, err := os.Stat(report)
	require.NoError(t, err)
	secrets := in(ctx, t, l, "sh", "-c", "ls /var/lib/lca/workspace 2>/dev/null | wc -l")
	require.Equal(t, "0", secrets, "Idle leaves no crypto material behind")
}

// failed says that the change was given up.
func failed(ipc *lcav1.IPConfig) bool {
	for _, c := range ipc.Status.Conditions {
		if c.Type == lcav1.ConditionConfigCompleted {
			return c.Status == "False" && c.Reason == lcav1.ReasonFailed
		}
	}
	return false
}

// TestADeadGatewayGoesBackByItself asks for a network whose gateway does not answer.
func TestADeadGatewayGoesBackByItself(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := sharedNode(t)
	require.NoError(t, l.Net.Drop(ctx, network.Away().Gateway))
	t.Cleanup(func() { require.NoError(t, l.Net.Restore(context.Background(), network.Away().Gateway)) })
	require.NoError(t, d.Patch(ctx, move()))
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "gateway 198.51.100.1 on uplink0 gives no sign of life")
	require.NotContains(t, drive.Summary(ipc), "DNS server", "the DNS server beside it lives")
	require.Equal(t, []lcav1.IPConfigStage{lcav1.StageIdle}, ipc.Status.ValidNextStages)
	require.NotEmpty(t, ipc.Status.Evidence)
	require.True(t, drive.Look(ctx, l, home).API, "the old address works again")

	bundle := in(ctx, t, l, "sh", "-c", "ls /var/lib/lca/evidence/*")
	require.Contains(t, bundle, "ip-configuration.service.log")

	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err = d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
}

// TestAFailingProbeGoesBackByItself: gateway and DNS of the new site are well, but what the user needs is not there.
func TestAFailingProbeGoesBackByItself(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := node(t, "scenario-probe")
	request := move()
	gateway := network.Away().Gateway.Addr().String()
	request["spec"].(object)["probes"] = []object{
		{"name": "gateway", "type": "icmp", "target": gateway},
		{"name": "names", "type": "dns", "target": "registry.lab.example"},
		{"name": "hub", "type": "tcp", "target": gateway + ":8443", "timeoutSeconds": 5},
	}
	require.NoError(t, d.Patch(ctx, request))
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), `probe "hub" got no good answer within 5s: tcp 198.51.100.1:8443: `)
	require.NotContains(t, drive.Summary(ipc), `probe "gateway"`)
	require.NotContains(t, drive.Summary(ipc), `probe "names"`)
	require.True(t, drive.Look(ctx, l, home).API, "the old address works again")

	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err = d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
	probes := object{"spec": object{"probes": []object{{"name": "names", "type": "dns", "target": "registry.lab.example"}}}}
	require.NoError(t, d.Patch(ctx, probes))
	require.NoError(t, d.Stage(ctx, lcav1.StageConfig))
	_, err = d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	require.True(t, drive.Look(ctx, l, away).API)
}
