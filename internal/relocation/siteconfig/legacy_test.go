package siteconfig_test

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

func read(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile("testdata/" + name)
	require.NoError(t, err)
	return string(text)
}

func TestManifestJSONIsReadUnchanged(t *testing.T) {
	c := decode(t, read(t, "manifest.json"))
	require.Equal(t, "site-1.edge.example.org", c.ClusterDomain())
	require.Equal(t, "eno1", c.Network.Interfaces[0].Name)
	require.Equal(t, []string{"192.0.2.10"}, c.NodeIPs)
	require.Equal(t, "site-1-x7k2p", c.Identity.InfraID)
	require.Equal(t, "ingress-operator@1700000000", c.Identity.CryptoRetention.IngressCertificateCN)
	require.Equal(t, "user-ca-bundle", c.AdditionalTrust.ProxyConfigMapName)
	require.Equal(t, "ssh_host_ed25519_key", c.ServerSSHKeys[0].Name)
	require.Len(t, c.SSHKeys, 1)
	require.Contains(t, c.PullSecret.Reveal(), "auths")
	require.Equal(t, "server ntp.site.example.org iburst\n", c.ChronyConfig)
	require.Equal(t, siteconfig.APIVersion, c.APIVersion, "what is written back is the product's own format")

	c = decode(t, `{"api_version":1,"node_ip":"192.0.2.1","machine_network":"192.0.2.0/24"}`)
	require.Equal(t, []string{"192.0.2.0/24"}, c.MachineNetworks)
	require.Nil(t, c.Identity)
	require.Nil(t, c.AdditionalTrust)
}

func TestClusterRelocationIsReadUnchanged(t *testing.T) {
	c := decode(t, read(t, "cluster-relocation.yaml"))
	require.Equal(t, "site-1.edge.example.org", c.ClusterDomain())
	require.Empty(t, c.ClusterName, "the cluster is not renamed")
	require.True(t, c.Dnsmasq.Enabled)
	require.Equal(t, "api-tls", c.Certificates.API.SecretRef.Name)
	require.Nil(t, c.Certificates.Ingress)
	require.Equal(t, 5000, c.RegistryCAs[0].Port)
	require.Equal(t, "acm-secret", c.Hub.SecretRef.Name)
	require.Contains(t, string(c.Hub.KlusterletAddonConfig), "applicationManager")

	early := strings.Replace(read(t, "cluster-relocation.yaml"), "imageDigestMirrors", "imageDigestSources", 1)
	require.Len(t, decode(t, early).ImageDigestMirrors, 1)
}

// A problem names the key as it is written in the file.
func TestProblemsOfOlderFormats(t *testing.T) {
	relocation := func(spec string) string {
		return "apiVersion: rhsyseng.github.io/v1beta1\nkind: ClusterRelocation\nmetadata: {name: cluster}\nspec: " + spec
	}
	for name, k := range map[string]struct{ text, want string }{
		"version":       {`{"api_version":2}`, `api_version: "2": must be 1`},
		"node_ip":       {`{"api_version":1,"node_ip":"x"}`, `node_ip: "x": must be an IP address`},
		"node_ips":      {`{"api_version":1,"node_ips":["192.0.2.1","x"]}`, `node_ips[1]: "x": must be an IP address`},
		"network":       {`{"api_version":1,"raw_nm_state_config":"a: b"}`, "raw_nm_state_config: is not an nmstate document"},
		"hash":          {`{"api_version":1,"kubeadmin_password_hash":"x"}`, "kubeadmin_password_hash: [hidden]: must be a bcrypt hash"},
		"unknown":       {`{"api_version":1,"hostnam":"x"}`, "hostnam: is not a known key; did you mean hostname?"},
		"name":          {strings.Replace(relocation("{domain: a.example.org}"), "name: cluster", "name: c", 1), `metadata.name: "c": must be cluster`},
		"no domain":     {relocation("{}"), "spec.domain: must be set"},
		"port":          {relocation("{domain: a.example.org, registryCert: {registryHostname: r, registryPort: x, certificate: ''}}"), `spec.registryCert.registryPort: "x": must be a port number, 1-65535`},
		"mirrors":       {relocation("{domain: a.example.org, imageDigestMirrors: [{source: 'a:b:c', mirrors: [r]}]}"), `spec.imageDigestMirrors[0].source: "a:b:c": must be a repository`},
		"mirrors early": {relocation("{domain: a.example.org, imageDigestSources: [{source: 'a:b:c', mirrors: [r]}]}"), `spec.imageDigestSources[0].source: "a:b:c": must be a repository`},
	} {
		t.Run(name, func(t *testing.T) {
			_, problems := siteconfig.Decode([]byte(k.text))
			require.NotEmpty(t, problems)
			require.Contains(t, problems[0].String(), k.want)
			require.Positive(t, problems[0].Line+1)
		})
	}
}
