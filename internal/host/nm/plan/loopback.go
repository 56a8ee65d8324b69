package plan

import (
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// The loopback interface always exists and always has the kernel's addresses. Without a profile NetworkManager leaves it to the kernel;
// a profile adds to what the kernel gives it.

// setLoopback gives the profile of the loopback interface its further addresses. NetworkManager adds the kernel's own by itself, and
// its method "auto" means those alone.
func setLoopback(s profile.Settings, ip *netstate.IP, f netstate.Family) error {
	if ip.Addresses == nil {
		return nil
	}
	wanted, err := ip.Prefixes()
	if err != nil {
		return err
	}
	wanted = slices.DeleteFunc(wanted, netstate.IsKernelLoopback)
	method, sec := "auto", profile.Section(f)
	if len(wanted) > 0 {
		method = "manual"
	}
	if profile.Value[string](s, sec, "method") != method {
		s.Set(sec, "method", method)
	}
	setAddresses(s, sec, wanted)
	return nil
}

// moveLoopbackKeys keeps what other links have in their Ethernet section where NetworkManager has it for the loopback interface.
func moveLoopbackKeys(s profile.Settings) {
	if s.Kind() != profile.TypeLoopback {
		return
	}
	if mtu := profile.Value[uint32](s, profile.TypeEthernet, "mtu"); mtu != 0 {
		s.Set(profile.TypeLoopback, "mtu", mtu)
	}
	delete(s, profile.TypeEthernet)
}

// isKernelsLoopback says that the loopback interface has no profile, and that the document needs none.
func (p *Plan) isKernelsLoopback(i netstate.Interface) bool {
	if i.Type != netstate.TypeLoopback {
		return false
	}
	_, owned := p.profileFor(i)
	return !owned && !p.isPlanned(i.Name) && len(netstate.Verify(netstate.Document{Interfaces: []netstate.Interface{i}}, p.now)) == 0
}

// loopback is the change of the loopback interface, which holds what belongs to no interface on a node where NetworkManager manages
// none of the family.
func (p *Plan) loopback() (*Change, error) {
	c, err := p.ensureChange(netstate.Interface{Name: netstate.LoopbackName, Type: netstate.TypeLoopback})
	if err != nil {
		return nil, fmt.Errorf("use the loopback interface: %w", err)
	}
	return c, nil
}
