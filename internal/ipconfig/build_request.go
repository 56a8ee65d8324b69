package ipconfig

import (
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
)

// BuildRequest turns an accepted spec into the request of an operation. What spec leaves
// out is taken from the node as it is.
func BuildRequest(operationID, oldStateroot string, spec lcav1.IPConfigSpec, now Current) Request {
	r := Request{
		OperationID: operationID, NewStateroot: StaterootName(operationID), OldStateroot: oldStateroot,
		DNSServers: spec.DNSServers, CurrentDNSServers: now.DNSServers,
		CurrentVLANID: int(now.VLANID), DNSFilterOutFamily: string(spec.DNSFilterOutFamily),
		Probes:             probesOf(spec),
		InstallInitMonitor: true, InstallIPConfigurationService: true,
	}
	if len(r.DNSServers) == 0 {
		r.DNSServers = now.DNSServers
	}
	r.VLANID = int(now.VLANID)
	if id, said := DesiredVLAN(spec); said {
		r.VLANID = int(id)
	}
	r.setIPv4(spec.IPv4, now.IPv4)
	r.setIPv6(spec.IPv6, now.IPv6)
	return r
}

func (r *Request) setIPv4(spec *lcav1.IPv4Config, now *lcav1.IPStatus) {
	switch {
	case spec != nil:
		w := newDesiredFamily("ipv4", spec.Address, spec.MachineNetwork, spec.Gateway, now)
		r.IPv4Address, r.IPv4MachineNetwork, r.IPv4Gateway, r.IPv4PrefixLength = w.Address, w.Network, w.Gateway, w.PrefixLength
	case now != nil && now.Address != "":
		r.IPv4Address, r.IPv4MachineNetwork, r.IPv4Gateway = now.Address, now.MachineNetwork, now.Gateway
		r.IPv4PrefixLength = int(now.PrefixLength)
	}
	if now != nil {
		r.CurrentIPv4Gateway, r.CurrentIPv4MachineNetwork = now.Gateway, now.MachineNetwork
		r.CurrentIPv4Address, r.CurrentIPv4PrefixLength = now.Address, int(now.PrefixLength)
	}
}

func (r *Request) setIPv6(spec *lcav1.IPv6Config, now *lcav1.IPStatus) {
	switch {
	case spec != nil:
		w := newDesiredFamily("ipv6", spec.Address, spec.MachineNetwork, spec.Gateway, now)
		r.IPv6Address, r.IPv6MachineNetwork, r.IPv6Gateway, r.IPv6PrefixLength = w.Address, w.Network, w.Gateway, w.PrefixLength
	case now != nil && now.Address != "":
		r.IPv6Address, r.IPv6MachineNetwork, r.IPv6Gateway = now.Address, now.MachineNetwork, now.Gateway
		r.IPv6PrefixLength = int(now.PrefixLength)
	}
	if now != nil {
		r.CurrentIPv6Gateway, r.CurrentIPv6MachineNetwork = now.Gateway, now.MachineNetwork
		r.CurrentIPv6Address, r.CurrentIPv6PrefixLength = now.Address, int(now.PrefixLength)
	}
}

// AutoRollbackFor reads the toggles that an IPConfig carries.
func AutoRollbackFor(ipc *lcav1.IPConfig) AutoRollback {
	enabled := func(annotation string) bool {
		return ipc.Annotations[annotation] != lcav1.AutoRollbackDisableValue
	}
	a := AutoRollback{
		MonitorEnabled:    enabled(lcav1.AutoRollbackOnFailureInitMonitorAnnotation),
		EnabledComponents: map[string]bool{ComponentRun: enabled(lcav1.AutoRollbackOnFailureIPConfigRunAnnotation)},
		MonitorTimeout:    lcav1.DefaultInitMonitorTimeoutSeconds,
	}
	if ipc.Annotations[lcav1.AutoRollbackOnFailureHealthAnnotation] == lcav1.AutoRollbackEnableValue {
		a.EnabledComponents[ComponentHealth] = true
	}
	if c := ipc.Spec.AutoRollbackOnFailure; c != nil && c.InitMonitorTimeoutSeconds > 0 {
		a.MonitorTimeout = int(c.InitMonitorTimeoutSeconds)
	}
	return a
}

// Spec is the change that the request asks for, in full.
func (r Request) Spec() lcav1.IPConfigSpec {
	vlan := int32(r.VLANID)
	spec := lcav1.IPConfigSpec{
		Stage: lcav1.StageConfig, DNSServers: r.DNSServers, VLANID: &vlan, DNSFilterOutFamily: lcav1.DNSFilterFamily(r.DNSFilterOutFamily),
		Probes: probeSpecs(r.Probes),
	}
	if r.IPv4Address != "" {
		spec.IPv4 = &lcav1.IPv4Config{Address: r.IPv4Address, MachineNetwork: r.IPv4MachineNetwork, Gateway: r.IPv4Gateway}
	}
	if r.IPv6Address != "" {
		spec.IPv6 = &lcav1.IPv6Config{Address: r.IPv6Address, MachineNetwork: r.IPv6MachineNetwork, Gateway: r.IPv6Gateway}
	}
	return spec
}

// defaultProbeTimeout is the timeout of a probe that names none, in seconds.
const defaultProbeTimeout = 30

func probesOf(spec lcav1.IPConfigSpec) (out []bringup.Probe) {
	for _, p := range spec.Probes {
		probe := bringup.Probe{Name: p.Name, Type: string(p.Type), Target: p.Target, TimeoutSeconds: int(p.TimeoutSeconds)}
		if probe.TimeoutSeconds == 0 {
			probe.TimeoutSeconds = defaultProbeTimeout
		}
		if p.HTTP != nil {
			probe.CABundle, probe.SkipVerify = p.HTTP.CABundle, p.HTTP.InsecureSkipVerify
			for _, code := range p.HTTP.StatusCodes {
				probe.StatusCodes = append(probe.StatusCodes, int(code))
			}
		}
		out = append(out, probe)
	}
	return out
}
