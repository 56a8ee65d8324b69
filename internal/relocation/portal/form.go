package portal

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// field is one input of the form.
type field struct {
	Name, Label, Hint string
	Needed, Long      bool
	Value, Error      string
	Options           []option
}

type option struct{ Value, Text string }

type group struct {
	Title        string
	Folded, Open bool
	Fields       []field
}

// The names of the inputs.
const (
	inSite      = "site"
	inHostname  = "hostname"
	inCluster   = "cluster"
	inDomain    = "domain"
	inPort      = "port"
	inAddress   = "address"
	inGateway   = "gateway"
	inVLAN      = "vlan"
	inDNS       = "dns"
	inNTP       = "ntp"
	inHTTPProxy = "httpproxy"
	inNoProxy   = "noproxy"
	inPull      = "pullsecret"
)

// formGroups is the form, empty.
func formGroups(ports []Port) []group {
	port := field{Name: inPort, Label: "Network port", Hint: "The port that the site's cable is in.", Needed: true}
	for _, p := range ports {
		text := p.Name + " (no cable)"
		if p.Cable {
			text = p.Name + " (cable connected)"
		}
		port.Options = append(port.Options, option{p.Name, text})
	}
	return []group{
		{Title: "Names", Fields: []field{
			{Name: inHostname, Label: "Name of the node", Hint: "For example site-1", Needed: true},
			{Name: inCluster, Label: "Name of the cluster", Hint: "For example site-1"},
			{Name: inDomain, Label: "Domain", Hint: "For example edge.example.org"},
		}},
		{Title: "Network", Fields: []field{
			port,
			{Name: inAddress, Label: "Address with prefix length", Hint: "For example 192.0.2.10/24", Needed: true},
			{Name: inGateway, Label: "Router (gateway)", Hint: "For example 192.0.2.1", Needed: true},
			{Name: inDNS, Label: "Name servers (DNS)",
				Hint: "One or more addresses with commas between, for example 192.0.2.53", Needed: true},
			{Name: inVLAN, Label: "VLAN number", Hint: "1 to 4094. Leave it empty if nobody gave you one."},
		}},
		{Title: "More, only if you were given it", Folded: true, Fields: []field{
			{Name: inSite, Label: "Name of the site", Hint: "For example store-0042"},
			{Name: inNTP, Label: "Time servers (NTP)", Hint: "Names or addresses with commas between"},
			{Name: inHTTPProxy, Label: "Proxy", Hint: "For example http://proxy.example.org:3128"},
			{Name: inNoProxy, Label: "Without proxy", Hint: "Names and networks with commas between"},
			{Name: inPull, Label: "Pull secret", Hint: "The whole text, from the first { to the last }", Long: true},
		}},
	}
}

// formConfig reads the form. wrong has a sentence for each input that cannot be used.
func formConfig(in url.Values) (c siteconfig.SiteConfig, wrong map[string]string) {
	f := &formReader{in: in, wrong: map[string]string{}}
	c = siteconfig.SiteConfig{
		APIVersion: siteconfig.APIVersion, Kind: siteconfig.Kind, Metadata: siteconfig.Metadata{Name: f.inputText(inSite)},
		Hostname: strings.ToLower(f.inputText(inHostname)), ClusterName: strings.ToLower(f.inputText(inCluster)),
		BaseDomain: strings.ToLower(f.inputText(inDomain)), DNSServers: f.inputList(inDNS), NTPServers: f.inputList(inNTP),
		PullSecret: siteconfig.Secret(f.inputText(inPull)),
	}
	if proxy := f.inputText(inHTTPProxy); proxy != "" {
		c.Proxy = &siteconfig.Proxy{HTTPProxy: siteconfig.Secret(proxy), HTTPSProxy: siteconfig.Secret(proxy),
			NoProxy: strings.Join(f.inputList(inNoProxy), ",")}
	}
	for _, g := range formGroups(nil) {
		for _, i := range g.Fields {
			if i.Needed && f.inputText(i.Name) == "" {
				f.wrong[i.Name] = "Please fill this in."
			}
		}
	}
	f.readNetwork(&c)
	for _, p := range siteconfig.Validate(c) {
		if name := inputOf(p.Key); name != "" && f.wrong[name] == "" {
			f.wrong[name] = problemSentence(p)
		}
	}
	return c, f.wrong
}

