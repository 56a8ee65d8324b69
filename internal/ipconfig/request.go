package ipconfig

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Request is ip-config-pre-pivot.json: everything lca-cli needs to know. The operator
// writes it once per operation; nothing changes it afterwards.
type Request struct {
	OperationID string `json:"operation-id"`
	// NewStateroot is made by this operation, OldStateroot is the way back.
	NewStateroot string `json:"new-stateroot-name"`
	OldStateroot string `json:"old-stateroot-name"`

	IPv4Address               string `json:"ipv4-address,omitempty"`
	IPv4MachineNetwork        string `json:"ipv4-machine-network,omitempty"`
	IPv4PrefixLength          int    `json:"ipv4-prefix-length,omitempty"`
	IPv4Gateway               string `json:"ipv4-gateway,omitempty"`
	CurrentIPv4Gateway        string `json:"current-ipv4-gateway,omitempty"`
	CurrentIPv4Address        string `json:"current-ipv4-address,omitempty"`
	CurrentIPv4PrefixLength   int    `json:"current-ipv4-prefix-length,omitempty"`
	CurrentIPv4MachineNetwork string `json:"current-ipv4-machine-network,omitempty"`

	IPv6Address               string `json:"ipv6-address,omitempty"`
	IPv6MachineNetwork        string `json:"ipv6-machine-network,omitempty"`
	IPv6PrefixLength          int    `json:"ipv6-prefix-length,omitempty"`
	IPv6Gateway               string `json:"ipv6-gateway,omitempty"`
	CurrentIPv6Gateway        string `json:"current-ipv6-gateway,omitempty"`
	CurrentIPv6Address        string `json:"current-ipv6-address,omitempty"`
	CurrentIPv6PrefixLength   int    `json:"current-ipv6-prefix-length,omitempty"`
	CurrentIPv6MachineNetwork string `json:"current-ipv6-machine-network,omitempty"`

	DNSServers         []string `json:"dns-servers,omitempty"`
	CurrentDNSServers  []string `json:"current-dns-servers,omitempty"`
	VLANID             int      `json:"vlan-id,omitempty"`
	CurrentVLANID      int      `json:"current-vlan-id,omitempty"`
	DNSFilterOutFamily string   `json:"dns-filter-out-family,omitempty"`
	PullSecretRefName  string   `json:"pull-secret-ref-name,omitempty"`

	// Probes must get a good answer before the change counts as done.
	Probes []bringup.Probe `json:"probes,omitempty"`

	InstallInitMonitor            bool `json:"install-init-monitor,omitempty"`
	InstallIPConfigurationService bool `json:"install-ip-configuration-service,omitempty"`
}

// PostPivotConfig is ip-config-post-pivot.json.
type PostPivotConfig struct {
	// RecertImage selects the container engine and names its image; empty means the native one.
	RecertImage string `json:"recert-image"`
}

// AutoRollback is ip-config-autorollback-config.json.
type AutoRollback struct {
	MonitorEnabled bool `json:"monitor_enabled"`
	// MonitorTimeout is in seconds that the new system runs, over all its boots.
	MonitorTimeout    int             `json:"monitor_timeout"`
	EnabledComponents map[string]bool `json:"enabled_components"`
}

// Watched is watchdog.json.
type Watched = stateroot.Watched

// ComponentRun is the key in EnabledComponents for a failed post-pivot.
const ComponentRun = "ip-config-run"

// ComponentHealth is the key in EnabledComponents for a cluster that is reachable and not healthy.
const ComponentHealth = "health"

// InitMonitorModeIPConfig is the content of the initmonitor_mode file.
const InitMonitorModeIPConfig = "ipconfig"

// StaterootPrefix marks the stateroots that this product makes.
const StaterootPrefix = "rhcos_ipc-"

// StaterootName is the stateroot of an operation.
func StaterootName(operationID string) string { return StaterootPrefix + operationID }

// Pair names the two stateroots of the operation.
func (r Request) Pair() stateroot.Pair {
	return stateroot.Pair{Old: r.OldStateroot, New: r.NewStateroot}
}

// Timeout of the watchdog; the default where the file says 0.
func (a AutoRollback) Timeout() time.Duration {
	if a.MonitorTimeout <= 0 {
		return 30 * time.Minute
	}
	return time.Duration(a.MonitorTimeout) * time.Second
}

// RunEnabled says whether a failed post-pivot rolls back by itself.
func (a AutoRollback) RunEnabled() bool { return a.EnabledComponents[ComponentRun] }

// HealthEnabled says whether the watchdog rolls a proved change back whose cluster does not become healthy in time. A watchdog
// that is switched off rolls nothing back.
func (a AutoRollback) HealthEnabled() bool {
	return a.MonitorEnabled && a.EnabledComponents[ComponentHealth]
}

