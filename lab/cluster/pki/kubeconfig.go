package pki

import (
	"encoding/base64"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// User authenticates by a client certificate, either inline or in files.
type User struct {
	Name              string
	Cert, Key         []byte
	CertFile, KeyFile string
}

// Kubeconfig renders a kubeconfig with one cluster, one user and one context.
func Kubeconfig(server string, ca []byte, u User) []byte {
	b64 := base64.StdEncoding.EncodeToString
	credentials := fmt.Sprintf("    client-certificate: %s\n    client-key: %s\n", u.CertFile, u.KeyFile)
	if len(u.Cert) > 0 {
		credentials = fmt.Sprintf("    client-certificate-data: %s\n    client-key-data: %s\n", b64(u.Cert), b64(u.Key))
	}
	return []byte(fmt.Sprintf(`apiVersion: v1
kind: Config
clusters:
- name: lab
  cluster:
    certificate-authority-data: %s
    server: %s
users:
- name: %s
  user:
%scontexts:
- name: admin
  context:
    cluster: lab
    user: %s
current-context: admin
`, b64(ca), server, u.Name, credentials, u.Name))
}

// NodeKubeconfigs are the administrator's kubeconfigs on the node, by file name, one for each way to reach the server.
func NodeKubeconfigs(s site.Site, id *Identity) map[string][]byte {
	admin := id.Leaves["node-system-admin-client"]
	user := User{Name: "system:admin", Cert: admin.CertPEM, Key: admin.KeyPEM}
	return map[string][]byte{
		"lb-ext.kubeconfig":             Kubeconfig("https://api."+s.Domain()+":6443", id.Bundle("lb"), user),
		"lb-int.kubeconfig":             Kubeconfig("https://api-int."+s.Domain()+":6443", id.Bundle("lb"), user),
		"localhost.kubeconfig":          Kubeconfig("https://localhost:6443", id.Bundle("localhost"), user),
		"localhost-recovery.kubeconfig": Kubeconfig("https://localhost:6443", id.Bundle("recovery"), user),
	}
}

// OutsideKubeconfig is the installer's kubeconfig, except that it calls the node by its address: nobody outside has its DNS.
func OutsideKubeconfig(s site.Site, id *Identity) []byte {
	admin := id.Leaves["admin"]
	return Kubeconfig(fmt.Sprintf("https://%s:6443", site.URLHost(s.Primary())), id.Bundle("lb", "localhost", "service-network"),
		User{Name: "admin", Cert: admin.CertPEM, Key: admin.KeyPEM})
}
