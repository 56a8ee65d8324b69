package change

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strconv"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Uplink is the interface below br-ex.
type Uplink struct {
	// Name is the port of br-ex: the network card, or a VLAN on it.
	Name string
	// Base is the network card or bond; the same as Name without a VLAN.
	Base string
	// Type is the base's type, which the change keeps; empty means ethernet.
	Type string
	// VLAN is the tag in use; 0 for none.
	VLAN int
}

// FindUplink finds the interface that carries br-ex and whether it is tagged.
func FindUplink(ctx context.Context, sw host.Switch, now netstate.Document) (Uplink, error) {
	name, err := sw.Uplink(ctx, host.BridgeExternal)
	if err != nil {
		return Uplink{}, fmt.Errorf("find the uplink of %s: %w", host.BridgeExternal, err)
	}
	return UplinkIn(now, name), nil
}

// UplinkIn is what the observed document says of the uplink of that name.
func UplinkIn(now netstate.Document, name string) Uplink {
	u := Uplink{Name: name, Base: name}
	if i, ok := now.Find(name, netstate.TypeVLAN); ok && i.VLAN != nil {
		u.Base, u.VLAN = i.VLAN.BaseIface, i.VLAN.ID
	}
	if base, ok := now.Find(u.Base, ""); ok {
		u.Type = base.Type
	}
	return u
}

// After is the uplink as a request leaves it.
func (u Uplink) After(vlan int) Uplink {
	if vlan == u.VLAN {
		return u
	}
	if vlan == 0 {
		return Uplink{Name: u.Base, Base: u.Base, Type: u.Type}
	}
	return Uplink{Name: vlanName(u.Base, vlan), Base: u.Base, VLAN: vlan, Type: u.Type}
}

// vlanName is the name of a VLAN on an interface. The kernel refuses a name that is too long, as cards of many ports would
// give: of such a one the beginning serves.
func vlanName(base string, vlan int) string {
	tag := "." + strconv.Itoa(vlan)
	return base[:min(len(base), netstate.MaxNameLength-len(tag))] + tag
}

// RenderNetwork writes the network of the request as an nmstate document for the
// uplink: br-ex does not exist when it is applied, and is built over the
// uplink, taking its configuration, when kubelet's dependencies start.
func RenderNetwork(r ipconfig.Request, before Uplink) (netstate.Document, error) {
	families, err := r.Families()
	if err != nil {
		return netstate.Document{}, fmt.Errorf("render the network: %w", err)
	}
	after := before.After(r.VLANID)
	doc := netstate.Document{Interfaces: interfaces(before, after, families), Routes: &netstate.Routes{}}
	for _, f := range families {
		doc.Routes.Config = append(doc.Routes.Config, routes(f, before, after)...)
	}
	if len(r.DNSServers) > 0 {
		doc.DNS = &netstate.DNS{Config: &netstate.Resolver{Server: r.DNSServers}}
	}
	return doc, nil
}

func interfaces(before, after Uplink, families []ipconfig.Family) []netstate.Interface {
	base := cmp.Or(after.Type, netstate.TypeEthernet)
	carrier := netstate.Interface{Name: after.Name, Type: base, State: netstate.StateUp}
	carrier.IPv4, carrier.IPv6 = ip(families, true), ip(families, false)
	var out []netstate.Interface
	if after.VLAN > 0 {
		carrier.Type = netstate.TypeVLAN
		carrier.VLAN = &netstate.VLAN{ID: after.VLAN, BaseIface: after.Base}
		out = append(out, netstate.Interface{
			Name: after.Base, Type: base, State: netstate.StateUp,
			IPv4: netstate.Disabled(), IPv6: netstate.Disabled(),
		})
	}
	out = append(out, carrier)
	if before.VLAN > 0 && before.Name != after.Name {
		out = append(out, netstate.Interface{Name: before.Name, Type: netstate.TypeVLAN, State: netstate.StateAbsent})
	}
	return out
}

func ip(families []ipconfig.Family, v4 bool) *netstate.IP {
	no := false
	for _, f := range families {
		if f.Address.Is4() != v4 {
			continue
		}
		address := netstate.Address{IP: f.Address.String(), PrefixLength: f.Network.Bits()}
		out := &netstate.IP{Enabled: new(true), DHCP: &no, Addresses: []netstate.Address{address}}
		if !v4 {
			out.Autoconf = &no
		}
		return out
	}
	return netstate.Disabled()
}

func routes(f ipconfig.Family, before, after Uplink) (out []netstate.Route) {
	destination := "0.0.0.0/0"
	if f.Address.Is6() {
		destination = "::/0"
	}
	if f.CurrentGateway.IsValid() && f.CurrentGateway != f.Gateway && before.Name == after.Name {
		out = append(out, netstate.Route{
			Destination: destination, NextHopInterface: before.Name,
			NextHopAddress: f.CurrentGateway.String(), State: netstate.StateAbsent,
		})
	}
	if f.Gateway.IsValid() {
		out = append(out, netstate.Route{
			Destination: destination, NextHopInterface: after.Name, NextHopAddress: f.Gateway.String(),
			Metric: ipconfig.DefaultRouteMetric, TableID: netstate.MainTable,
		})
	}
	return out
}

