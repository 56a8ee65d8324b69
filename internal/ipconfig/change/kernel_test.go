package change_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// TestTheKernelArgumentsFollowTheChange: with network-bound disk encryption the root of the new system would stay locked.
func TestTheKernelArgumentsFollowTheChange(t *testing.T) {
	w := newWorld(t)
	w.node.BootsOnce(false)
	old := []string{"rw", "rd.neednet=1", "rd.luks.options=_netdev", "ip=192.0.2.10::192.0.2.1:255.255.255.0:sno:eno1:none"}
	w.node.BootWith(old...)
	require.NoError(t, w.Live(nil))
	w.requireVerdict("new")
	r, err := ipconfig.ReadRequest(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, []string{"rw", "rd.neednet=1", "rd.luks.options=_netdev", "ip=198.51.100.20::198.51.100.1:255.255.255.0:sno:eno1:none"},
		w.node.ArgumentsOf(r.NewStateroot))
	have, err := w.node.Deployments().KernelArguments(t.Context())
	require.NoError(t, err)
	require.Equal(t, old, have, "the entry of the old system keeps its own")
}

func TestAChangeThatWouldLockTheRootIsRefused(t *testing.T) {
	for name, c := range map[string]struct {
		arguments     []string
		machineConfig string
		verdict       string
	}{
		"another gateway": {[]string{"rd.neednet=1", "ip=192.0.2.10::192.0.2.254:24::eno1:none"}, "", "old"},
		"owned": {[]string{"rd.luks.options=_netdev", "ip=192.0.2.10::192.0.2.1:24::eno1:none"},
			`{"spec":{"kernelArguments":["a=1 ip=192.0.2.10::192.0.2.1:24::eno1:none"]}}`, "old"},
		"not needed": {[]string{"ip=192.0.2.10::192.0.2.254:24::eno1:none"}, "", "new"},
		"dynamic":    {[]string{"rd.neednet=1", "rd.luks.options=_netdev", "ip=dhcp"}, "", "new"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node.BootsOnce(false)
			w.node.BootWith(c.arguments...)
			if c.machineConfig != "" {
				require.NoError(t, w.node.Files().Write(host.MachineConfig, []byte(c.machineConfig), 0o600))
			}
			require.NoError(t, w.Live(nil))
			w.requireVerdict(c.verdict)
			if c.verdict == "old" {
				require.Contains(t, w.progress().PrePivot.Failure, "kernel arguments of the old network cannot be moved: ip=192.0.2.10")
				require.Len(t, w.node.Describe().Stateroots, 1, "nothing was made")
				return
			}
			r, err := ipconfig.ReadRequest(w.node.Files())
			require.NoError(t, err)
			require.Equal(t, c.arguments, w.node.ArgumentsOf(r.NewStateroot))
		})
	}
}

// TestAPanicOfTheNewSystemEndsItsOnlyBoot: without a boot loader that starts it once, a reboot would lead into the same panic.
func TestAPanicOfTheNewSystemEndsItsOnlyBoot(t *testing.T) {
	for name, c := range map[string]struct {
		once      bool
		have, new []string
	}{
		"boots once":                 {true, []string{"rw"}, []string{"rw", "panic=10"}},
		"boots again":                {false, []string{"rw"}, []string{"rw"}},
		"boots once, panic is given": {true, []string{"panic=0", "rw"}, []string{"panic=0", "rw"}},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t)
			w.node.BootsOnce(c.once)
			w.node.BootWith(c.have...)
			require.NoError(t, w.Live(nil))
			w.requireVerdict("new")
			r, err := ipconfig.ReadRequest(w.node.Files())
			require.NoError(t, err)
			require.Equal(t, c.new, w.node.ArgumentsOf(r.NewStateroot))
		})
	}
}
