// Package documents has the texts of a lab node's control plane that carry its address: the static pods, kube-apiserver's
// configuration, the MachineConfigs. Each is both on the node's disk and in the API.
//
// It is called by lab/cluster and by its rooms objects and nodefiles. Like all of lab/cluster it imports nothing of the product.
package documents

import (
	"bytes"
	"embed"
	"encoding/json"
	"fmt"
	"net/netip"
	"strings"
	"text/template"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

//go:embed templates
var templates embed.FS

// WorkloadPod is the template of a static pod beside the control plane.
//
//go:embed templates/workload-pod.yaml
var WorkloadPod string

// Texts are the documents that exist both on disk and in the API and carry the node's address.
type Texts struct {
	EtcdPod       string // etcd-pod.yaml
	APIServerPod  string // kube-apiserver-pod.yaml
	APIConfig     string // config.yaml of kube-apiserver; JSON, as the operator writes it
	EtcdEnv       string // etcd.env
	EndpointKey   string // the one key of the etcd-endpoints ConfigMap: the member's ID, known once etcd has run
	EndpointValue string // its value: the bare address
	InstallConfig string // the installer's input, kept in cluster-config-v1
}

// View is what the templates may say.
type View struct {
	site.Site
	Domain        string
	Primary       netip.Addr
	URLHost       string // the primary address as a URL's host: IPv6 in brackets
	NodeVar       string // prefix of the etcd pod's per-node variables: NODE_<host name with _ for anything odd>
	ListenHost    string
	EtcdEndpoints string // comma separated
	ServiceNets   []string
	PodNets       []site.PodNetwork
	MachineNets   []netip.Prefix

	EtcdImage, APIServerImage string // what the static pods run
}

// NewView is the site as templates see it.
func NewView(s site.Site) View {
	return View{
		Site: s, Domain: s.Domain(), Primary: s.Primary(), URLHost: site.URLHost(s.Primary()), NodeVar: nodeVar(s.Hostname),
		ListenHost: s.ListenHost(), EtcdEndpoints: s.EtcdURL(),
		ServiceNets: s.ServiceNetworks(), PodNets: s.PodNetworks(), MachineNets: s.MachineNetworks(),
		EtcdImage: containerimage.Etcd, APIServerImage: containerimage.APIServer,
	}
}

// NewTexts renders the documents of a site; EndpointKey stays empty.
func NewTexts(s site.Site) (Texts, error) {
	v := NewView(s)
	out := Texts{EndpointValue: s.Primary().String()}
	for name, dst := range map[string]*string{
		"etcd-pod.yaml": &out.EtcdPod, "kube-apiserver-pod.yaml": &out.APIServerPod, "etcd.env": &out.EtcdEnv,
		"install-config.yaml": &out.InstallConfig,
	} {
		text, err := templates.ReadFile("templates/" + name)
		if err != nil {
			return Texts{}, fmt.Errorf("read the template %s: %w", name, err)
		}
		if *dst, err = Render(name, string(text), v); err != nil {
			return Texts{}, err
		}
	}
	config, err := json.Marshal(apiServerConfig(s))
	if err != nil {
		return Texts{}, fmt.Errorf("encode the configuration of kube-apiserver: %w", err)
	}
	out.APIConfig = string(config)
	return out, nil
}

// Render fills in a template.
func Render(name, text string, data any) (string, error) {
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

// nodeVar spells a host name as the etcd operator does in variable names.
func nodeVar(host string) string {
	return "NODE_" + strings.NewReplacer("-", "_", ".", "_").Replace(host)
}

// PullSecret is a well-formed placeholder: the lab pulls nothing.
const PullSecret = `{"auths":{"registry.example.com":{"auth":"bGFiOmxhYg==","email":"lab@example.com"}}}`
