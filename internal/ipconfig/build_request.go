package ipconfig

import (
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// BuildRequest turns an accepted spec into the request of an operation. What spec leaves
// out is taken from the node as it is.
func BuildRequest(operationID, oldStateroot string, spec lcav1.IPConfigSpec, now Current) Request {
	r := Request{
		OperationID: operationID, NewStateroot: StaterootName(operationID), OldStateroot: oldStateroot,
		DNSServers: spec.DNSServers, CurrentVLANID: int(now.VLANID), DNSFilterOutFamily: string(spec.DNSFilterOutFamily),
		Probes:             probesOf(spec),
		InstallInitMonitor: true, InstallIPConfigurationService: true,
	}
	if len(r.DNSServers) == 0 {
		r.DNSServers = now.DNSServers
	}
	r.VLANID = int(now.VLANID)
	if id, said := wantedVLAN(spec); said {
		r.VLANID = int(id)
	}
	r.setIPv4(spec.IPv4, now.IPv4)
	r.setIPv6(spec.IPv6, now.IPv6)
	return r
}

func (r *Request) setIPv4(spec *lcav1.IPv4Config, now *lcav1.IPStatus) {
	switch {
	case spec != nil:
		w := fill("ipv4", spec.Address, spec.MachineNetwork, spec.Gateway, now)
		r.IPv4Address, r.IPv4MachineNetwork, r.IPv4Gateway = w.address, w.network, w.gateway
	case now != nil && now.Address != "":
		r.IPv4Address, r.IPv4MachineNetwork, r.IPv4Gateway = now.Address, now.MachineNetwork, now.Gateway
	}
	if now != nil {
		r.CurrentIPv4Gateway, r.CurrentIPv4MachineNetwork = now.Gateway, now.MachineNetwork
	}
}

func (r *Request) setIPv6(spec *lcav1.IPv6Config, now *lcav1.IPStatus) {
	switch {
	case spec != nil:
		w := fill("ipv6", spec.Address, spec.MachineNetwork, spec.Gateway, now)
		r.IPv6Address, r.IPv6MachineNetwork, r.IPv6Gateway = w.address, w.network, w.gateway
	case now != nil && now.Address != "":
		r.IPv6Address, r.IPv6MachineNetwork, r.IPv6Gateway = now.Address, now.MachineNetwork, now.Gateway
	}
	if now != nil {
		r.CurrentIPv6Gateway, r.CurrentIPv6MachineNetwork = now.Gateway, now.MachineNetwork
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
	}
	if r.IPv4Address != "" {
		spec.IPv4 = &lcav1.IPv4Config{Address: r.IPv4Address, MachineNetwork: r.IPv4MachineNetwork, Gateway: r.IPv4Gateway}
	}
	if r.IPv6Address != "" {
		spec.IPv6 = &lcav1.IPv6Config{Address: r.IPv6Address, MachineNetwork: r.IPv6MachineNetwork, Gateway: r.IPv6Gateway}
	}
	return spec
}
