package ipconfig

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func TestRefusalsTouchNothing(t *testing.T) {
	tests := []struct {
		name    string
		arrange func(*world)
		ask     func(*lcav1.IPConfig)
		want    string
	}{
		{name: "worker beside the node", want: "1 worker nodes beside", arrange: func(w *world) {
			w.addNode("worker", "192.0.2.11", cluster.LabelWorker)
		}},
		{name: "three control planes", want: "3 control plane nodes", arrange: func(w *world) {
			w.addNode("b", "192.0.2.11", cluster.LabelMaster)
			w.addNode("c", "192.0.2.12", cluster.LabelMaster)
		}},
		{name: "DHCP", want: "br-ex gets its configuration dynamically (IPv4 DHCP)", arrange: func(w *world) {
			on := true
			w.node.doc.Interfaces[1].IPv4.DHCP = &on
		}},
		{name: "no dnsmasq", want: "50-master-dnsmasq-configuration does not exist", arrange: func(w *world) {
			require.NoError(w.t, w.api.Delete(w.t.Context(), &mcv1.MachineConfig{ObjectMeta: metav1.ObjectMeta{Name: cluster.DnsmasqMachineConfig}}))
		}},
		{name: "encryption at rest", want: "stored in etcd encrypted (aescbc): turn encryption off", arrange: func(w *world) {
			w.put(&configv1.APIServer{ObjectMeta: metav1.ObjectMeta{Name: "cluster"},
				Spec: configv1.APIServerSpec{Encryption: configv1.APIServerEncryption{Type: configv1.EncryptionTypeAESCBC}}})
		}},
		{name: "gateway without address", want: "spec.ipv4.gateway differs", ask: func(ipc *lcav1.IPConfig) {
			ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", Gateway: "192.0.2.7"}
		}},
		{name: "DNS without address", want: "spec.dnsServers differs", ask: func(ipc *lcav1.IPConfig) {
			ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10"}
			ipc.Spec.DNSServers = []string{"192.0.2.99"}
		}},
		{name: "machine network without address", want: "spec.ipv4.machineNetwork differs", ask: func(ipc *lcav1.IPConfig) {
			ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/25", Gateway: "192.0.2.1"}
		}},
		{name: "address outside the network it has", want: "outside its machine network 192.0.2.0/24: set spec.ipv4.machineNetwork", ask: func(ipc *lcav1.IPConfig) {
			ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "203.0.113.9"}
		}},
		{name: "no image", want: "recert cannot run in \"--rm\", which is not a pull specification", ask: func(ipc *lcav1.IPConfig) {
			ipc.Annotations = map[string]string{lcav1.RecertImageAnnotation: "--rm"}
		}},
		{name: "no shipped image", want: "recert cannot run in \"(none named)\"", ask: func(ipc *lcav1.IPConfig) {
			ipc.Annotations = map[string]string{lcav1.RecertImageAnnotation: ""}
		}},
		{name: "full disk", want: "the second stateroot needs 4569 MiB and 1024 MiB are free: free 3546 MiB below /sysroot", arrange: func(w *world) {
			w.node.free = 1 << 30
		}},
		{name: "full /boot", want: "a second kernel and initramfs need 100 MiB and 64 MiB are free in /boot: free 37 MiB", arrange: func(w *world) {
			w.node.files[host.BootKernels+"/rhcos-c0/vmlinuz"] = nil
		}},
		{name: "few inodes", want: "needs 55000 inodes and 7 are free", arrange: func(w *world) { w.node.inodes = 7 }},
		{name: "no byte free", want: "the second stateroot needs 4569 MiB and 0 MiB are free: free 4570 MiB below /sysroot", arrange: func(w *world) {
			w.node.free = 0
		}},
		{name: "no inode free", want: "the second stateroot needs 55000 inodes and 0 are free: remove files below /sysroot", arrange: func(w *world) {
			w.node.inodes = 0
		}},
		{name: "address in use", want: "address 198.51.100.10 is already in use: the machine with hardware address 52:54:00:00:00:07",
			arrange: func(w *world) {
				w.node.claims[netip.MustParseAddr("198.51.100.10")] = host.Claim{Hardware: "52:54:00:00:00:07"}
			}},
		{name: "inner network", want: "overlaps the cluster's inner network 10.128.0.0/14", ask: func(ipc *lcav1.IPConfig) {
			ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "10.128.3.4", MachineNetwork: "10.128.3.0/24", Gateway: "10.128.3.1"}
		}},
		{name: "a route into the new network", want: "198.51.100.128/25 over enp7s0", arrange: func(w *world) {
			w.node.doc.Routes.Running = append(w.node.doc.Routes.Running,
				netstate.Route{Destination: "198.51.100.128/25", NextHopInterface: "enp7s0", NextHopAddress: "203.0.113.1"})
		}},
		{name: "a first boot without end", want: "ignition.firstboot", arrange: func(w *world) {
			w.node.kernelArguments = []string{"ignition.firstboot"}
		}},
		{name: "old ostree", want: "the node cannot choose its next boot", arrange: func(w *world) {
			w.node.fail["set-default"] = errors.New("no set-default")
		}},
		{name: "bond", want: "no single uplink", arrange: func(w *world) {
			w.node.doc.Interfaces[0].Bridge.Ports = append(w.node.doc.Interfaces[0].Bridge.Ports, netstate.BridgePort{Name: "enp2s0"})
		}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			w := newWorld(t)
			w.rest()
			if tt.arrange != nil {
				tt.arrange(w)
			}
			files := len(w.node.files)
			ipc := w.change(func(ipc *lcav1.IPConfig) {
				toNewAddress(ipc)
				if tt.ask != nil {
					tt.ask(ipc)
				}
			})
			requireLast(t, ipc, "ConfigInProgress", no, "Failed", "config validation failed: ")
			require.Contains(t, condition(ipc, "ConfigCompleted").Message, tt.want)
			require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
			require.NotEmpty(t, ipc.Status.Preflight)
			require.Empty(t, w.node.acts, "a refused request touches nothing")
			delete(w.node.files, ipconfig.AcceptedFile) // in /run, which is no disk
			require.Len(t, w.node.files, files)
			requireLast(t, w.stage(lcav1.StageIdle), "Idle", yes, "Idle", "Idle")
		})
	}
}

