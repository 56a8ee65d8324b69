//go:build lab

package scenario

import (
	"context"
	"maps"
	"os"
	"path"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
)

// long skips a scenario of the longer list unless it is asked for: "make test" has to end within an hour on two cores.
func long(t *testing.T) {
	t.Helper()
	if os.Getenv("LCA_LAB_LONG") != "1" {
		t.Skip("reason: one of the longer list of scenarios (make test-long)")
	}
}

// dropIn adds settings to a unit of the node. They travel to the new stateroot with the rest of /etc.
func dropIn(ctx context.Context, t *testing.T, l *lab.Lab, unit, text string) {
	t.Helper()
	dir := "/etc/systemd/system/" + unit + ".d"
	in(ctx, t, l, "sh", "-c", "mkdir -p "+dir+" && printf '"+text+"' > "+dir+"/scenario.conf")
}

// noStore keeps recert away from etcd's data, while the rest of post-pivot and the rollback work.
const noStore = `[Service]\nInaccessiblePaths=/var/lib/etcd\n`

// notWhileSealed keeps a unit down in the new system until the change is over.
const notWhileSealed = `[Unit]\nConditionPathExists=!/var/lib/lca/workspace/seal.json\n`

// withAnnotations adds annotations to a request.
func withAnnotations(request object, annotations object) object {
	out := maps.Clone(request)
	out["metadata"] = object{"annotations": annotations}
	return out
}

// requireBack says that the node is as it was, and can be changed again.
func requireBack(ctx context.Context, t *testing.T, l *lab.Lab, d *drive.Driver, ipc *lcav1.IPConfig) {
	t.Helper()
	require.True(t, drive.Look(ctx, l, home).API, "the old address works")
	require.Equal(t, []lcav1.IPConfigStage{lcav1.StageIdle}, ipc.Status.ValidNextStages)
	require.Equal(t, "0", in(ctx, t, l, "sh", "-c", "find /ostree/deploy/*/var/lib/lca/workspace -name '*.key' -o -name 'recert-pull-secret.json' | wc -l"),
		"keys and pull secret are wiped in both stateroots")
	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err := d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
}

func TestUnreachableDNSGoesBackByItself(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := sharedNode(t)
	request := move()
	request["spec"].(object)["dnsServers"] = []string{"198.51.100.253"}
	require.NoError(t, d.Patch(ctx, request))
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "198.51.100.253")
	requireBack(ctx, t, l, d, ipc)
}

func TestAFailedRecertGoesBackByItself(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-recert")
	dropIn(ctx, t, l, "ip-configuration.service", noStore)
	require.NoError(t, d.Patch(ctx, move()))
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "failed at step recert")
	requireBack(ctx, t, l, d, ipc)
}

// TestAFailedRecertIsTriedOnWhenNobodyWantsToGoBack mends what is broken while the node stays.
func TestAFailedRecertIsTriedOnWhenNobodyWantsToGoBack(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-recert-stays")
	dropIn(ctx, t, l, "ip-configuration.service", noStore)
	require.NoError(t, d.Patch(ctx, withAnnotations(move(), object{lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: "Disabled"})))
	untilJournal(ctx, t, l, "a failed recert", `"failed","step":"recert"`)
	in(ctx, t, l, "sh", "-c", "rm -r /etc/systemd/system/ip-configuration.service.d && systemctl daemon-reload")
	_, err := d.Eventually(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	require.True(t, drive.Look(ctx, l, away).API)
}

// TestAClusterThatNeverStartsGoesBackByItself lets kubelet's start come to nothing, which only time tells.
func TestAClusterThatNeverStartsGoesBackByItself(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-no-kubelet")
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 25*time.Minute)
	defer cancel()
	dropIn(ctx, t, l, "kubelet.service", notWhileSealed)
	require.NoError(t, d.Patch(ctx, move()))
	ipc, err := d.Until(ctx, "a failed change in the old stateroot", failed)
	require.NoError(t, err)
	require.Contains(t, drive.Summary(ipc), "within 15m0s")
	requireBack(ctx, t, l, d, ipc)
}

// TestARollbackIsAskedForAsSoonAsItIsOffered asks at the first moment the API allows it. A quick node may have completed the
// change by then: that it had not is not asserted.
func TestARollbackIsAskedForAsSoonAsItIsOffered(t *testing.T) {
	tool(t, "systemd-nspawn")
	ctx, l, d := sharedNode(t)
	skip := object{lcav1.SkipPreConfigurationHealthChecksAnnotation: ""}
	require.NoError(t, d.Patch(ctx, withAnnotations(move(), skip)))
	_, err := d.Until(ctx, "the way back on offer", func(ipc *lcav1.IPConfig) bool {
		return len(ipc.Status.ValidNextStages) > 0 && ipc.Status.ValidNextStages[len(ipc.Status.ValidNextStages)-1] == lcav1.StageRollback
	})
	require.NoError(t, err)
	require.NoError(t, d.Stage(ctx, lcav1.StageRollback))
	ipc, err := d.Until(ctx, "a completed rollback", drive.Is(lcav1.ConditionRollbackCompleted))
	require.NoError(t, err)
	requireBack(ctx, t, l, d, ipc)
}

// TestAWatchdogThatIsSwitchedOffNeverGoesBack lets the deadline pass with nobody to confirm the change.
func TestAWatchdogThatIsSwitchedOffNeverGoesBack(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-no-watchdog")
	staysUnconfirmed(ctx, t, l, d, 20, object{lcav1.AutoRollbackOnFailureInitMonitorAnnotation: "Disabled"})
}

