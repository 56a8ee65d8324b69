package dnsmasq

import (
	"io/fs"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
)

var _ host.Resolver = (*Resolver)(nil)

func fresh(t *testing.T) (*Resolver, *files.Files) {
	t.Helper()
	f := files.New(t.TempDir())
	return New(f), f
}

func TestSetOverride(t *testing.T) {
	addr := netip.MustParseAddr("192.0.2.20")
	for name, c := range map[string]struct{ before, after string }{
		"no file":      {"", "SNO_DNSMASQ_IP_OVERRIDE=192.0.2.20\n"},
		"other lines":  {"SNO_CLUSTER_NAME_OVERRIDE=edge\n", "SNO_CLUSTER_NAME_OVERRIDE=edge\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.20\n"},
		"in its place": {"A=1\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.9\nB=2\n", "A=1\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.20\nB=2\n"},
		"no newline":   {"A=1", "A=1\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.20\n"},
		"twice": {"SNO_DNSMASQ_IP_OVERRIDE=1\nA=1\nexport SNO_DNSMASQ_IP_OVERRIDE=\"2\"\n",
			"SNO_DNSMASQ_IP_OVERRIDE=192.0.2.20\nA=1\n"},
		"comment stays": {"# SNO_DNSMASQ_IP_OVERRIDE=x\n", "# SNO_DNSMASQ_IP_OVERRIDE=x\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.20\n"},
	} {
		t.Run(name, func(t *testing.T) {
			r, f := fresh(t)
			if c.before != "" {
				require.NoError(t, f.Write("/d"+host.DnsmasqOverrides, []byte(c.before), 0o640))
			}
			for range 2 {
				require.NoError(t, r.SetOverride("/d", addr))
				got, err := f.Read("/d" + host.DnsmasqOverrides)
				require.NoError(t, err)
				require.Equal(t, c.after, string(got))
			}
			if c.before != "" {
				st, err := f.Stat("/d" + host.DnsmasqOverrides)
				require.NoError(t, err)
				require.Equal(t, fs.FileMode(0o640), st.Mode(), "the mode is not ours to change")
			}
		})
	}
}

func TestOverrideOfTheRunningSystemAndIPv6(t *testing.T) {
	r, f := fresh(t)
	require.NoError(t, r.SetOverride("", netip.MustParseAddr("2001:DB8::1")))
	got, err := f.Read(host.DnsmasqOverrides)
	require.NoError(t, err)
	require.Equal(t, "SNO_DNSMASQ_IP_OVERRIDE=2001:db8::1\n", string(got))
}

func TestFilter(t *testing.T) {
	r, f := fresh(t)
	for _, c := range []struct{ set, want, file string }{
		{"", None, ""},
		{IPv4, IPv4, header + "filter-A\n"},
		{"", IPv4, header + "filter-A\n"},
		{IPv6, IPv6, header + "filter-AAAA\n"},
		{None, None, ""},
		{None, None, ""},
	} {
		require.NoError(t, r.SetFilter("", c.set))
		got, err := r.Filter()
		require.NoError(t, err)
		require.Equal(t, c.want, got)
		data, err := f.Read(host.DnsmasqFilter)
		require.Equal(t, c.file, string(data))
		require.Equal(t, c.file == "", err != nil)
	}
	require.Error(t, r.SetFilter("", "both"))
	require.NoError(t, r.SetFilter("/ostree/deploy/new", IPv6))
	got, err := r.Filter()
	require.NoError(t, err)
	require.Equal(t, None, got, "another deployment's filter is not the running one's")
}

func TestFilterWrittenByOthers(t *testing.T) {
	r, f := fresh(t)
	for text, want := range map[string]string{
		"filter-AAAA": IPv6, "  filter-A  \n": IPv4, "# filter-A\nfilter-AAAA\n": IPv6,
	} {
		require.NoError(t, f.Write(host.DnsmasqFilter, []byte(text), 0o600))
		got, err := r.Filter()
		require.NoError(t, err)
		require.Equal(t, want, got, text)
	}
	require.NoError(t, f.Write(host.DnsmasqFilter, []byte("filter-rr=TXT\n"), 0o600))
	_, err := r.Filter()
	require.Error(t, err)
}

// A later change of the node's address moves what a site has the node answer, too.
func TestTheNamesOfASiteFollowTheAddress(t *testing.T) {
	r, f := fresh(t)
	const before = "# a site\naddress=/api.shop.example.net/192.0.2.10\naddress=/api.shop.example.net/2001:db8::10\n"
	require.NoError(t, f.Write("/d"+host.DnsmasqSite, []byte(before), 0o644))
	for range 2 {
		require.NoError(t, r.SetOverride("/d", netip.MustParseAddr("192.0.2.20")))
		got, err := f.Read("/d" + host.DnsmasqSite)
		require.NoError(t, err)
		require.Equal(t, "# a site\naddress=/api.shop.example.net/192.0.2.20\naddress=/api.shop.example.net/2001:db8::10\n", string(got))
	}
}