// Family is one address family's part of a request, parsed.
type Family struct {
	Address netip.Addr
	// Network is the cluster's machine network; what is on the link is OnLink.
	Network netip.Prefix
	// PrefixLength is that of the address on the network card; 0 in a request that was written before there was one: then
	// it is that of the machine network.
	PrefixLength   int
	Gateway        netip.Addr // zero: none
	CurrentGateway netip.Addr // zero: none
	// CurrentNetwork is the machine network that the change leaves; zero where it is not known.
	CurrentNetwork netip.Prefix
	CurrentAddress netip.Addr // zero: not known
}

// Prefix is the address as the network card gets it.
func (f Family) Prefix() netip.Prefix {
	return netip.PrefixFrom(f.Address, cmp.Or(f.PrefixLength, f.Network.Bits()))
}

// OnLink is the network that the node reaches without a gateway.
func (f Family) OnLink() netip.Prefix { return f.Prefix().Masked() }

// Families parses the request's families, IPv4 first.
func (r Request) Families() ([]Family, error) {
	var out []Family
	for _, family := range []struct {
		text   [6]string
		prefix int
	}{
		{[6]string{r.IPv4Address, r.IPv4MachineNetwork, r.IPv4Gateway, r.CurrentIPv4Gateway, r.CurrentIPv4MachineNetwork,
			r.CurrentIPv4Address}, r.IPv4PrefixLength},
		{[6]string{r.IPv6Address, r.IPv6MachineNetwork, r.IPv6Gateway, r.CurrentIPv6Gateway, r.CurrentIPv6MachineNetwork,
			r.CurrentIPv6Address}, r.IPv6PrefixLength},
	} {
		if family.text[0] == "" && family.text[1] == "" {
			continue
		}
		f, err := parseFamily(family.text, family.prefix)
		if err != nil {
			return nil, fmt.Errorf("request %s: %w", r.OperationID, err)
		}
		out = append(out, f)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("request %s names no address", r.OperationID)
	}
	return out, nil
}

func parseFamily(text [6]string, prefix int) (Family, error) {
	f := Family{PrefixLength: prefix}
	var errs []error
	parse := func(what, s string, to *netip.Addr) {
		if s == "" {
			return
		}
		a, err := netip.ParseAddr(s)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s %q is not an IP address", what, s))
		}
		*to = a
	}
	parse("address", text[0], &f.Address)
	parse("gateway", text[2], &f.Gateway)
	parse("current gateway", text[3], &f.CurrentGateway)
	parse("current address", text[5], &f.CurrentAddress)
	n, err := netip.ParsePrefix(text[1])
	if err != nil {
		errs = append(errs, fmt.Errorf("machine network %q of address %s is not a CIDR", text[1], text[0]))
	}
	f.Network = n
	if now, err := netip.ParsePrefix(text[4]); err == nil {
		f.CurrentNetwork = now.Masked()
	}
	if len(errs) == 0 && !n.Contains(f.Address) {
		errs = append(errs, fmt.Errorf("address %s is outside its machine network %s", f.Address, n))
	}
	if prefix < 0 || f.Address.IsValid() && prefix > f.Address.BitLen() {
		errs = append(errs, fmt.Errorf("address %s cannot have prefix length %d", f.Address, prefix))
	}
	if why := UnusableAddress(f.Address); why != "" && f.Address.IsValid() {
		errs = append(errs, fmt.Errorf("address %s %s", f.Address, why))
	}
	return f, errors.Join(errs...)
}

// DNS parses the request's DNS servers, order kept.
func (r Request) DNS() ([]netip.Addr, error) {
	var out []netip.Addr
	for _, s := range r.DNSServers {
		a, err := netip.ParseAddr(s)
		if err != nil {
			return nil, fmt.Errorf("request %s: DNS server %q is not an IP address", r.OperationID, s)
		}
		out = append(out, a)
	}
	return out, nil
}

// PrimaryFirst orders the families as the node has them: the family of primary first.
func PrimaryFirst(families []Family, primary netip.Addr) []Family {
	out := slices.Clone(families)
	slices.SortStableFunc(out, func(a, b Family) int {
		return familyRank(a, primary) - familyRank(b, primary)
	})
	return out
}

func familyRank(f Family, primary netip.Addr) int {
	if primary.IsValid() && f.Address.Is4() != primary.Is4() {
		return 1
	}
	return 0
}

// Site is what must answer on the requested network.
func (r Request) Site() (bringup.Site, error) {
	families, err := r.Families()
	if err != nil {
		return bringup.Site{}, err
	}
	servers, err := r.DNS()
	if err != nil {
		return bringup.Site{}, err
	}
	s := bringup.Site{DNS: servers}
	for _, f := range families {
		if f.Gateway.IsValid() {
			s.Gateways = append(s.Gateways, f.Gateway)
		}
	}
	for _, probe := range r.Probes {
		if probe.Type == host.EndpointDNS {
			s.Names = append(s.Names, probe.Target)
		}
	}
	return s, nil
}
