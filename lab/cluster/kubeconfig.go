package cluster

import (
	"encoding/base64"
	"fmt"
)

// kubeUser authenticates by a client certificate, either inline or in files.
type kubeUser struct {
	Name              string
	Cert, Key         []byte
	CertFile, KeyFile string
}

// kubeconfig renders a kubeconfig with one cluster, one user and one context.
func kubeconfig(server string, ca []byte, u kubeUser) []byte {
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

// nodeKubeconfigFiles are the administrator's kubeconfigs on the node, by file name, one for each way to reach the server.
func nodeKubeconfigFiles(s Site, id *identity) map[string][]byte {
	admin := id.leaves["node-system-admin-client"]
	user := kubeUser{Name: "system:admin", Cert: admin.CertPEM, Key: admin.KeyPEM}
	return map[string][]byte{
		"lb-ext.kubeconfig":             kubeconfig("https://api."+s.Domain()+":6443", id.bundle("lb"), user),
		"lb-int.kubeconfig":             kubeconfig("https://api-int."+s.Domain()+":6443", id.bundle("lb"), user),
		"localhost.kubeconfig":          kubeconfig("https://localhost:6443", id.bundle("localhost"), user),
		"localhost-recovery.kubeconfig": kubeconfig("https://localhost:6443", id.bundle("recovery"), user),
	}
}

// outsideKubeconfig is the installer's kubeconfig, except that it calls the node by its address: nobody outside has its DNS.
func outsideKubeconfig(s Site, id *identity) []byte {
	admin := id.leaves["admin"]
	return kubeconfig(fmt.Sprintf("https://%s:6443", urlHost(s.Primary())), id.bundle("lb", "localhost", "service-network"),
		kubeUser{Name: "admin", Cert: admin.CertPEM, Key: admin.KeyPEM})
}
