package hostnet

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

// Owners that are served, that wait for a pool or for their base config, and one that left, bring every controller to rest.
func TestControllersComeToRest(t *testing.T) {
	w := newWorld(t)
	w.newPool(func(*metal3.IPPoolSpec) {})
	w.host("bmh-rest", "rest-served", "provisioned")
	served := w.machine("rest-served", "ens4="+w.pool, "")
	w.userData("rest-served")
	waits := w.machine("rest-waits", "ens4=no-such-pool", "")
	left := w.machine("rest-left", "ens4="+w.pool, "")
	w.userData("rest-left")
	w.gone(left)
	w.eventually(func() bool { return len(w.locks()) == 1 }, "the address of the owner that left is free")
	controllers := []string{"ippool", "ipam-IPClaim"}
	for _, k := range []schema.GroupVersionKind{HostKind(), machineKind, contractMachine, metal3Machine} {
		controllers = append(controllers, "hostnet-"+strings.ToLower(k.Kind+"."+k.Group))
	}
	apitest.RequireRest(t, controllers...)
	w.gone(waits)
	w.gone(served)
	require.NoError(t, w.api.Delete(t.Context(), &metal3.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: w.pool}}))
	apitest.RequireRest(t, controllers...)
}
