package preflight_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

const static = "ip=192.0.2.10::192.0.2.1:24::eno1:none"

func TestKernelArgumentsOfTheOldNetwork(t *testing.T) {
	for name, c := range map[string]struct {
		arguments, owned []string
		refusal, warning string
	}{
		"none":    {arguments: []string{"rw", "rd.neednet=1"}},
		"dynamic": {arguments: []string{"rd.neednet=1", "rd.luks.options=_netdev", "ip=dhcp"}},
		"moved, Tang": {arguments: []string{"rd.neednet=1", "rd.luks.options=_netdev", static},
			warning: static + " -> ip=198.51.100.20::198.51.100.1:24::eno1:none"},
		"moved, for nothing": {arguments: []string{static}, warning: "the new boot entry gets other kernel arguments"},
		"stuck, Tang": {arguments: []string{"rd.luks.options=_netdev", "ip=192.0.2.10::192.0.2.254:24::eno1:none"},
			refusal: "cannot be moved: ip=192.0.2.10::192.0.2.254:24::eno1:none (its gateway 192.0.2.254 is not that of the node): remove or correct them",
			warning: "name the old network and stay"},
		"owned, Tang": {arguments: []string{"rd.neednet=1", static}, owned: []string{static}, refusal: static + " (a MachineConfig owns it)",
			warning: "name the old network and stay"},
		"stuck, for nothing": {arguments: []string{"ip=192.0.2.10::192.0.2.254:24::eno1:none"}, warning: "name the old network and stay"},
	} {
		t.Run(name, func(t *testing.T) {
			f := goodFacts()
			f.KernelArguments, f.OwnedArguments = c.arguments, c.owned
			checks := preflight.Validate(goodSpec(), f)
			if c.refusal == "" {
				require.NoError(t, preflight.Refusal(checks))
			} else {
				require.ErrorContains(t, preflight.Refusal(checks), c.refusal)
			}
			for _, check := range checks {
				if check.Name == preflight.CheckKernelMoved {
					require.Equal(t, c.warning != "", check.Result == lcav1.PreflightFailed)
					require.Contains(t, check.Message, c.warning)
				}
			}
		})
	}
}
