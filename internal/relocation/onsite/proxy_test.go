package onsite

import (
	"encoding/json"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// A cluster that was installed behind a proxy gets the site's before kubelet starts; recert refuses to add one where there is none.
func TestTheProxyReachesRecertWhereTheClusterHasOne(t *testing.T) {
	const env = "HTTP_PROXY=http://factory:3128\nHTTPS_PROXY=http://factory:3128\nNO_PROXY=.svc\n"
	spec := &siteconfig.Proxy{HTTPProxy: "http://u:pw@site:3128", HTTPSProxy: "http://u:pw@site:3129", NoProxy: ".site"}
	status := &siteconfig.Proxy{HTTPProxy: "http://u:pw@site:3128", HTTPSProxy: "http://u:pw@site:3129", NoProxy: ".site,.svc"}
	all := &config.Proxy{HTTP: "http://u:pw@site:3128", HTTPS: "http://u:pw@site:3129",
		StatusHTTP: "http://u:pw@site:3128", StatusHTTPS: "http://u:pw@site:3129", StatusNo: ".site,.svc"}
	for name, k := range map[string]struct {
		env          string
		spec, status *siteconfig.Proxy
		want         *config.Proxy
	}{
		"behind a proxy":    {env, spec, status, all},
		"no status":         {env, spec, nil, nil},
		"without a proxy":   {"", spec, status, nil},
		"of another kind":   {"HTTP_PROXY=http://factory:3128\nNO_PROXY=.svc\n", spec, status, nil},
		"with a bar":        {env, &siteconfig.Proxy{HTTPProxy: "http://u:p|w@site:3128", HTTPSProxy: "http://site:1"}, status, nil},
		"the site has none": {env, nil, nil, nil},
	} {
		t.Run(name, func(t *testing.T) {
			node := hosttest.NewNode(hosttest.Options{Addresses: []netip.Prefix{netip.MustParsePrefix("192.0.2.10/24")}})
			require.NoError(t, node.Seed(host.ProxyEnv, []byte(k.env)))
			p := &Reconfiguration{Record: relocation.Record{Facts: relocation.Facts{Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")}}}}
			p.Files = node.Files()
			text, err := json.Marshal(p.recertConfig(siteconfig.SiteConfig{Proxy: k.spec, StatusProxy: k.status}, ""))
			require.NoError(t, err)
			parsed, err := config.Parse(text)
			require.NoError(t, err)
			require.Equal(t, k.want, parsed.Proxy)
		})
	}
}

// An ID that the site names is the cluster's; a cluster that was not restored from an image keeps its own.
func TestTheClusterIDThatASiteNames(t *testing.T) {
	p := &Reconfiguration{}
	p.NewClusterID = func() string { t.Fatal("no ID is made"); return "" }
	const named = "4a8e1b8a-7d0e-4a5f-9f0d-2f5e2a1c7b11"
	for _, record := range []relocation.Record{{}, {Running: &relocation.Running{}}} {
		p.Record = record
		c := siteconfig.SiteConfig{Identity: &siteconfig.Identity{ClusterID: named}}
		require.NoError(t, p.ensureClusterID(c))
		c, err := p.withClusterID(c)
		require.NoError(t, err)
		require.Equal(t, named, c.Identity.ClusterID)
	}
	p.Record = relocation.Record{}
	c, err := p.withClusterID(siteconfig.SiteConfig{})
	require.NoError(t, err)
	require.Nil(t, c.Identity)
}
