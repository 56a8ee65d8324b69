package dnsmasq_test

import (
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/dnsmasq"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
)

func TestOverrideKeepsEveryOtherLine(t *testing.T) {
	files := hosttest.NewNode(hosttest.Options{}).Files()
	require.NoError(t, files.Write(host.DnsmasqOverrides, []byte("SNO_CLUSTER_NAME_OVERRIDE=lab\nexport SNO_DNSMASQ_IP_OVERRIDE=192.0.2.1\n# note"), 0o644))
	require.NoError(t, dnsmasq.New(files).SetOverride("", netip.MustParseAddr("192.0.2.7")))
	data, err := files.Read(host.DnsmasqOverrides)
	require.NoError(t, err)
	require.Equal(t, "SNO_CLUSTER_NAME_OVERRIDE=lab\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.7\n# note\n", string(data))
}

func TestFilterIsWrittenReadAndRemoved(t *testing.T) {
	files := hosttest.NewNode(hosttest.Options{}).Files()
	r := dnsmasq.New(files)
	for family, directive := range map[string]string{"ipv4": "\nfilter-A\n", "ipv6": "\nfilter-AAAA\n"} {
		require.NoError(t, r.SetFilter("", family))
		data, err := files.Read(host.DnsmasqFilter)
		require.NoError(t, err)
		require.Contains(t, string(data), directive)
		got, err := r.Filter()
		require.NoError(t, err)
		require.Equal(t, family, got)
		require.NoError(t, r.SetFilter("", ""), "empty leaves it as it is")
	}
	require.NoError(t, r.SetFilter("", "none"))
	got, err := r.Filter()
	require.NoError(t, err)
	require.Equal(t, "none", got)
	require.ErrorContains(t, r.SetFilter("", "ipv5"), "none of ipv4, ipv6, none")
}

func TestAFilterFileOfSomebodyElseIsAnError(t *testing.T) {
	files := hosttest.NewNode(hosttest.Options{}).Files()
	require.NoError(t, files.Write(host.DnsmasqFilter, []byte("no-resolv\n"), 0o644))
	_, err := dnsmasq.New(files).Filter()
	require.ErrorContains(t, err, "neither filter-A nor filter-AAAA")
}