// overrideAddress is what the cluster's own names resolve to: dnsmasq takes one
// address, so on dual-stack the first whose family is not filtered out.
func overrideAddress(families []ipconfig.Family, filter string) netip.Addr {
	for _, f := range families {
		if filter == "ipv4" && f.Address.Is4() || filter == "ipv6" && f.Address.Is6() {
			continue
		}
		return f.Address
	}
	return families[0].Address
}

// recertConfig is recert_config.json as the address change needs it. Its keys are recert's
// own; the kubeadmin key is left out on purpose, because an empty one
// means "delete the kubeadmin secret".
type recertConfig struct {
	EtcdEndpoint              string   `json:"etcd_endpoint"`
	IPChangeOnly              bool     `json:"ip_change_only"`
	IP                        []string `json:"ip"`
	MachineNetworkCIDR        []string `json:"machine_network_cidr"`
	InstallConfig             string   `json:"install_config,omitempty"`
	CryptoDirs                []string `json:"crypto_dirs"`
	CryptoFiles               []string `json:"crypto_files"`
	ClusterCustomizationDirs  []string `json:"cluster_customization_dirs"`
	ClusterCustomizationFiles []string `json:"cluster_customization_files"`
	CNSanReplaceRules         []string `json:"cn_san_replace_rules,omitempty"`
	UseKeyRules               []string `json:"use_key_rules,omitempty"`
	UseCertRules              []string `json:"use_cert_rules,omitempty"`
	SummaryFile               string   `json:"summary_file_clean"`
}

// keyFiles are the signer keys in the kubeconfig-crypto folder and the subjects they serve.
var keyFiles = []struct{ subject, file string }{
	{"kube-apiserver-lb-signer", "loadbalancer-serving-signer.key"},
	{"kube-apiserver-localhost-signer", "localhost-serving-signer.key"},
	{"kube-apiserver-service-network-signer", "service-network-serving-signer.key"},
}

func renderRecert(r ipconfig.Request, in Inputs, primary netip.Addr) (recertConfig, error) {
	families, err := r.Families()
	if err != nil {
		return recertConfig{}, fmt.Errorf("render the configuration of recert: %w", err)
	}
	dirs := []string{"/kubelet", "/kubernetes", "/machine-config-daemon"}
	c := recertConfig{
		EtcdEndpoint: "localhost:2379", IPChangeOnly: true, InstallConfig: in.InstallConfig,
		CryptoDirs: dirs, CryptoFiles: []string{"/host-etc/mcs-machine-config-content.json"},
		ClusterCustomizationDirs: dirs,
		ClusterCustomizationFiles: []string{
			"/host-etc/mcs-machine-config-content.json", "/host-etc/mco/proxy.env", "/host-etc/chrony.conf",
		},
		SummaryFile: host.RecertSummary,
	}
	for _, f := range ipconfig.PrimaryFirst(families, primary) {
		c.IP = append(c.IP, f.Address.String())
		c.MachineNetworkCIDR = append(c.MachineNetworkCIDR, f.Network.Masked().String())
		old, ok := sameFamily(in.NodeAddresses, f.Address)
		if !ok {
			return recertConfig{}, fmt.Errorf("the Node object has no address of the family of %s", f.Address)
		}
		if old != f.Address {
			c.CNSanReplaceRules = append(c.CNSanReplaceRules, old.String()+","+f.Address.String())
		}
	}
	c.addCryptoRules(in)
	return c, nil
}

func (c *recertConfig) addCryptoRules(in Inputs) {
	for _, k := range keyFiles {
		if _, ok := in.Crypto[k.file]; ok {
			c.UseKeyRules = append(c.UseKeyRules, k.subject+" "+ipconfig.CryptoDir+"/"+k.file)
		}
	}
	if _, ok := in.Crypto["ingresskey-ingress-operator.key"]; ok && in.IngressCN != "" {
		c.UseKeyRules = append(c.UseKeyRules, in.IngressCN+" "+ipconfig.CryptoDir+"/ingresskey-ingress-operator.key")
	}
	if _, ok := in.Crypto["admin-kubeconfig-client-ca.crt"]; ok {
		c.UseCertRules = append(c.UseCertRules, ipconfig.CryptoDir+"/admin-kubeconfig-client-ca.crt")
	}
}

func sameFamily(addrs []netip.Addr, like netip.Addr) (netip.Addr, bool) {
	for _, a := range addrs {
		if a.Is4() == like.Is4() {
			return a, true
		}
	}
	return netip.Addr{}, false
}
