package probing

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io/fs"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// kubeconfigs are where kubelet has its kubeconfig: on OpenShift, on a kubeadm node.
var kubeconfigs = []string{"/var/lib/kubelet/kubeconfig", "/etc/kubernetes/kubeconfig", "/etc/kubernetes/kubelet.conf"}

// anyAnswer are the good answers of an API server: that it refuses a stranger proves the way to it.
var anyAnswer = []int{200, 401, 403}

// kubeconfig is the part of https://kubernetes.io/docs/reference/config-api/kubeconfig.v1/ that names the server.
type kubeconfig struct {
	Clusters []struct {
		Cluster struct {
			Server   string `json:"server"`
			CAData   string `json:"certificate-authority-data"`
			CAFile   string `json:"certificate-authority"`
			Insecure bool   `json:"insecure-skip-tls-verify"`
		} `json:"cluster"`
	} `json:"clusters"`
}

// APIServer is the probe of the API server that kubelet of this node uses; false on a node without kubelet.
func APIServer(files host.Files) (Probe, bool, error) {
	for _, file := range kubeconfigs {
		data, err := files.Read(file)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return Probe{}, false, fmt.Errorf("read %s: %w", file, err)
		}
		var k kubeconfig
		if err := yaml.Unmarshal(data, &k); err != nil {
			return Probe{}, false, fmt.Errorf("decode %s: %w", file, err)
		}
		if len(k.Clusters) == 0 || k.Clusters[0].Cluster.Server == "" {
			continue
		}
		e, err := k.apiEndpoint(files)
		return Probe{Kind: KindAPI, Endpoint: &e}, err == nil, err
	}
	return Probe{}, false, nil
}

func (k kubeconfig) apiEndpoint(files host.Files) (Endpoint, error) {
	c := k.Clusters[0].Cluster
	e := Endpoint{Type: host.EndpointHTTP, Target: c.Server + "/readyz", StatusCode: anyAnswer, SkipVerify: c.Insecure}
	ca, err := base64.StdEncoding.DecodeString(c.CAData)
	if err != nil {
		return e, fmt.Errorf("decode the certificate authority in kubelet's kubeconfig: %w", err)
	}
	if len(ca) == 0 && c.CAFile != "" {
		if ca, err = files.Read(c.CAFile); err != nil {
			return e, fmt.Errorf("read %s: %w", c.CAFile, err)
		}
	}
	e.CABundle = string(ca)
	return e, nil
}

// kubeletHealth is kubelet's own health endpoint (its healthzPort, 10248 by default), which listens on the node only.
const kubeletHealth = "http://127.0.0.1:10248/healthz"

// Node is the probe of this node's kubelet.
func Node() Probe {
	return Probe{Kind: KindNode, Endpoint: &Endpoint{Type: host.EndpointHTTP, Target: kubeletHealth}}
}
