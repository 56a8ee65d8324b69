package apiserverflags

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"sort"
	"strings"

	"sigs.k8s.io/yaml"
)

// apiServerConfig is the part of OpenShift's KubeAPIServerConfig (kubecontrolplane.config.openshift.io/v1) that has an upstream
// flag and is used in the lab.
type apiServerConfig struct {
	Kind               string              `json:"kind"`
	APIServerArguments map[string][]string `json:"apiServerArguments"`
	AggregatorConfig   struct {
		ProxyClientInfo certInfo `json:"proxyClientInfo"`
	} `json:"aggregatorConfig"`
	ServiceAccountPublicKeyFiles []string `json:"serviceAccountPublicKeyFiles"`
	ServicesNodePortRange        string   `json:"servicesNodePortRange"`
	ServicesSubnet               string   `json:"servicesSubnet"`
	ServingInfo                  struct {
		certInfo          `json:",inline"`
		BindAddress       string     `json:"bindAddress"`
		ClientCA          string     `json:"clientCA"`
		MinTLSVersion     string     `json:"minTLSVersion"`
		NamedCertificates []certInfo `json:"namedCertificates"`
	} `json:"servingInfo"`
}

type certInfo struct {
	CertFile string `json:"certFile"`
	KeyFile  string `json:"keyFile"`
}

// FromFile reads config.yaml and renders it as kube-apiserver's flags; translate is asked for each value, and maps the
// paths in it to where the files are for the process that will read them.
func FromFile(file string, translate func(string) string) ([]string, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the configuration of kube-apiserver: %w", err)
	}
	config := apiServerConfig{}
	if err := yaml.Unmarshal(text, &config); err != nil {
		return nil, fmt.Errorf("parse the configuration of kube-apiserver: %w", err)
	}
	if config.Kind != "KubeAPIServerConfig" {
		return nil, fmt.Errorf("parse the configuration of kube-apiserver: kind is %q", config.Kind)
	}
	return config.flags(translate)
}

// Expand replaces each --openshift-config=FILE of a command line by the flags that the file stands for.
func Expand(args []string) ([]string, error) {
	var out []string
	for _, arg := range args {
		file, ok := strings.CutPrefix(arg, "--openshift-config=")
		if !ok {
			out = append(out, arg)
			continue
		}
		flags, err := FromFile(file, func(path string) string { return path })
		if err != nil {
			return nil, err
		}
		out = append(out, flags...)
	}
	return out, nil
}

func (c *apiServerConfig) flags(translate func(string) string) ([]string, error) {
	var out []string
	add := func(name, value string) {
		if value != "" {
			out = append(out, "--"+name+"="+translate(value))
		}
	}
	host, port, err := net.SplitHostPort(c.ServingInfo.BindAddress)
	if err != nil {
		return nil, fmt.Errorf("parse servingInfo.bindAddress: %w", err)
	}
	add("bind-address", host)
	add("secure-port", port)
	add("tls-cert-file", c.ServingInfo.CertFile)
	add("tls-private-key-file", c.ServingInfo.KeyFile)
	add("tls-min-version", c.ServingInfo.MinTLSVersion)
	add("client-ca-file", c.ServingInfo.ClientCA)
	for _, named := range c.ServingInfo.NamedCertificates {
		add("tls-sni-cert-key", named.CertFile+","+named.KeyFile)
	}
	add("proxy-client-cert-file", c.AggregatorConfig.ProxyClientInfo.CertFile)
	add("proxy-client-key-file", c.AggregatorConfig.ProxyClientInfo.KeyFile)
	add("service-cluster-ip-range", c.ServicesSubnet)
	add("service-node-port-range", c.ServicesNodePortRange)
	for _, path := range c.ServiceAccountPublicKeyFiles {
		keys, err := keyFiles(translate(path))
		if err != nil {
			return nil, err
		}
		for _, key := range keys {
			out = append(out, "--service-account-key-file="+key)
		}
	}
	for _, name := range sortedKeys(c.APIServerArguments) {
		for _, value := range c.APIServerArguments[name] {
			add(name, value)
		}
	}
	return out, nil
}

// keyFiles lists the public keys of a directory; OpenShift names directories where upstream wants files.
func keyFiles(path string) ([]string, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("find the service account keys: %w", err)
	}
	if !info.IsDir() {
		return []string{path}, nil
	}
	return filepath.Glob(filepath.Join(path, "*.pub"))
}

func sortedKeys(m map[string][]string) []string {
	out := make([]string, 0, len(m))
	for k := range m {
		out = append(out, k)
	}
	sort.Strings(out)
	return out
}
