package preflight_test

import (
	"errors"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

func goodFacts() preflight.Facts {
	return preflight.Facts{
		Current: ipconfig.Current{
			IPv4:       &lcav1.IPStatus{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/24", PrefixLength: 24, Gateway: "192.0.2.1"},
			DNSServers: []string{"192.0.2.53"}, Uplink: "eno1", FilterFamily: lcav1.DNSFilterNone,
		},
		ControlPlaneNodes: 1, DnsmasqMachineConfig: true,
		Free: host.Size{Bytes: 10 << 30, Inodes: 1000}, Need: host.Size{Bytes: 1 << 30, Inodes: 100}, Now: time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC),
		JoinNetworks:    []netip.Prefix{netip.MustParsePrefix("100.64.0.0/16")},
		ClusterNetworks: []netip.Prefix{netip.MustParsePrefix("10.128.0.0/14")},
		ServiceNetworks: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/16")},
	}
}

func goodSpec() lcav1.IPConfigSpec {
	return lcav1.IPConfigSpec{
		Stage: lcav1.StageConfig,
		IPv4:  &lcav1.IPv4Config{Address: "198.51.100.20", MachineNetwork: "198.51.100.0/24", Gateway: "198.51.100.1"},
	}
}

func dualStack(f *preflight.Facts) {
	f.Current.IPv6 = &lcav1.IPStatus{Address: "2001:db8::10", MachineNetwork: "2001:db8::/64", PrefixLength: 64, Gateway: "fe80::1"}
}

func TestAGoodChangeIsAccepted(t *testing.T) {
	checks := preflight.Validate(goodSpec(), goodFacts())
	require.NoError(t, preflight.Refusal(checks))
	require.GreaterOrEqual(t, len(checks), 13, "every check is listed, passed or not")
}

func TestIPv6GatewayMayBeLinkLocal(t *testing.T) {
	f, s := goodFacts(), goodSpec()
	dualStack(&f)
	s.IPv6 = &lcav1.IPv6Config{Address: "2001:DB8:1:0::20", MachineNetwork: "2001:db8:1::/64", Gateway: "fe80::1"}
	require.NoError(t, preflight.Refusal(preflight.Validate(s, f)))
}

// routes are written as destination, interface, next hop (or -) and metric.
func routes(texts ...string) (out []netstate.Route) {
	for _, text := range texts {
		words := strings.Fields(text)
		metric, _ := strconv.Atoi(words[3])
		out = append(out, netstate.Route{Destination: words[0], NextHopInterface: words[1],
			NextHopAddress: strings.TrimPrefix(words[2], "-"), Metric: metric})
	}
	return out
}

// TestWhatDoesNoHarmIsNotRefused: the node's own, less specific ones, other networks, and the boot loader's variable.
func TestWhatDoesNoHarmIsNotRefused(t *testing.T) {
	f := goodFacts()
	f.Current.Routes = routes("0.0.0.0/0 br-ex 192.0.2.1 48", "0.0.0.0/0 eno1 192.0.2.1 48", "192.0.2.0/24 br-ex - 48", "198.51.0.0/16 enp7s0 203.0.113.1 100",
		"203.0.113.0/24 enp7s0 - 100", "::/0 enp7s0 fe80::1 0")
	f.KernelArguments = []string{"$ignition_firstboot", "ignition.platform.id=metal"}
	require.NoError(t, preflight.Refusal(preflight.Validate(goodSpec(), f)))
	spec := goodSpec() // the network that the node is in already
	spec.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.11"}
	require.NoError(t, preflight.Refusal(preflight.Validate(spec, f)))
}

func TestEveryRefusalSaysWhatAndWhatToDo(t *testing.T) {
	type edit = func(*lcav1.IPConfigSpec, *preflight.Facts)
	for _, c := range []struct {
		check string
		edit  edit
		says  string
	}{
		{"single-node", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.ControlPlaneNodes = 3 }, "3 control plane nodes: an IP change works on a single-node cluster only"},
		{"single-node", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.OtherNodes = 2 }, "2 worker nodes beside its control plane node"},
		{"static-network", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.Current.Dynamic = []string{"ipv4"} }, "br-ex gets its configuration dynamically (ipv4): give the node a static address"},
		{"links", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Links = errors.New("this kernel has no links of kind vlan")
		},
			"new network cannot be made: this kernel has no links of kind vlan"},
		{"units", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.UnitsAway = map[string]string{host.UnitKubelet: "is masked"}
		},
			"could not start: kubelet.service is masked"},
		{"clock", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Certificates = []preflight.Expiry{{File: "a.pem", From: f.Now.Add(time.Second), At: f.Now.AddDate(1, 0, 0)}}
		}, "clock says 2026-01-02T00:00:00Z, and certificate a.pem is valid from 2026-01-02T00:00:01Z"},
		{"dnsmasq-machineconfig", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.DnsmasqMachineConfig = false }, "50-master-dnsmasq-configuration does not exist"},
		{"families", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4 = nil }, "names neither an IPv4 nor an IPv6 address"},
		{"families", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv6 = &lcav1.IPv6Config{Address: "2001:db8::9"} }, "spec.ipv6 is set but the node has no IPv6 address: remove spec.ipv6"},
		{"families", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { dualStack(f); f.Current.IPv4 = nil }, "spec.ipv4 is set but the node has no IPv4 address"},
		{"coupling", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) {
			s.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10", Gateway: "192.0.2.2"}
		}, "spec.ipv4.gateway differs from the node's but spec.ipv4.address does not: change the address too"},
		{"coupling", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) {
			s.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10", MachineNetwork: "192.0.2.0/25"}
		}, "spec.ipv4.machineNetwork differs"},
		{"coupling", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) {
			s.IPv4, s.DNSServers = &lcav1.IPv4Config{Address: "192.0.2.10"}, []string{"192.0.2.54"}
		}, "spec.dnsServers differs from the node's but no address does"},
		{"addresses", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4.Address = "203.0.113.1" }, "spec.ipv4.address 203.0.113.1 is outside its machine network 198.51.100.0/24"},
		{"addresses", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4.MachineNetwork = "" }, "is outside its machine network 192.0.2.0/24: set spec.ipv4.machineNetwork"},
		{"addresses", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4.Address = "198.51.100.255" }, "network or broadcast address"},
		{"gateway-on-link", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4.Gateway = "203.0.113.1" }, "gateway 203.0.113.1 is not on the link"},
		{"gateway-on-link", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4.Gateway = "" }, "gateway 192.0.2.1 is not on the link"},
		{"gateway-not-self", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.IPv4.Gateway = s.IPv4.Address }, "the node's own new address"},
		{"gateway-on-link", func(s *lcav1.IPConfigSpec, f *preflight.Facts) { s.IPv4.Gateway, f.Current.IPv4.Gateway = "", "" }, "no default gateway"},
		{"overlap", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) {
			s.IPv4 = &lcav1.IPv4Config{Address: "10.130.0.5", MachineNetwork: "10.130.0.0/24", Gateway: "10.130.0.1"}
		}, "overlaps the cluster's inner network 10.128.0.0/14"},
		{"dns-servers", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSServers = []string{"2001:db8::53"} }, "DNS server 2001:db8::53 is of a family the node does not have"},
		{"dns-servers", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSServers = []string{"198.51.100.20"} }, "DNS server 198.51.100.20 is the node's own new address, and would ask itself: enter a DNS server of the site"},
		{"dns-servers", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSServers = []string{"192.0.2.10"} }, "DNS server 192.0.2.10 is the node's own present address"},
		{"dns-servers", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSServers = []string{"172.30.0.10"} }, "DNS server 172.30.0.10 is in the cluster's inner network 172.30.0.0/16 (of services)"},
		{"dns-servers", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSServers = []string{"10.128.0.7"} }, "is in the cluster's inner network 10.128.0.0/14 (of pods)"},
		{"dns-servers", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSServers = []string{"127.0.0.1"} }, "DNS server 127.0.0.1 is a loopback address"},
		{"gateway-not-self", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) {
			s.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.11", Gateway: "192.0.2.10"}
		}, "spec.ipv4.gateway is the node's own present address 192.0.2.10: enter the router's address"},
		{"gateway-not-self", func(s *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Current.Extras.Addresses = []netip.Prefix{netip.MustParsePrefix("198.51.100.1/24")}
		}, "spec.ipv4.gateway is another address of the node's uplink 198.51.100.1"},
		{"dns-filter", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) { s.DNSFilterOutFamily = lcav1.DNSFilterIPv4 }, "the node is not dual-stack"},
		{"boot-entry", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.SetDefault = errors.New("no set-default") }, "cannot choose its next boot: no set-default"},
		{"uplink of another type", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Current.Carrier, f.Current.CarrierType = "eno1", "infiniband"
		}, "the uplink eno1 of br-ex is on eno1, which is of type infiniband"},
		{"uplink", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.Current.Uplink = "" }, "no single uplink interface"},
		{"disk-space", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.Free.Bytes = 512 << 20 }, "needs 1024 MiB and 512 MiB are free: free 513 MiB below /sysroot"},
		{"disk-space", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.BootFreeBytes, f.BootNeedBytes = 50<<20, 90<<20 }, "need 90 MiB and 50 MiB are free in /boot: free 41 MiB in /boot"},
		{"disk-space with a deployment to spare", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.BootFreeBytes, f.BootNeedBytes = 50<<20, 90<<20
			f.Spare = []host.Deployment{{Index: 1, Stateroot: "rhcos", Checksum: "abc", Serial: 2}}
		}, "free 41 MiB in /boot, for instance that of deployment rhcos abc.2, which neither runs nor boots next: 'ostree admin undeploy 1'"},
		{"disk-inodes", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.Free.Inodes = 99 }, "needs 100 inodes and 99 are free"},
		{"address-in-use", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Claimed = []preflight.Claimed{{Address: netip.MustParseAddr("198.51.100.20"), Hardware: "52:54:00:00:00:07"}}
		}, "address 198.51.100.20 is already in use: the machine with hardware address 52:54:00:00:00:07 answers for it: choose another"},
		{"overlap", func(s *lcav1.IPConfigSpec, _ *preflight.Facts) {
			s.IPv4 = &lcav1.IPv4Config{Address: "100.64.3.5", MachineNetwork: "100.64.3.0/24", Gateway: "100.64.3.1"}
		}, "overlaps the cluster's inner network 100.64.0.0/16 (of OVN itself)"},
		{"recert-engine", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.Etcd = errors.New("no manifest") }, "cannot be rewritten: no manifest"},
		{"recert-plan", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.Encryption = "aescbc" }, "stored in etcd encrypted (aescbc): turn encryption off (APIServer cluster, spec.encryption.type: identity)"},
		{"recert-plan", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.RecertBlocked = []string{"/a: cannot be read", "/b: no key"}
		},
			"recert cannot rewrite the cluster: /a: cannot be read; and 1 more"},
		{"nmstate-bridge", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.NMStateBridge = true }, "nmstate manages br-ex on this node (/etc/nmstate/openshift/applied exists)"},
		{"default-bridge", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.OtherBridge = "br0" }, "/etc/ovnk/default_bridge names bridge br0"},
		{"default-route", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Current.Routes = routes("0.0.0.0/0 br-ex 192.0.2.1 48", "0.0.0.0/0 enp7s0 203.0.113.1 48", "::/0 enp7s0 fe80::1 0")
		}, "default routes of other interfaces come before that of br-ex: 0.0.0.0/0 over enp7s0 (metric 48): remove them, or give them a metric above 48"},
		{"routes", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Current.Routes = routes("198.51.100.128/25 enp7s0 203.0.113.1 100", "198.51.100.9/32 br-ex 192.0.2.1 48")
		}, "routes lead part of the new network 198.51.100.0/24 elsewhere: 198.51.100.128/25 over enp7s0, 198.51.100.9/32 over br-ex: remove these routes"},
		{"routes", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.Current.Routes = routes("198.51.100.0/24 enp7s0 - 100")
		},
			"198.51.100.0/24 over enp7s0"},
		{"first-boot", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.KernelArguments = []string{"rw", "ignition.firstboot=1"}
		}, "has kernel argument ignition.firstboot, so each boot is a first one to Ignition: remove it"},
		{"own-state", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) {
			f.State = errors.New("/var/lib/etcd is a file system of its own")
		}, "/var/lib/etcd is a file system of its own: the old and the new system would share it"},
		{"recert-engine", func(_ *lcav1.IPConfigSpec, f *preflight.Facts) { f.RecertImage = "recert:v0 --rm" }, "name registry, path and tag"},
	} {
		t.Run(c.check+"/"+c.says, func(t *testing.T) {
			spec, facts := goodSpec(), goodFacts()
			c.edit(&spec, &facts)
			checks := preflight.Validate(spec, facts)
			require.ErrorContains(t, preflight.Refusal(checks), c.says)
			for _, got := range checks {
				if got.Name == c.check {
					require.Equal(t, lcav1.PreflightFailed, got.Result)
					require.NotEmpty(t, got.Hint)
				}
			}
		})
	}
}

