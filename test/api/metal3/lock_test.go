package metal3_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
)

// What the API server stores as the end of a quarantine, a Go client can read: one lock must not keep all from being listed.
func TestEndOfAQuarantineCanBeRead(t *testing.T) {
	s := server(t)
	for until, words := range map[string]string{
		"2026-01-01T00:00:00Z": "", "2026-01-01T00:00:00.5+02:00": "",
		"2026-01-01t00:00:00z": "until", "2026-01-01T24:00:00Z": "until", "1d": "until",
	} {
		t.Run(until, func(t *testing.T) {
			o := object(t, "AddressLock", "net.192.0.2.1", `{network: net, address: 192.0.2.1, state: Quarantined, pool: {namespace: a, name: b}, until: "`+until+`"}`)
			o.SetGroupVersionKind(lockv1.GroupVersion.WithKind("AddressLock"))
			o.SetNamespace("")
			err := s.Client.Create(t.Context(), o, client.DryRunAll)
			if words == "" {
				require.NoError(t, err)
				return
			}
			refusedWith(t, err, words)
		})
	}
}