// TestTheAddressIsProbedOnceAndOnEveryLink: the probe takes seconds, so it comes after all other checks.
func TestTheAddressIsProbedOnceAndOnEveryLink(t *testing.T) {
	w, _ := configuring(t)
	require.Equal(t, []string{"198.51.100.10/24 br-ex enp1s0"}, w.node.asked)
	for _, c := range w.get().Status.Preflight {
		fails := c.Name == preflight.CheckDNSKept // the request names no DNS servers for the new network
		require.Equal(t, fails, c.Result == lcav1.PreflightFailed, c.Name)
	}
}

// TestThePlanIsSummarized: what is known is in status when the request is handed over, the rest when pre-pivot has counted it.
func TestThePlanIsSummarized(t *testing.T) {
	w, _ := configuring(t)
	plan := w.get().Status.Plan
	require.NotNil(t, plan)
	require.Contains(t, plan.NMState, "198.51.100.10")
	used := int64(4 << 30)
	require.Equal(t, used+used/10+64<<20, plan.DiskBytes)
	require.Zero(t, plan.Certificates)
	require.NoError(t, w.node.Write(ipconfig.ForecastFile, []byte(`{"certificates":7,"objects":5,"files":3,"warnings":["br-ex"]}`), 0o600))
	plan = w.rest().Status.Plan
	require.Equal(t, []int32{7, 5, 3}, []int32{plan.Certificates, plan.Objects, plan.Files})
	require.Equal(t, []string{"br-ex"}, plan.Warnings)
}

func TestHealthIsAwaitedBeforeTheChange(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.operatorDegraded(true)
	ipc := w.change(toNewAddress)
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "Waiting for system to stabilize: clusteroperator etcd")
	require.Empty(t, w.node.acts)
	require.NotContains(t, w.node.files, ipconfig.RequestFile)
	w.change(func(ipc *lcav1.IPConfig) {
		ipc.Annotations = map[string]string{lcav1.SkipPreConfigurationHealthChecksAnnotation: ""}
	})
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))
}

func TestSkipHealthAfterTheChange(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.postPivotDone()
	w.operatorDegraded(true)
	ipc := w.change(func(ipc *lcav1.IPConfig) {
		ipc.Annotations = map[string]string{lcav1.SkipPostConfigurationHealthChecksAnnotation: ""}
	})
	requireLast(t, ipc, "ConfigCompleted", yes, "Completed", "")
}

// TestAChangeIsCompleteWhenHealthHasHeld: one good answer may be that of a cluster that has not begun to act on the change yet.
func TestAChangeIsCompleteWhenHealthHasHeld(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	w.postPivotDone()
	open := func(why string) {
		t.Helper()
		w.reconcile()
		requireLast(t, w.get(), "ConfigInProgress", yes, "InProgress", why)
	}
	const holds = "Waiting for system to stabilize: the cluster is healthy; that has to hold for 1m0s"
	open(holds)
	open(holds)
	w.operatorDegraded(true)
	open("clusteroperator etcd: degraded")
	w.operatorDegraded(false)
	for range 3 {
		open(holds)
	}
	w.reconcile()
	requireLast(t, w.get(), "ConfigCompleted", yes, "Completed", "")
}