// TestAnAddressThatNoHostHasIsRefused leaves everything else in order: the network contains the address and the gateway.
func TestAnAddressThatNoHostHasIsRefused(t *testing.T) {
	for address, why := range map[string]string{
		"0.0.0.0": "is the unspecified address", "0.0.0.10": "is in 0.0.0.0/8, which is reserved",
		"127.0.0.10": "is a loopback address", "224.0.0.10": "is a multicast address", "239.1.2.3": "is a multicast address",
		"169.254.7.7": "is link-local", "240.0.0.10": "is in 240.0.0.0/4, which is reserved",
		"255.255.255.255": "is in 240.0.0.0/4, which is reserved",
		"::":              "is the unspecified address", "::1": "is a loopback address", "ff02::1": "is a multicast address",
		"fe80::10": "is link-local", "::ffff:192.0.2.10": "is IPv4-mapped", "2001:db8::10%br-ex": "has a zone",
	} {
		t.Run(address, func(t *testing.T) {
			f, spec := goodFacts(), goodSpec()
			dualStack(&f)
			a := netip.MustParseAddr(address)
			network := netip.PrefixFrom(a.WithZone(""), a.BitLen()-9).Masked()
			if a.Is4() {
				spec.IPv4 = &lcav1.IPv4Config{Address: address, MachineNetwork: network.String(), Gateway: a.Next().String()}
			} else {
				spec.IPv6 = &lcav1.IPv6Config{Address: address, MachineNetwork: network.String(), Gateway: "fe80::1"}
			}
			got := named(t, preflight.Validate(spec, f), "addresses")
			require.Equal(t, lcav1.PreflightFailed, got.Result)
			require.Contains(t, got.Message, address+" "+why)
			require.NotEmpty(t, got.Hint)
		})
	}
}

