package kubectl_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive/archivetest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/kubectl"
)

var shared = apitest.New(apitest.Options{CRDs: []string{"lca.*.yaml", "ipam.metal3.io_ippools.yaml"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// user is an administrator; the agent is played by a story that goes on while the program waits.
type user struct {
	t     *testing.T
	api   client.Client
	kube  kubernetes.Interface
	story []func()
	away  bool
	lost  error // what the API answers instead
	out   bytes.Buffer
	now   time.Time
}

func newUser(t *testing.T) *user {
	t.Helper()
	server := shared.Server(t)
	u := &user{t: t, api: server.Client, kube: fake.NewClientset(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	ipc := &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}, Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}
	require.NoError(t, u.api.Create(t.Context(), ipc))
	t.Cleanup(func() { require.NoError(t, u.api.Delete(context.Background(), ipc)) })
	u.report(func(s *lcav1.IPConfigStatus) {
		s.IPv4 = &lcav1.IPStatus{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", Gateway: "192.0.2.1"}
		s.DNSServers = []string{"192.0.2.53"}
		s.ValidNextStages = []lcav1.IPConfigStage{lcav1.StageConfig}
		s.Conditions = conditions(lcav1.ConditionIdle, metav1.ConditionTrue, lcav1.ReasonIdle, "Idle")
	})
	return u
}

// Now implements flow.Clock.
func (u *user) Now() time.Time { return u.now }

// Sleep implements flow.Clock.
func (u *user) Sleep(ctx context.Context, d time.Duration) error {
	u.now = u.now.Add(d)
	if len(u.story) == 0 {
		return errors.New("the story is over, and the program still waits")
	}
	next := u.story[0]
	u.story = u.story[1:]
	next()
	return ctx.Err()
}

func (u *user) run(args ...string) (string, error) {
	return u.runIn(u.t.Context(), args...)
}

func (u *user) runIn(ctx context.Context, args ...string) (string, error) {
	u.out.Reset()
	cmd := kubectl.Command(kubectl.Wiring{Out: &u.out, Clock: u, Connect: func(string, string) (kubectl.Cluster, error) {
		return kubectl.Cluster{Client: unreachable{u.api, u}, Kube: u.kube, Server: "https://api.sno.test:6443"}, nil
	}})
	err := commandline.Execute(ctx, cmd, args)
	return u.out.String(), err
}

// unreachable is an API that does not answer while the node reboots.
type unreachable struct {
	client.Client
	u *user
}

func (c unreachable) Get(ctx context.Context, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if c.u.away {
		return errors.New("connect: connection refused")
	}
	if c.u.lost != nil {
		return c.u.lost
	}
	return c.Client.Get(ctx, key, o, opts...)
}

func (u *user) get() *lcav1.IPConfig {
	ipc := &lcav1.IPConfig{}
	require.NoError(u.t, u.api.Get(u.t.Context(), client.ObjectKey{Name: lcav1.IPConfigName}, ipc))
	return ipc
}

// report is what the agent writes.
func (u *user) report(edit func(*lcav1.IPConfigStatus)) {
	u.t.Helper()
	ipc := u.get()
	edit(&ipc.Status)
	require.NoError(u.t, u.api.Status().Update(u.t.Context(), ipc))
}

func conditions(kind string, status metav1.ConditionStatus, reason, message string) []metav1.Condition {
	return []metav1.Condition{{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.Unix(1, 0)}}
}

// says reports one condition and the stages that may follow.
func (u *user) says(kind string, status metav1.ConditionStatus, reason, message string, next ...lcav1.IPConfigStage) func() {
	return func() {
		u.report(func(s *lcav1.IPConfigStatus) {
			s.Conditions, s.ValidNextStages = conditions(kind, status, reason, message), next
		})
	}
}

// spec is what the object has after a reboot into the stateroot that remembers an older one.
func (u *user) spec(stage lcav1.IPConfigStage) {
	ipc := u.get()
	ipc.Spec.Stage = stage
	require.NoError(u.t, u.api.Update(u.t.Context(), ipc))
}

const yes, no = metav1.ConditionTrue, metav1.ConditionFalse

var toNew = []string{"--ipv4-address=198.51.100.20", "--ipv4-machine-network=198.51.100.0/24", "--ipv4-gateway=198.51.100.1"}

func TestAChangeIsFollowedToItsEndThroughTheReboot(t *testing.T) {
	u := newUser(t)
	u.story = []func(){
		u.says("ConfigInProgress", yes, "InProgress", "Configuration in progress", "Idle"),
		func() { u.away = true },
		func() { u.away = false },
		u.says("ConfigCompleted", yes, "Completed", "Configuration completed successfully", "Idle", "Rollback"),
	}
	out, err := u.run(append([]string{"change", "--watch"}, toNew...)...)
	require.NoError(t, err, out)
	require.Equal(t, "198.51.100.20", u.get().Spec.IPv4.Address)
	require.Equal(t, lcav1.StageConfig, u.get().Spec.Stage)
	for _, line := range []string{"stage Config is set", "ConfigInProgress InProgress: Configuration in progress",
		"the API at https://api.sno.test:6443 does not answer", "ConfigCompleted Completed: Configuration completed successfully"} {
		require.Contains(t, out, line)
	}
}

func TestAChangeThatFailsExitsWithTheCause(t *testing.T) {
	u := newUser(t)
	u.story = []func(){u.says("ConfigCompleted", no, "Failed", "gateway 198.51.100.1 gives no sign of life", "Idle")}
	_, err := u.run(append([]string{"change", "--watch"}, toNew...)...)
	require.EqualError(t, err, "the change failed: gateway 198.51.100.1 gives no sign of life")
}

// TestARollbackSucceeds though the object has, after the reboot, the stage and status of before the change, and though the first attempt
// to leave failed.
func TestARollbackSucceeds(t *testing.T) {
	u := newUser(t)
	_, err := u.run(append([]string{"change"}, toNew...)...)
	require.NoError(t, err)
	u.says("ConfigCompleted", yes, "Completed", "Configuration completed successfully", "Idle", "Rollback")()
	u.story = []func(){
		u.says("RollbackCompleted", no, "Failed", "ip-config rollback failed, retrying", "Idle", "Rollback"),
		func() { u.away = true },
		func() { u.away = false },
		func() {
			u.says("ConfigInProgress", yes, "InProgress", "Configuration in progress", "Rollback", "Config")()
			u.spec(lcav1.StageConfig)
		},
		func() { u.spec(lcav1.StageRollback) },
		u.says("RollbackInProgress", yes, "InProgress", "Rollback requested", "Idle"),
		u.says("RollbackCompleted", yes, "Completed", "Rollback completed", "Idle"),
	}
	out, err := u.run("rollback", "--watch")
	require.NoError(t, err, out)
	require.Contains(t, out, "RollbackCompleted Completed: Rollback completed")

	u.story = []func(){u.says("Idle", yes, "Idle", "Idle", "Config")}
	out, err = u.run("keep", "--watch")
	require.NoError(t, err, out)
	require.Equal(t, lcav1.StageIdle, u.get().Spec.Stage)
}

func TestAStageThatIsNotPossibleIsRefusedWithTheOnesThatAre(t *testing.T) {
	u := newUser(t)
	_, err := u.run("rollback")
	require.EqualError(t, err, "stage Rollback is not possible now: from Idle (Idle) the next stages are: Config")
	require.Equal(t, lcav1.StageIdle, u.get().Spec.Stage)
}

// TestAWatchEnds by its timeout, and where another person sets another stage.
func TestAWatchEnds(t *testing.T) {
	u := newUser(t)
	u.story = []func(){func() { u.spec(lcav1.StageIdle) }}
	u.says("Idle", yes, "Idle", "Idle", "Config", "Idle")()
	_, err := u.run(append([]string{"change", "--watch"}, toNew...)...)
	require.EqualError(t, err, "the stage was set to Idle meanwhile")

	_, err = u.run(append([]string{"change", "--watch", "--timeout=0s"}, toNew...)...)
	require.ErrorContains(t, err, "stage Config has not ended in 0s; the agent continues it")
}

// TestAWatchSaysWhyTheAPIGivesNoStatus: a refusal, or the certificate of another machine, is not an API that does not answer.
func TestAWatchSaysWhyTheAPIGivesNoStatus(t *testing.T) {
	u := newUser(t)
	u.story = []func(){
		func() {
			u.lost = apierrors.NewForbidden(schema.GroupResource{Resource: "ipconfigs"}, "ipconfig", errors.New("not bound"))
		},
		func() { u.lost = &tls.CertificateVerificationError{Err: errors.New("issued for another name")} },
		func() { u.lost = nil },
		u.says("ConfigCompleted", yes, "Completed", "Configuration completed successfully", "Idle", "Rollback"),
	}
	out, err := u.run(append([]string{"change", "--watch"}, toNew...)...)
	require.NoError(t, err, out)
	require.Contains(t, out, "is forbidden: not bound; retrying")
	require.Contains(t, out, "issued for another name; retrying")
	require.NotContains(t, out, "does not answer")
}

// TestAWatchThatIsInterruptedSaysThatTheChangeGoesOn: interrupting the watch does not end the change.
func TestAWatchThatIsInterruptedSaysThatTheChangeGoesOn(t *testing.T) {
	u := newUser(t)
	ctx, interrupt := context.WithCancel(t.Context())
	u.story = []func(){interrupt}
	_, err := u.runIn(ctx, append([]string{"change", "--watch"}, toNew...)...)
	require.EqualError(t, err, `the watch was interrupted; the agent continues stage Config, see "kubectl lca status"`)
}

func TestAPlanIsJudgedByTheServerAndChangesNothing(t *testing.T) {
	u := newUser(t)
	before := u.get().ResourceVersion
	out, err := u.run(append([]string{"plan", "--vlan-id=7"}, toNew...)...)
	require.NoError(t, err)
	require.Contains(t, out, "IPv4 address           192.0.2.10 -> 198.51.100.20\n")
	require.Contains(t, out, "VLAN                   0 -> 7\n")
	_, err = u.run("plan", "--ipv4-address=198.51.100.20", "--ipv4-machine-network=203.0.113.0/24")
	require.ErrorContains(t, err, "spec.ipv4.address must be inside spec.ipv4.machineNetwork")
	require.Equal(t, before, u.get().ResourceVersion)

	u.says("ConfigInProgress", yes, "InProgress", "Configuration in progress", "Idle")()
	_, err = u.run(append([]string{"plan"}, toNew...)...)
	require.ErrorContains(t, err, "while ipconfig is not idle")
	u.says("Idle", no, "InProgress", "In progress of becoming idle")()
	out, err = u.run("plan")
	require.NoError(t, err)
	require.Contains(t, out, "Nothing differs")
	require.Contains(t, out, "stage Config is not possible now")
}

func TestARehearsalIsRequestedAndItsReportAwaited(t *testing.T) {
	for result, fails := range map[lcav1.RehearsalResult]bool{lcav1.RehearsalPassed: false, lcav1.RehearsalFailed: true} {
		t.Run(string(result), func(t *testing.T) {
			u := newUser(t)
			u.story = []func(){func() {
				ipc := &lcav1.IPConfig{}
				require.NoError(t, u.api.Get(t.Context(), client.ObjectKey{Name: lcav1.IPConfigName}, ipc))
				require.Equal(t, lcav1.StageIdle, ipc.Spec.Stage)
				require.Equal(t, "198.51.100.20", ipc.Spec.IPv4.Address)
				asked := ipc.Annotations[lcav1.RehearseAnnotation]
				require.NotEmpty(t, asked)
				u.report(func(s *lcav1.IPConfigStatus) {
					s.Rehearsal = &lcav1.Rehearsal{Request: asked, Result: lcav1.RehearsalRunning}
				})
			}, func() {
				now := metav1.NewTime(u.now)
				u.report(func(s *lcav1.IPConfigStatus) {
					s.Rehearsal.OperationID, s.Rehearsal.Result, s.Rehearsal.Finished = "20260102-030405-0001", result, &now
				})
			}}
			_, err := u.run("rehearse", "--ipv4-address", "198.51.100.20", "--ipv4-machine-network", "198.51.100.0/24", "--ipv4-gateway", "198.51.100.1")
			require.Equal(t, fails, err != nil, "%v", err)
			require.Contains(t, u.out.String(), "Rehearsal  20260102-030405-0001: "+string(result))
		})
	}
}

func TestStatusForAPersonAndForAProgram(t *testing.T) {
	u := newUser(t)
	out, err := u.run("status")
	require.NoError(t, err)
	require.Regexp(t, `State\s+Idle\n`, out)
	require.Regexp(t, `IPv4\s+192\.0\.2\.10 in 192\.0\.2\.0/24 via 192\.0\.2\.1\n`, out)
	out, err = u.run("status", "-o", "json")
	require.NoError(t, err)
	require.Contains(t, out, `"address": "192.0.2.10"`)
	_, err = u.run("status", "--watch") // the story is over at once
	require.ErrorContains(t, err, "story is over")
	require.Contains(t, u.out.String(), "03:04:05  stage Idle: Idle\n")
}

// TestAnArchiveHasWhatTheAgentShowsAndNoSecret collects from the real API server.
func TestAnArchiveHasWhatTheAgentShowsAndNoSecret(t *testing.T) {
	u := newUser(t)
	u.report(func(s *lcav1.IPConfigStatus) {
		s.Conditions[0].Message = "registry refused password=hunter2-planted"
	})
	for _, o := range []client.Object{
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: kubectl.Namespace}},
		&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: kubectl.Namespace, Name: "seedgen"}, StringData: map[string]string{"x": "planted-in-a-secret"}},
		&corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: kubectl.Namespace, Name: "agent", Labels: map[string]string{"app.kubernetes.io/component": "lifecycle-agent"}},
			Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "manager", Image: "x", Env: []corev1.EnvVar{{Name: "X", Value: "planted-in-the-environment"}}}}}},
		&corev1.Event{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "e"}, Reason: "Rollback", Message: "the node rolls back",
			InvolvedObject: corev1.ObjectReference{Kind: "IPConfig", Name: "ipconfig", Namespace: "default"}},
	} {
		require.NoError(t, client.IgnoreAlreadyExists(u.api.Create(t.Context(), o)))
	}
	file := filepath.Join(t.TempDir(), "lca.tar.gz")
	out, err := u.run("must-gather", "--file", file)
	require.NoError(t, err)
	require.Equal(t, file+"\n", out)
	packed, err := os.Open(file)
	require.NoError(t, err)
	defer packed.Close()
	files := archivetest.Unpack(t, packed, "lca-20260102-030405")
	all := ""
	for name, text := range files {
		all += name + "\n" + text + "\n"
	}
	require.NotContains(t, all, "planted")
	require.Contains(t, files["objects/ipconfig.lca.openshift.io.yaml"], "192.0.2.10")
	require.Contains(t, files["events/default.txt"], "IPConfig/ipconfig Rollback: the node rolls back")
	require.Contains(t, files["pods.txt"], "agent on")
	require.Contains(t, files["logs/agent.log"], "fake logs")
	require.Contains(t, files["index.txt"], "objects/ipconfig.lca.openshift.io.yaml")
	out, err = u.run("logs")
	require.NoError(t, err)
	require.Contains(t, out, "==> pod agent on node")
	_, err = u.run("must-gather", "--file", file)
	require.ErrorContains(t, err, "file exists", "nothing is overwritten")
}