func TestUnhealthyClusterDoesNotBecomeIdle(t *testing.T) {
	w := newWorld(t)
	w.operatorDegraded(true)
	ipc := w.rest()
	requireLast(t, ipc, "Idle", no, "InProgress", "Waiting for system to stabilize: clusteroperator etcd: degraded")
	require.Equal(t, stages{"Idle"}, ipc.Status.ValidNextStages)
	w.operatorDegraded(false)
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
}

func TestTriggerAnnotationIsConsumed(t *testing.T) {
	w := newWorld(t)
	w.rest()
	ipc := w.change(func(ipc *lcav1.IPConfig) {
		ipc.Annotations = map[string]string{lcav1.TriggerReconcileAnnotation: "now", "mine": "kept"}
	})
	require.Equal(t, map[string]string{"mine": "kept"}, ipc.Annotations)
}

func TestAnnotationsReachTheNode(t *testing.T) {
	w := newWorld(t)
	w.rest()
	w.change(func(ipc *lcav1.IPConfig) {
		toNewAddress(ipc)
		ipc.Spec.AutoRollbackOnFailure = &lcav1.AutoRollbackOnFailure{InitMonitorTimeoutSeconds: 77}
		ipc.Annotations = map[string]string{
			lcav1.AutoRollbackOnFailureIPConfigRunAnnotation: "Disabled",
			lcav1.RecertPullSecretAnnotation:                 "pull",
			lcav1.RecertImageAnnotation:                      "quay.io/x/recert:1",
		}
	})
	require.JSONEq(t, `{"monitor_enabled":true,"monitor_timeout":77,"enabled_components":{"ip-config-run":false}}`,
		string(w.node.files[ipconfig.AutoRollbackFile]))
	require.JSONEq(t, `{"recert-image":"quay.io/x/recert:1"}`, string(w.node.files[ipconfig.PostPivotFile]))
	require.Contains(t, string(w.node.files[ipconfig.RequestFile]), `"pull-secret-ref-name": "pull"`)
}

func TestCleanupFailureExplainsItselfAndIsRetried(t *testing.T) {
	w, _ := configuring(t)
	w.stage(lcav1.StageIdle)
	w.node.ends(ipconfig.UnitCleanup, false)
	w.reconcile()
	ipc := w.get()
	requireLast(t, ipc, "Idle", no, "Failed", "failed to cleanup: lca-ipconfig-cleanup.service ended with exit-code")
	require.Contains(t, condition(ipc, "Idle").Message, "Perform cleanup manually then add 'lca.openshift.io/manual-cleanup-done' annotation to IPConfig CR to transition back to Idle")
	w.rest()
	require.Equal(t, 2, w.node.launched(ipconfig.UnitCleanup), "it is tried again without being asked")

	w.node.ends(ipconfig.UnitCleanup, false)
	w.reconcile()
	require.NoError(t, w.node.Remove(host.Workspace))
	ipc = w.change(func(ipc *lcav1.IPConfig) {
		ipc.Annotations = map[string]string{lcav1.ManualCleanupAnnotation: ""}
	})
	requireLast(t, ipc, "Idle", yes, "Idle", "Idle")
	require.Empty(t, ipc.Annotations)
}

func TestRestartOfTheOperatorMidFlow(t *testing.T) {
	w, request := configuring(t)
	w.journal(ipconfig.FlowPrePivot, flow.Entry{Kind: flow.KindBegin, Total: 3}, step(flow.KindIntent, ipconfig.StepClone, 1))
	w.restart(shared.Server(t))
	ipc := w.rest()
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "Configuration in progress")
	require.Equal(t, 1, w.node.launched(ipconfig.UnitPrePivot))

	w.node.ends(ipconfig.UnitPrePivot, true) // lca-cli was killed
	w.rest()
	require.Equal(t, 2, w.node.launched(ipconfig.UnitPrePivot), "lca-cli resumes from its journal")

	w.pivot(request)
	w.restart(shared.Server(t))
	w.postPivotDone()
	requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed", "")
}

func TestLostObjectIsRestoredMidFlow(t *testing.T) {
	w, request := configuring(t)
	w.pivot(request)
	require.NoError(t, w.api.Delete(t.Context(), w.get()))
	ipc := w.rest()
	require.Equal(t, lcav1.StageConfig, ipc.Spec.Stage)
	require.Equal(t, "198.51.100.10", ipc.Spec.IPv4.Address)
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "Configuration in progress")
	require.Equal(t, stages{"Rollback"}, ipc.Status.ValidNextStages)
	require.Zero(t, w.node.launched(ipconfig.UnitCleanup), "nothing is finalised by losing the object")
	w.postPivotDone()
	requireLast(t, w.rest(), "ConfigCompleted", yes, "Completed", "")
}