func TestEncryptionAtRestIsNoMatterForAnImage(t *testing.T) {
	f := goodFacts()
	f.Encryption, f.RecertImage = "aescbc", "quay.io/x/recert:1"
	require.NoError(t, preflight.Refusal(preflight.Validate(goodSpec(), f)))
}

func TestDNSServersAreNoWarningWhereNamedOrWhereTheNetworkStays(t *testing.T) {
	set, stays := goodSpec(), goodSpec()
	set.DNSServers = []string{"192.0.2.53"}
	stays.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.11"}
	for _, spec := range []lcav1.IPConfigSpec{set, stays} {
		require.Equal(t, lcav1.PreflightPassed, named(t, preflight.Validate(spec, goodFacts()), preflight.CheckDNSKept).Result)
	}
}

func TestLeftoverStaterootsWarnButDoNotBlock(t *testing.T) {
	f := goodFacts()
	f.LeftoverStateroots = []string{"rhcos_ipc-old"}
	checks := preflight.Validate(goodSpec(), f)
	require.NoError(t, preflight.Refusal(checks))
	require.Equal(t, lcav1.PreflightFailed, named(t, checks, "leftover-stateroots").Result)
	require.Contains(t, named(t, checks, "leftover-stateroots").Message, "rhcos_ipc-old")
}

