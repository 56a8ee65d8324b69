package bringup

import (
	"net/url"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// APIName is the name of the cluster's API server, as clients outside use it; empty where the node does not say.
func APIName(files host.Files) string {
	data, err := files.Read(host.LBExtKubeconfig)
	if err != nil {
		return ""
	}
	var config struct {
		Clusters []struct {
			Cluster struct {
				Server string `json:"server"`
			} `json:"cluster"`
		} `json:"clusters"`
	}
	if yaml.Unmarshal(data, &config) != nil || len(config.Clusters) == 0 {
		return ""
	}
	server, err := url.Parse(config.Clusters[0].Cluster.Server)
	if err != nil {
		return ""
	}
	return server.Hostname()
}
