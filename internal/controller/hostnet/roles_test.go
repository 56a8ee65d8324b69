package hostnet

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/networkdata"
)

// inspected is the status of a host with interfaces, the last of which it boots from.
func inspected(nics ...map[string]any) map[string]any {
	var list []any
	for _, n := range nics {
		list = append(list, n)
	}
	return map[string]any{"hardware": map[string]any{"nics": list}}
}

func card(name, mac string, change ...func(map[string]any)) map[string]any {
	m := map[string]any{"name": name, "mac": mac, "speedGbps": int64(25), "pxe": false}
	for _, f := range change {
		f(m)
	}
	return m
}

func boots(m map[string]any) { m["pxe"] = true }

func sees(vlan int64) func(map[string]any) {
	return func(m map[string]any) { m["vlans"] = []any{map[string]any{"id": vlan, "name": "v"}} }
}

func slow(m map[string]any) { m["speedGbps"] = int64(1) }

func TestRolesOnAHost(t *testing.T) {
	o := &unstructured.Unstructured{Object: map[string]any{"status": inspected(
		card("ens10", "52:54:00:00:00:0A"), card("ens9", "52:54:00:00:00:09", slow, sees(20)), card("ens9", "52:54:00:00:00:09", slow, sees(20)),
		card("eno1", "52:54:00:00:00:01", boots))}}
	o.SetNamespace("n")
	o.SetName("h")
	o.SetAnnotations(map[string]string{RolesAnnotation: "storage=52:54:00:00:00:0a, backup = ens9,spare=52:54:00:00:00:ff"})
	h := hostOf(o)
	for name, want := range map[string]string{
		"role:storage": "ens10 52:54:00:00:00:0a", "role:backup": "ens9 52:54:00:00:00:09", "role:spare": " 52:54:00:00:00:ff",
		"role:pxe": "eno1 52:54:00:00:00:01", "role:nic-1": "ens9 52:54:00:00:00:09", "role:nic-2": "ens10 52:54:00:00:00:0a",
		"role:speed-25": "ens10 52:54:00:00:00:0a", "role:vlan-20": "ens9 52:54:00:00:00:09",
		"ens10": "ens10 52:54:00:00:00:0a", "52:54:00:00:00:09": "ens9 52:54:00:00:00:09", "ens77": "ens77 ",
	} {
		n, err := h.interfaceOf(link{name: name})
		require.NoError(t, err, name)
		require.Equal(t, want, n.name+" "+n.mac, name)
	}
	for name, words := range map[string]string{
		"role:nic-3": "host n/h has no interface of role nic-3", "role:other": "has no interface of role other", "role:vlan-21": "no interface",
		"role:nic-x": "no interface", "role:speed-1000": "no interface",
	} {
		_, err := h.interfaceOf(link{name: name})
		require.ErrorContains(t, err, words)
	}
	h.nics[1].speed = 25
	_, err := h.interfaceOf(link{name: "role:speed-25"})
	require.ErrorContains(t, err, "interfaces ens9 and ens10 of host n/h both fit role speed-25")
	_, err = (*host)(nil).interfaceOf(link{name: "role:storage"})
	require.ErrorContains(t, err, "no host is known yet")
}

// networkData waits for what a host reads from its config drive.
func (w *world) networkData(owner string) networkdata.Document {
	w.t.Helper()
	s, doc := &corev1.Secret{}, networkdata.Document{}
	w.eventually(func() bool {
		return w.api.Get(context.Background(), types.NamespacedName{Namespace: ns, Name: owner + ownSuffix}, s) == nil && s.Data[networkDataKey] != nil
	}, "the networkData of %s", owner)
	require.NoError(w.t, json.Unmarshal(s.Data[networkDataKey], &doc))
	return doc
}

// Machines of one template on unequal hosts get networkData, each for its own host's interface.
func TestMachinesOnUnequalHostsGetNetworkData(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(s *metal3.IPPoolSpec) { s.VLAN = nil })
	hosts := []map[string]any{
		inspected(card("eno1", "52:54:00:00:01:01", boots), card("ens4", "52:54:00:00:01:02")),
		inspected(card("enp1s0", "52:54:00:00:02:01", slow), card("enp2s0", "52:54:00:00:02:02"), card("enp3s0", "52:54:00:00:02:03", boots, slow)),
	}
	for i, status := range hosts {
		machine := fmt.Sprintf("%s-m%d", w.pool, i)
		w.machine(machine, "role:speed-25="+w.pool, "")
		w.object(HostKind(), fmt.Sprintf("%s-h%d", w.pool, i), consumedBy(machineKind, machine), func(o *unstructured.Unstructured) {
			o.Object["status"] = status
		})
		doc := w.networkData(machine)
		require.Len(t, doc.Links, 1)
		require.Equal(t, fmt.Sprintf("52:54:00:00:0%d:02", i+1), doc.Links[0].MAC)
		require.Len(t, doc.Networks, 1)
		require.Contains(t, string(w.userData(machine)), "lca-52-54-00-00-0", "the profile finds it by its MAC address")
	}
	require.Len(t, w.locks(), 2)
}

// A tagged network is above the interface that the host's inspection names, and a host without the role is named in an event.
func TestRoleOfATaggedNetwork(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {}) // VLAN 7
	machine := w.pool + "-m"
	w.machine(machine, "role:storage="+w.pool, "")
	h := w.object(HostKind(), w.pool+"-h", consumedBy(machineKind, machine), func(o *unstructured.Unstructured) {
		o.Object["status"] = inspected(card("eno1", "52:54:00:00:03:01", boots), card("ens4", "52:54:00:00:03:02"))
	})
	w.eventually(func() bool { return len(w.locks()) == 1 }, "its claim is served")
	w.patch(h, `{"metadata":{"annotations":{%q:"storage=ens4"}}}`, RolesAnnotation)
	doc := w.networkData(machine)
	require.Len(t, doc.Links, 2)
	require.Equal(t, "52:54:00:00:03:02", doc.Links[0].MAC)
	require.Equal(t, 7, doc.Links[1].VLANID)
	require.Contains(t, files(t, w.userData(machine)), "/etc/NetworkManager/system-connections/lca-ens4.7.nmconnection")
}
