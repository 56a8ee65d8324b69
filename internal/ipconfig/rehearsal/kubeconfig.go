package rehearsal

import (
	"errors"
	"fmt"
	"net/url"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// kubeconfig is what an administrator's kubeconfig says, of a single cluster and user.
type kubeconfig struct {
	serverName                    string
	authorities, certificate, key []byte
}

func readKubeconfig(files host.Files, file string) (kubeconfig, error) {
	text, err := files.Read(file)
	if err != nil {
		return kubeconfig{}, fmt.Errorf("read the administrator's kubeconfig: %w", err)
	}
	var k struct {
		Clusters []struct {
			Cluster struct {
				Server      string `json:"server"`
				Authorities []byte `json:"certificate-authority-data"`
			} `json:"cluster"`
		} `json:"clusters"`
		Users []struct {
			User struct {
				Certificate []byte `json:"client-certificate-data"`
				Key         []byte `json:"client-key-data"`
			} `json:"user"`
		} `json:"users"`
	}
	if err := yaml.Unmarshal(text, &k); err != nil {
		return kubeconfig{}, errors.New("the administrator's kubeconfig " + file + " is not valid YAML") // the cause may quote a key
	}
	if len(k.Clusters) != 1 || len(k.Users) != 1 {
		return kubeconfig{}, fmt.Errorf("the administrator's kubeconfig %s has %d clusters and %d users, not one of each",
			file, len(k.Clusters), len(k.Users))
	}
	server, err := url.Parse(k.Clusters[0].Cluster.Server)
	if err != nil {
		return kubeconfig{}, fmt.Errorf("the administrator's kubeconfig %s: %w", file, err)
	}
	return kubeconfig{
		serverName: server.Hostname(), authorities: k.Clusters[0].Cluster.Authorities,
		certificate: k.Users[0].User.Certificate, key: k.Users[0].User.Key,
	}, nil
}

func (k kubeconfig) newQuestion(path string) host.Question {
	return host.Question{Path: path, Authorities: k.authorities, Certificate: k.certificate, Key: k.key}
}
