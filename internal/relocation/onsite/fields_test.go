package onsite

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const (
	ownNetwork = `network:
  interfaces:
  - {name: eno1, type: ethernet, state: up, ipv4: {enabled: true, dhcp: false, address: [{ip: 198.51.100.20, prefix-length: 24}]}}
  routes: {config: [{destination: 0.0.0.0/0, next-hop-address: 198.51.100.1, next-hop-interface: eno1}]}
  dns-resolver: {config: {server: [198.51.100.9]}}
`
	passwordHash = "$2a$10$aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"
)

// What a site writes into a field is what recert is told, or what the network is proved with.
func TestFieldsOfASiteReachRecertAndTheProof(t *testing.T) {
	address := netip.MustParseAddr("198.51.100.20")
	for name, k := range map[string]struct {
		site string
		got  func(*config.Config) any
		want any
	}{
		"clusterName":   {"clusterName: store", func(c *config.Config) any { return c.Cluster.Name }, "store"},
		"baseDomain":    {"baseDomain: shop.example.net", func(c *config.Config) any { return c.Cluster.Domain }, "shop.example.net"},
		"infraID":       {"identity: {infraID: store-x7k2p}", func(c *config.Config) any { return c.Cluster.InfraID }, "store-x7k2p"},
		"hostname":      {"hostname: store", func(c *config.Config) any { return c.Hostname }, "store"},
		"nodeIPs":       {"nodeIPs: [198.51.100.20]", func(c *config.Config) any { return c.IPs }, []netip.Addr{address}},
		"network":       {ownNetwork, func(c *config.Config) any { return c.IPs }, []netip.Addr{address}},
		"installConfig": {"identity: {installConfig: 'apiVersion: v1'}", func(c *config.Config) any { return c.InstallConfig }, "apiVersion: v1"},
		"machineNetworks": {"nodeIPs: [198.51.100.20]\nmachineNetworks: [198.51.100.0/24]", func(c *config.Config) any { return c.MachineNetworks },
			[]netip.Prefix{netip.MustParsePrefix("198.51.100.0/24")}},
		"pullSecret": {`pullSecret: '{"auths":{"registry.site":{"auth":"dTpw"}}}'`, func(c *config.Config) any { return c.PullSecret },
			`{"auths":{"registry.site":{"auth":"dTpw"}}}`},
		"kubeadminPasswordHash": {"identity: {kubeadminPasswordHash: " + passwordHash + "}",
			func(c *config.Config) any { return c.KubeadminPasswordHash }, passwordHash},
	} {
		t.Run(name, func(t *testing.T) {
			c, problems := siteconfig.Decode([]byte("apiVersion: " + siteconfig.APIVersion + "\nkind: " + siteconfig.Kind + "\n" + k.site))
			require.Empty(t, problems)
			p := &Reconfiguration{Record: relocation.Record{Facts: relocation.Facts{ClusterName: "factory", BaseDomain: "example.com",
				Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}}}
			none := false
			c.Handover = &siteconfig.Handover{KubeadminPassword: &none}
			hash, err := p.newPassword(c)
			require.NoError(t, err)
			text, err := json.Marshal(p.recertConfig(c, hash))
			require.NoError(t, err)
			parsed, err := config.Parse(text)
			require.NoError(t, err)
			require.Equal(t, k.want, k.got(&parsed))
		})
	}
	c, problems := siteconfig.Decode([]byte("apiVersion: " + siteconfig.APIVersion + "\nkind: " + siteconfig.Kind + "\n" + ownNetwork))
	require.Empty(t, problems)
	require.Equal(t, []string{"198.51.100.9"}, dnsServers(c))
	c.DNSServers = []string{"198.51.100.53"} // dnsServers of the site come before those of its network
	require.Equal(t, []string{"198.51.100.53"}, dnsServers(c))
}

// What existing kubeconfig files rely on reaches recert; what cannot be kept is said.
func TestRetainedKeysOfASiteReachRecert(t *testing.T) {
	key, admin := authorityOf(t, adminSigner)
	for signer, k := range map[string]siteconfig.CryptoRetention{
		localhostSigner:      {LocalhostSignerKey: siteconfig.Secret(key)},
		serviceNetworkSigner: {ServiceNetworkSignerKey: siteconfig.Secret(key)},
		loadBalancerSigner:   {LoadBalancerSignerKey: siteconfig.Secret(key)},
	} {
		require.Equal(t, []string{signer + " " + key}, retentionOf(siteconfig.SiteConfig{Identity: &siteconfig.Identity{CryptoRetention: &k}}).keys)
	}
	kept := retentionOf(siteconfig.SiteConfig{Identity: &siteconfig.Identity{CryptoRetention: &siteconfig.CryptoRetention{AdminCACertificate: admin}}})
	require.Equal(t, []string{admin}, kept.certs)
	for _, k := range []siteconfig.CryptoRetention{{IngressCAKey: siteconfig.Secret(key)}, {IngressCertificateCN: "ingress-operator@1"}} {
		kept := retentionOf(siteconfig.SiteConfig{Identity: &siteconfig.Identity{CryptoRetention: &k}})
		require.Len(t, kept.attention, 1)
		require.Contains(t, kept.attention[0], "identity.cryptoRetention.ingressCAKey is not used")
	}
}