func named(t *testing.T, checks []lcav1.PreflightCheck, name string) lcav1.PreflightCheck {
	t.Helper()
	for _, c := range checks {
		if c.Name == name {
			return c
		}
	}
	t.Fatalf("no check %q", name)
	return lcav1.PreflightCheck{}
}

// TestAWatchdogThatIsTooQuickIsAWarning: one second is accepted by the API.
func TestAWatchdogThatIsTooQuickIsAWarning(t *testing.T) {
	for seconds, want := range map[int32]lcav1.PreflightResult{
		0: lcav1.PreflightPassed, 1: lcav1.PreflightFailed, 659: lcav1.PreflightFailed, 660: lcav1.PreflightPassed,
	} {
		spec := goodSpec()
		spec.AutoRollbackOnFailure = &lcav1.AutoRollbackOnFailure{InitMonitorTimeoutSeconds: seconds}
		spec.Probes = []lcav1.Probe{{Name: "hub", TimeoutSeconds: 60}}
		checks := preflight.Validate(spec, goodFacts())
		require.NoError(t, preflight.Refusal(checks))
		require.Equal(t, want, named(t, checks, preflight.CheckWatchdogTime).Result, "%d s", seconds)
	}
}

func TestWarnings(t *testing.T) {
	for _, c := range []struct {
		name, check string
		edit        func(*preflight.Facts)
		says        string // empty: passed
	}{
		{"certificate about to expire", preflight.CheckCertificates, func(f *preflight.Facts) {
			f.Certificates = []preflight.Expiry{{File: "/late", At: f.Now.AddDate(1, 0, 0)}, {File: "/soon", At: f.Now.Add(time.Hour)}}
		}, "certificate /soon expires at 2026-01-02T01:00:00Z"},
		{"certificates that last", preflight.CheckCertificates, func(f *preflight.Facts) {
			f.Certificates = []preflight.Expiry{{File: "/late", At: f.Now.AddDate(1, 0, 0)}}
		}, ""},
		{"noProxy with the old address", preflight.CheckProxy, func(f *preflight.Facts) {
			f.Proxy = preflight.Proxy{HTTPProxy: "http://proxy.example:3128", NoProxy: "localhost, 192.0.2.10,.example"}
		}, "noProxy names 192.0.2.10"},
		{"noProxy with the old network", preflight.CheckProxy, func(f *preflight.Facts) {
			f.Proxy = preflight.Proxy{NoProxy: "192.0.2.0/24"}
		}, "noProxy names 192.0.2.0/24"},
		{"a proxy on the node itself", preflight.CheckProxy, func(f *preflight.Facts) {
			f.Proxy = preflight.Proxy{HTTPSProxy: "https://user@192.0.2.10:3128/"}
		}, "httpsProxy names 192.0.2.10"},
		{"another default route", "other-default-routes", func(f *preflight.Facts) {
			f.Current.Routes = routes("0.0.0.0/0 br-ex 192.0.2.1 48", "0.0.0.0/0 enp7s0 203.0.113.1 100")
		}, "other interfaces have a default route too: 0.0.0.0/0 over enp7s0 (metric 100)"},
		{"DNS servers of the old site", preflight.CheckDNSKept, func(*preflight.Facts) {},
			"the node leaves machine network 192.0.2.0/24 and keeps its DNS servers 192.0.2.53"},
		{"no DNS servers to keep", preflight.CheckDNSKept, func(f *preflight.Facts) { f.Current.DNSServers = nil }, ""},
		{"another address that looks alike", preflight.CheckProxy, func(f *preflight.Facts) {
			f.Proxy = preflight.Proxy{NoProxy: "192.0.2.100,192.0.2.0/25"}
		}, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			facts := goodFacts()
			c.edit(&facts)
			checks := preflight.Validate(goodSpec(), facts)
			require.NoError(t, preflight.Refusal(checks))
			got := named(t, checks, c.check)
			if c.says == "" {
				require.Equal(t, lcav1.PreflightPassed, got.Result, got.Message)
				return
			}
			require.Equal(t, lcav1.PreflightFailed, got.Result)
			require.Contains(t, got.Message, c.says)
			require.NotEmpty(t, got.Hint)
		})
	}
}