func TestStaleExportChangesNothing(t *testing.T) {
	w := newWorld(t)
	w.node.files[ipconfig.SavedObjectFile] = []byte(`{"spec":{"stage":"Config"},"status":{"operationID":"old","conditions":[{"type":"ConfigCompleted","status":"False","reason":"Failed","message":"Uncontrolled rollback"}]}}`)
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
	require.NotContains(t, w.node.files, ipconfig.SavedObjectFile)
}

// TestANodeThatCannotBeReadIsReported with a condition and its generation, once, beside what was observed last; and that it can be again.
func TestANodeThatCannotBeReadIsReported(t *testing.T) {
	w := newWorld(t)
	known := w.rest()
	w.node.fail["deployments"] = errors.New("no sysroot")
	before := w.writes
	for range 3 {
		_, err := w.r.Reconcile(t.Context(), kind.Request())
		require.ErrorContains(t, err, "no sysroot")
	}
	require.Equal(t, before+1, w.writes, "it is reported once")
	require.Contains(t, w.events[len(w.events)-1], "ObservationFailed")
	ipc := w.get()
	c := condition(ipc, lcav1.ConditionNodeObserved)
	require.Equal(t, no, c.Status)
	require.Equal(t, "NotObserved", c.Reason)
	require.Contains(t, c.Message, "no sysroot")
	require.Equal(t, ipc.Generation, c.ObservedGeneration)
	require.Equal(t, ipc.Generation, ipc.Status.ObservedGeneration)
	require.Equal(t, known.Status.IPv4, ipc.Status.IPv4)
	requireLast(t, ipc, "Idle", yes, "Idle", "Idle")

	delete(w.node.fail, "deployments")
	c = condition(w.rest(), lcav1.ConditionNodeObserved)
	require.Equal(t, []string{string(yes), "Observed"}, []string{string(c.Status), c.Reason})
}

// TestAnObjectOfANodeThatCannotBeReadIsNotEmpty: the first that status says is why it says nothing else.
func TestAnObjectOfANodeThatCannotBeReadIsNotEmpty(t *testing.T) {
	w := newWorld(t)
	require.NoError(t, w.api.Create(t.Context(), &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName},
		Spec: lcav1.IPConfigSpec{Stage: lcav1.StageIdle}}))
	w.node.fail["deployments"] = errors.New("no sysroot")
	_, err := w.r.Reconcile(t.Context(), kind.Request())
	require.ErrorContains(t, err, "no sysroot")
	requireLast(t, w.get(), lcav1.ConditionNodeObserved, no, "NotObserved", "no sysroot")
	delete(w.node.fail, "deployments")
	requireLast(t, w.rest(), "Idle", yes, "Idle", "Idle")
}

func TestNetworkThatCannotBeObservedKeepsItsLastStatus(t *testing.T) {
	w := newWorld(t)
	before := w.rest()
	w.node.fail["observe"] = errors.New("NetworkManager is down")
	ipc := w.rest()
	c := condition(ipc, lcav1.ConditionNodeObserved)
	require.Equal(t, []string{string(no), "NotObserved"}, []string{string(c.Status), c.Reason})
	require.Contains(t, c.Message, "NetworkManager is down")
	require.Contains(t, w.events, "Warning NodeObservedNotObserved: "+c.Message)
	ipc.Status.Conditions = ipc.Status.Conditions[1:]
	require.Equal(t, before.Status, ipc.Status)
	ipc = w.change(toNewAddress)
	requireLast(t, ipc, "ConfigInProgress", yes, "InProgress", "NetworkManager is down")
	require.Empty(t, w.node.acts)
	delete(w.node.fail, "observe")
	require.Equal(t, yes, condition(w.rest(), lcav1.ConditionNodeObserved).Status)
}

func TestExpiryOfTheOldStateroot(t *testing.T) {
	w, request := configuring(t)
	dir := host.InVar(request.OldStateroot, "/var/lib/kubelet/pki") + "/"
	w.node.files[dir+"kubelet-client-2026-01-01-00-00-00.pem"] = []byte("superseded")
	w.node.files[dir+"kubelet-client-2026-02-01-00-00-00.pem"] = certificate(t, w.now.AddDate(0, 0, 2))
	w.node.files[dir+"kubelet-server-2026-02-01-00-00-00.pem"] = certificate(t, w.now.AddDate(0, 0, 1))
	expires := w.now.AddDate(0, 0, 1)
	w.pivot(request)
	ipc := w.rest()
	require.NotNil(t, ipc.Status.RollbackAvailabilityExpiration)
	require.WithinDuration(t, expires.Add(-expiryMargin), ipc.Status.RollbackAvailabilityExpiration.Time, 2e9)
}
