package cluster

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"text/template"
)

//go:embed templates
var templates embed.FS

// texts are the documents that exist both on disk and in the API and carry the node's address.
type texts struct {
	EtcdPod       string // etcd-pod.yaml
	APIServerPod  string // kube-apiserver-pod.yaml
	APIConfig     string // config.yaml of kube-apiserver; JSON, as the operator writes it
	EtcdEnv       string // etcd.env
	EndpointKey   string // the one key of the etcd-endpoints ConfigMap: the member's ID, known once etcd has run
	EndpointValue string // its value: the bare address
	InstallConfig string // the installer's input, kept in cluster-config-v1
}

// view is what the templates may say.
type view struct {
	Site
	Domain        string
	Primary       netip.Addr
	URLHost       string // the primary address as a URL's host: IPv6 in brackets
	NodeVar       string // prefix of the etcd pod's per-node variables: NODE_<host name with _ for anything odd>
	ListenHost    string
	EtcdEndpoints string // comma separated
	ServiceNets   []string
	PodNets       []podNetwork
	MachineNets   []netip.Prefix

	EtcdImage, APIServerImage string // what the static pods run
}

type podNetwork struct {
	CIDR       string `json:"cidr"`
	HostPrefix int    `json:"hostPrefix"`
}

func newView(s Site) view {
	return view{
		Site: s, Domain: s.Domain(), Primary: s.Primary(), URLHost: urlHost(s.Primary()), NodeVar: nodeVar(s.Hostname),
		ListenHost: s.listenHost(), EtcdEndpoints: s.EtcdURL(),
		ServiceNets: s.serviceNetworks(), PodNets: s.podNetworks(), MachineNets: s.MachineNetworks(),
		EtcdImage: etcdImage, APIServerImage: apiServerImage,
	}
}

func newTexts(s Site) (texts, error) {
	v := newView(s)
	out := texts{EndpointValue: s.Primary().String()}
	for name, dst := range map[string]*string{
		"etcd-pod.yaml": &out.EtcdPod, "kube-apiserver-pod.yaml": &out.APIServerPod, "etcd.env": &out.EtcdEnv,
		"install-config.yaml": &out.InstallConfig,
	} {
		text, err := templates.ReadFile("templates/" + name)
		if err != nil {
			return texts{}, fmt.Errorf("read the template %s: %w", name, err)
		}
		if *dst, err = render(name, string(text), v); err != nil {
			return texts{}, err
		}
	}
	config, err := json.Marshal(apiServerConfig(s))
	if err != nil {
		return texts{}, fmt.Errorf("encode the configuration of kube-apiserver: %w", err)
	}
	out.APIConfig = string(config)
	return out, nil
}

func render(name, text string, data any) (string, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs(template.FuncMap{"json": toJSON, "indent": indent}).Parse(text)
	if err != nil {
		return "", fmt.Errorf("parse the template %s: %w", name, err)
	}
	var out bytes.Buffer
	if err := t.Execute(&out, data); err != nil {
		return "", fmt.Errorf("render %s: %w", name, err)
	}
	return out.String(), nil
}

func toJSON(v any) (string, error) {
	out, err := json.Marshal(v)
	return string(out), err
}

// indent makes text the body of a YAML block scalar.
func indent(n int, text string) string {
	pad := strings.Repeat(" ", n)
	return pad + strings.ReplaceAll(strings.TrimRight(text, "\n"), "\n", "\n"+pad)
}

func urlHost(ip netip.Addr) string {
	if ip.Is6() {
		return "[" + ip.String() + "]"
	}
	return ip.String()
}

// nodeVar spells a host name as the etcd operator does in variable names.
func nodeVar(host string) string {
	return "NODE_" + strings.NewReplacer("-", "_", ".", "_").Replace(host)
}

// podNetworks are OpenShift's defaults for the node's families.
func (s Site) podNetworks() []podNetwork {
	var nets []podNetwork
	for _, ip := range s.IPs() {
		if ip.Is4() {
			nets = append(nets, podNetwork{"10.128.0.0/14", 23})
		} else {
			nets = append(nets, podNetwork{"fd01::/48", 64})
		}
	}
	return nets
}