func TestWhatIsNotKnownDoesNotRefuse(t *testing.T) {
	f := goodFacts()
	f.Unknown = map[string]string{preflight.CheckAddressInUse: "the link is down"}
	checks := preflight.Validate(goodSpec(), f)
	require.NoError(t, preflight.Refusal(checks))
	got := named(t, checks, preflight.CheckAddressInUse)
	require.Equal(t, lcav1.PreflightUnknown, got.Result)
	require.Equal(t, "the link is down", got.Message)
}

func TestInSyncComparesValuesNotSpellings(t *testing.T) {
	f := goodFacts()
	dualStack(&f)
	spec := lcav1.IPConfigSpec{
		IPv4:       &lcav1.IPv4Config{Address: "192.0.2.10"},
		IPv6:       &lcav1.IPv6Config{Address: "2001:DB8:0:0::10", MachineNetwork: "2001:db8:0::/64"},
		DNSServers: []string{"192.0.2.53"}, DNSFilterOutFamily: lcav1.DNSFilterNone,
	}
	require.Empty(t, ipconfig.InSync(spec, f.Current))
	spec.DNSServers = []string{"192.0.2.53", "192.0.2.54"}
	require.Equal(t, []string{"dnsServers"}, ipconfig.InSync(spec, f.Current))
}
