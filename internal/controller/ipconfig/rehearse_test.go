package ipconfig

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
)

func rehearsing(value string) func(*lcav1.IPConfig) {
	return func(ipc *lcav1.IPConfig) {
		ipc.Annotations = map[string]string{lcav1.RehearseAnnotation: value}
		vlan := int32(7)
		ipc.Spec.IPv4 = &lcav1.IPv4Config{Address: "198.51.100.20", MachineNetwork: "198.51.100.0/24", Gateway: "198.51.100.1"}
		ipc.Spec.DNSServers, ipc.Spec.VLANID = []string{"198.51.100.53"}, &vlan
	}
}

// keepReport puts the report of a rehearsal on the node.
func (w *world) keepReport(r lcav1.Rehearsal) {
	w.t.Helper()
	text, err := json.Marshal(r)
	require.NoError(w.t, err)
	w.node.files[rehearsal.ReportFile] = text
}

func TestTheAnnotationRequestsARehearsalOfTheSpec(t *testing.T) {
	w := newWorld(t)
	w.rest()
	require.Zero(t, w.node.launched(ipconfig.UnitRehearse), "none was requested")
	w.change(rehearsing("first"))
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRehearse), "%v", w.node.acts)
	require.Contains(t, strings.Join(w.node.acts, "\n"), "ip-config rehearse --asked=first --ipv4-address=198.51.100.20 "+
		"--ipv4-machine-network=198.51.100.0/24 --ipv4-gateway=198.51.100.1 --dns-server=198.51.100.53 --vlan-id=7")
	requireLast(t, w.get(), "Idle", yes, "Idle", "Idle")

	now := apiTime(w.now)
	w.keepReport(lcav1.Rehearsal{OperationID: "20260102-030405-0001", Request: "first", Result: lcav1.RehearsalFailed, Finished: &now,
		Proofs: []lcav1.RehearsalProof{{Name: "etcd", Result: lcav1.ProofFailed, Message: "etcd has ended"}}})
	w.node.ends(ipconfig.UnitRehearse, true)
	w.rest()
	require.Equal(t, lcav1.RehearsalFailed, w.get().Status.Rehearsal.Result)
	require.Contains(t, strings.Join(w.events, "\n"), "Warning RehearsalFailed: Rehearsal 20260102-030405-0001: Failed; etcd: etcd has ended")
	require.Equal(t, 1, w.node.launched(ipconfig.UnitRehearse), "one that was reported is not repeated")

	w.change(rehearsing("second"))
	require.Equal(t, 2, w.node.launched(ipconfig.UnitRehearse), "another value requests another one")
}