// TestAProvedChangeStaysThoughNoAgentConfirmsIt: what can be reached is not rolled back, unless that was asked for.
func TestAProvedChangeStaysThoughNoAgentConfirmsIt(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-proved")
	staysUnconfirmed(ctx, t, l, d, 180, object{})
}

// staysUnconfirmed makes a change whose agent does not start before post-pivot and the deadline are over.
func staysUnconfirmed(ctx context.Context, t *testing.T, l *lab.Lab, d *drive.Driver, deadline int, annotations object) {
	t.Helper()
	dropIn(ctx, t, l, "lifecycle-agent.service", notWhileSealed)
	request := withAnnotations(move(), annotations)
	request["spec"].(object)["autoRollbackOnFailure"] = object{"initMonitorTimeoutSeconds": deadline}
	require.NoError(t, d.Patch(ctx, request))
	untilJournal(ctx, t, l, "a finished post-pivot", `"flow":"post-pivot","kind":"finished"`)
	passed := time.Now().Add(time.Duration(deadline+20) * time.Second)
	until(ctx, t, "the deadline to pass", func() bool { return time.Now().After(passed) })
	require.True(t, drive.Look(ctx, l, away).API)
	in(ctx, t, l, "sh", "-c", "rm -r /etc/systemd/system/lifecycle-agent.service.d && systemctl daemon-reload && systemctl start lifecycle-agent")
	_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
}

func TestTheOldStaterootVanishes(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-vanished")
	require.NoError(t, d.Patch(ctx, move()))
	_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	in(ctx, t, l, "unshare", "--mount", "sh", "-c", "mount -o remount,rw /sysroot; mount -o remount,rw /boot; ostree admin undeploy 1")
	ipc, err := d.Until(ctx, "no way back on offer", func(ipc *lcav1.IPConfig) bool {
		return len(ipc.Status.ValidNextStages) == 1 && ipc.Status.ValidNextStages[0] == lcav1.StageIdle
	})
	require.NoError(t, err)
	require.ErrorContains(t, d.Stage(ctx, lcav1.StageRollback), "spec.stage can not change from Config to Rollback now")
	require.Equal(t, "True", string(ipc.Status.Conditions[len(ipc.Status.Conditions)-1].Status))
	require.NoError(t, d.Stage(ctx, lcav1.StageIdle))
	_, err = d.Eventually(ctx, "Idle again", drive.Is(lcav1.ConditionIdle))
	require.NoError(t, err)
	require.True(t, drive.Look(ctx, l, away).API, "the change stays")
}

// TestTheWayBackIsTheDeploymentThatRan: the old stateroot gets a second deployment that never ran, before the one that did in the
// boot loader's order. A rollback boots the one that ran.
func TestTheWayBackIsTheDeploymentThatRan(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	ctx, l, d := node(t, "scenario-two-deployments")
	const running = `readlink -f "$(sed 's/.*ostree=\([^ ]*\).*/\1/' /proc/cmdline)"`
	ran := in(ctx, t, l, "sh", "-c", running)
	require.NoError(t, d.Patch(ctx, move()))
	_, err := d.Until(ctx, "a completed change", drive.Is(lcav1.ConditionConfigCompleted))
	require.NoError(t, err)
	require.NotEqual(t, ran, in(ctx, t, l, "sh", "-c", running))
	commit, _, _ := strings.Cut(path.Base(ran), ".")
	in(ctx, t, l, "unshare", "--mount", "sh", "-c", "mount -o remount,rw /sysroot; mount -o remount,rw /boot; "+
		"ostree admin deploy --os="+path.Base(path.Dir(path.Dir(ran)))+" --not-as-default --retain --no-prune "+commit)
	require.Equal(t, "2", in(ctx, t, l, "sh", "-c", "ls -d "+path.Dir(ran)+"/*.? | wc -l"), "the old stateroot has two deployments")
	require.NoError(t, d.Stage(ctx, lcav1.StageRollback))
	ipc, err := d.Until(ctx, "a completed rollback", drive.Is(lcav1.ConditionRollbackCompleted))
	require.NoError(t, err)
	require.Equal(t, ran, in(ctx, t, l, "sh", "-c", running))
	requireBack(ctx, t, l, d, ipc)
}

// TestOthersDieOnTheWay kills NetworkManager while the network is applied, and the operator wherever it is.
func TestOthersDieOnTheWay(t *testing.T) {
	tool(t, "systemd-nspawn")
	long(t)
	for _, c := range []struct{ name, unit, at string }{
		{"networkmanager", "NetworkManager.service", `"intent","step":"apply-network"`},
		{"operator-old", "lifecycle-agent.service", `"intent","step":"copy-while-running"`},
		{"operator-new", "lifecycle-agent.service", `"done","step":"wait-for-api"`},
	} {
		t.Run(c.name, func(t *testing.T) {
			ctx, l, d := node(t, "scenario-kill-"+c.name)
			require.NoError(t, d.Patch(ctx, move()))
			untilJournal(ctx, t, l, c.at, c.at)
			in(ctx, t, l, "sh", "-c", "systemctl kill --signal=KILL "+c.unit+" || true")
			ipc, err := d.Eventually(ctx, "an end, one way or the other", func(ipc *lcav1.IPConfig) bool {
				return drive.Is(lcav1.ConditionConfigCompleted)(ipc) || failed(ipc)
			})
			require.NoError(t, err)
			if failed(ipc) {
				require.Equal(t, "networkmanager", c.name, drive.Summary(ipc))
				requireBack(ctx, t, l, d, ipc)
				return
			}
			require.True(t, drive.Look(ctx, l, away).API)
		})
	}
}
