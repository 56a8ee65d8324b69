//go:build demo

package hostnet

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
)

// TestDemo is "make demo-ipam": a pool, a thousand claims, a machine with its own config, an overlap refused.
func TestDemo(t *testing.T) {
	w := newWorld(t)
	shared.Server(t).Apply(t, "config/admission/ippools.yaml")
	say("1. A pool on network %s, VLAN 7: 172.22.0.0/21 from .10, DHCP 172.22.7.0 to 172.22.7.250 beside it", w.pool)
	w.newPool(func(s *metal3.IPPoolSpec) {
		first, last := metal3.IPAddressStr("172.22.0.10"), metal3.IPAddressStr("172.22.6.255")
		s.Prefix, s.Pools = 21, []metal3.Pool{{Start: &first, End: &last}}
		s.DHCPRange = &metal3.DHCPRange{Start: "172.22.7.0", End: "172.22.7.250"}
	})
	const n = 1000
	say("2. %d claims", n)
	begun := time.Now()
	for i := range n {
		c := &metal3.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprintf("host-%d", i)},
			Spec: metal3.IPClaimSpec{Pool: metal3.ObjectReference{Name: w.pool}}}
		require.NoError(t, w.api.Create(t.Context(), c))
	}
	require.Eventually(t, func() bool { return len(w.locks()) == n }, 10*time.Minute, time.Second)
	seen := map[string]string{}
	addresses := &metal3.IPAddressList{}
	require.Eventually(t, func() bool {
		require.NoError(t, w.api.List(context.Background(), addresses, client.InNamespace(ns)))
		return len(addresses.Items) == n
	}, 10*time.Minute, time.Second)
	for _, a := range addresses.Items {
		require.Empty(t, seen[string(a.Spec.Address)])
		seen[string(a.Spec.Address)] = a.Name
	}
	say("   %d addresses in %s, none twice", len(seen), time.Since(begun).Round(time.Millisecond))
	p := &metal3.IPPool{}
	require.Eventually(t, func() bool {
		return w.api.Get(context.Background(), client.ObjectKey{Namespace: ns, Name: w.pool}, p) == nil && p.Status.Used == n
	}, time.Minute, tick)
	say("   pool: free %s, used %d, total %s", p.Status.Free, p.Status.Used, p.Status.Total)

	say("3. A machine with interface ens4 on it, and its own Ignition config")
	w.secret("worker-user-data", map[string][]byte{"userData": []byte(roleConfig)})
	w.machine("worker-0", "ens4="+w.pool, "worker-user-data")
	show(t, w.userData("worker-0"))

	say("4. The DHCP range is moved into the addresses")
	edit := `{"spec":{"dhcpRange":{"start":"172.22.6.200","end":"172.22.7.250"}}}`
	var err error
	require.Eventually(t, func() bool {
		err = w.api.Patch(context.Background(), p, client.RawPatch("application/merge-patch+json", []byte(edit)), client.DryRunAll)
		return err != nil
	}, time.Minute, tick)
	say("   refused: %v", err)
	say("5. The pool is deleted")
	say("   refused: %v", w.api.Delete(t.Context(), p))
}

func say(format string, args ...any) { fmt.Printf(format+"\n", args...) }

// show prints a config with its files readable.
func show(t *testing.T, config []byte) {
	t.Helper()
	var doc struct {
		Ignition struct{ Version string }
		Storage  struct {
			Files []struct {
				Path     string
				Mode     int
				Contents struct{ Source string }
			}
		}
	}
	require.NoError(t, json.Unmarshal(config, &doc))
	say("   ignition %s", doc.Ignition.Version)
	for _, f := range doc.Storage.Files {
		say("   %s, mode %#o", f.Path, f.Mode)
		if _, data, ok := strings.Cut(f.Contents.Source, ";base64,"); ok {
			text, err := base64.StdEncoding.DecodeString(data)
			require.NoError(t, err)
			say("      %s", strings.ReplaceAll(strings.TrimSpace(string(text)), "\n", "\n      "))
		}
	}
}