type formReader struct {
	in    url.Values
	wrong map[string]string
}

func (f *formReader) inputText(name string) string { return strings.TrimSpace(f.in.Get(name)) }

func (f *formReader) inputList(name string) []string {
	return strings.FieldsFunc(f.in.Get(name), func(r rune) bool { return r == ',' || r == ';' || r == ' ' || r == '\n' || r == '\r' })
}

// readNetwork makes the document of one static address.
func (f *formReader) readNetwork(c *siteconfig.SiteConfig) {
	address, err := netip.ParsePrefix(f.inputText(inAddress))
	if err != nil {
		f.addError(inAddress, "Write an address with a slash and a number, such as 192.0.2.10/24.")
		return
	}
	gateway, err := netip.ParseAddr(f.inputText(inGateway))
	switch {
	case err != nil || gateway.Is4() != address.Addr().Is4():
		f.addError(inGateway, "Write an address, such as 192.0.2.1.")
	case !address.Masked().Contains(gateway) && !gateway.IsLinkLocalUnicast():
		f.addError(inGateway, "The router must be in the network "+address.Masked().String()+" of the node.")
	case gateway == address.Addr():
		f.addError(inGateway, "The router cannot have the address of the node.")
	}
	family := netstate.FamilyOf(address.Addr())
	name := f.inputText(inPort)
	iface := netstate.Interface{Name: name, Type: netstate.TypeEthernet, State: netstate.StateUp}
	doc := netstate.Document{}
	if tag := f.inputText(inVLAN); tag != "" {
		id, err := strconv.Atoi(tag)
		if err != nil || id < 1 || id > 4094 {
			f.addError(inVLAN, "Write a number from 1 to 4094, or leave it empty.")
			return
		}
		doc.Interfaces = append(doc.Interfaces, iface)
		iface = netstate.Interface{Name: name + "." + tag, Type: netstate.TypeVLAN, State: netstate.StateUp,
			VLAN: &netstate.VLAN{ID: id, BaseIface: name}}
	}
	ip := &netstate.IP{Enabled: new(true), DHCP: new(false), Addresses: []netstate.Address{netstate.FromPrefix(address)}}
	if family == netstate.IPv4 {
		iface.IPv4 = ip
	} else {
		ip.Autoconf = new(false)
		iface.IPv6 = ip
	}
	doc.Interfaces = append(doc.Interfaces, iface)
	doc.Routes = &netstate.Routes{Config: []netstate.Route{{
		Destination: family.Default().String(), NextHopInterface: iface.Name, NextHopAddress: f.inputText(inGateway)}}}
	c.Network = &doc
	c.NodeIPs, c.MachineNetworks = []string{address.Addr().String()}, []string{address.Masked().String()}
}

func (f *formReader) addError(name, text string) {
	if f.wrong[name] == "" {
		f.wrong[name] = text
	}
}

// inputOf is the input that a key of the configuration comes from.
func inputOf(key string) string {
	for _, k := range []struct{ prefix, input string }{
		{"hostname", inHostname}, {"clusterName", inCluster}, {"baseDomain", inDomain}, {"domain", inDomain},
		{"dnsServers", inDNS}, {"ntpServers", inNTP}, {"proxy.noProxy", inNoProxy}, {"proxy", inHTTPProxy},
		{"pullSecret", inPull}, {"nodeIPs", inAddress}, {"machineNetworks", inAddress}, {"network", inAddress},
	} {
		if strings.HasPrefix(key, k.prefix) {
			return k.input
		}
	}
	return ""
}

// problemSentence is a problem beside its input, which names the key.
func problemSentence(p siteconfig.Problem) string {
	text := p.Want
	if p.Value != "" && p.Value[0] == '"' {
		text = p.Value + " " + text
	}
	return strings.ToUpper(text[:1]) + text[1:] + "."
}
