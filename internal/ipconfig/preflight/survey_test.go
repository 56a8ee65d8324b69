package preflight_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"math/big"
	"net/netip"
	"path"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

func surveyor(n *hosttest.Node) preflight.Surveyor {
	return preflight.Surveyor{
		Files: n.Files(), Disk: n.Trees(), Deployments: n.Deployments(), OneTimeBoot: n.OneTimeBoot(), Prober: n.Prober(),
		Kernel: n.NetworkPlanner(), Units: n.Units(),
		Now: func() time.Time { return time.Date(2026, 1, 2, 0, 0, 0, 0, time.UTC) },
	}
}

var (
	pair = stateroot.Pair{Old: "rhcos", New: "rhcos_ipc-new"}
	// wanted has a link that not each kernel can make.
	wanted = netstate.Document{Interfaces: []netstate.Interface{{Name: "enp1s0.7", Type: netstate.TypeVLAN, VLAN: &netstate.VLAN{BaseIface: "enp1s0", ID: 7}}}}
)

// surveyed is what the checks say after the node was looked over for a change.
func surveyed(t *testing.T, n *hosttest.Node, spec lcav1.IPConfigSpec) []lcav1.PreflightCheck {
	t.Helper()
	f := goodFacts()
	f.Current.Uplink = "enp1s0"
	surveyor(n).Look(t.Context(), "rhcos", &f)
	require.NoError(t, surveyor(n).Measure(t.Context(), spec, pair, wanted, &f))
	return preflight.Validate(spec, f)
}

func TestSurveyFindsWhoHasTheAddress(t *testing.T) {
	wanted := netip.MustParseAddr("198.51.100.20")
	for _, c := range []struct {
		name    string
		arrange func(*hosttest.Node)
		edit    func(*lcav1.IPConfigSpec)
		want    lcav1.PreflightResult
		says    string
	}{
		{"nobody", nil, nil, lcav1.PreflightPassed, ""},
		{"another machine", func(n *hosttest.Node) { n.Occupy(wanted) }, nil, lcav1.PreflightFailed, "198.51.100.20 is already in use"},
		{"a proxy", func(n *hosttest.Node) { n.Proxy(netip.MustParsePrefix("198.51.100.0/24")) }, nil, lcav1.PreflightUnknown, "proxy ARP"},
		{"on a VLAN that is not up", func(n *hosttest.Node) { n.Occupy(wanted) }, func(s *lcav1.IPConfigSpec) { s.VLANID = new(int32); *s.VLANID = 7 },
			lcav1.PreflightUnknown, "VLAN 7, which the node is not on yet"},
		{"the node keeps its address", func(n *hosttest.Node) { n.Occupy(netip.MustParseAddr("192.0.2.10")) },
			func(s *lcav1.IPConfigSpec) { s.IPv4 = &lcav1.IPv4Config{Address: "192.0.2.10"} }, lcav1.PreflightPassed, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			n, spec := hosttest.NewNode(hosttest.Options{}), goodSpec()
			if c.arrange != nil {
				c.arrange(n)
			}
			if c.edit != nil {
				c.edit(&spec)
			}
			got := named(t, surveyed(t, n, spec), preflight.CheckAddressInUse)
			require.Equal(t, c.want, got.Result, got.Message)
			require.Contains(t, got.Message, c.says)
		})
	}
}

func TestSurveyMeasuresAndReads(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{FreeInodes: 2})
	require.NoError(t, n.Seed(path.Join(host.APIServerSecrets, "aggregator-client/tls.crt"), ends(t, time.Date(2026, 1, 3, 0, 0, 0, 0, time.UTC))))
	n.SetDefaultUnsupported(errors.New("too old"))
	checks := surveyed(t, n, goodSpec())
	require.Equal(t, lcav1.PreflightFailed, named(t, checks, preflight.CheckDiskInodes).Result)
	require.Contains(t, named(t, checks, preflight.CheckCertificates).Message, "aggregator-client/tls.crt expires at 2026-01-03")
	require.Equal(t, lcav1.PreflightFailed, named(t, checks, "boot-entry").Result)
}

func TestSurveyFindsWhoMakesTheBridgeAndHowTheNodeBoots(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	require.NoError(t, n.Seed(host.OVNDefaultBridge, []byte("br-ex\n")))
	require.NoError(t, preflight.Refusal(surveyed(t, n, goodSpec())))
	require.NoError(t, n.Seed(host.NMStateApplied, nil))
	require.NoError(t, n.Seed(host.OVNDefaultBridge, []byte("br0\n")))
	n.BootWith("rw", "ignition.firstboot")
	checks := surveyed(t, n, goodSpec())
	for _, name := range []string{"nmstate-bridge", "default-bridge", preflight.CheckFirstBoot} {
		require.Equal(t, lcav1.PreflightFailed, named(t, checks, name).Result, name)
	}
}

// What the new system would fail at after the outage has begun is found before it.
func TestSurveyFindsWhatTheNewSystemLacks(t *testing.T) {
	for name, c := range map[string]struct {
		arrange func(*testing.T, *hosttest.Node)
		check   string
		result  lcav1.PreflightResult
		says    string
	}{
		"a kernel without VLANs": {func(_ *testing.T, n *hosttest.Node) { n.Lack(netstate.TypeVLAN) }, preflight.CheckLinks,
			lcav1.PreflightFailed, "enp1s0.7: this kernel has no links of type vlan"},
		"a unit is masked": {func(t *testing.T, n *hosttest.Node) {
			require.NoError(t, n.Files().(interface{ Symlink(old, name string) error }).Symlink("/dev/null", "/etc/systemd/system/"+host.UnitKubelet))
		}, preflight.CheckUnits, lcav1.PreflightFailed, "kubelet.service is masked"},
		"a clock that lost its battery": {func(t *testing.T, n *hosttest.Node) {
			require.NoError(t, n.Seed(host.KubeletClientCert, ends(t, time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC))))
		}, preflight.CheckClock, lcav1.PreflightFailed, "is valid from 2026-02-28T23:00:00Z"},
	} {
		t.Run(name, func(t *testing.T) {
			n := hosttest.NewNode(hosttest.Options{})
			c.arrange(t, n)
			got := named(t, surveyed(t, n, goodSpec()), c.check)
			require.Equal(t, c.result, got.Result, got.Message)
			require.Contains(t, got.Message, c.says)
		})
	}
}

// TestABootLoaderThatStartsNothingOnceIsAWarning: the change is made all the same.
func TestABootLoaderThatStartsNothingOnceIsAWarning(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	checks := surveyed(t, n, goodSpec())
	require.NoError(t, preflight.Refusal(checks))
	got := named(t, checks, preflight.CheckOneTimeBoot)
	require.Equal(t, lcav1.PreflightFailed, got.Result)
	require.Equal(t, lcav1.PreflightWarning, got.Severity)
	require.Contains(t, got.Message, "started again at each boot: the boot loader of this node starts nothing once")
	n.BootsOnce(true)
	require.Equal(t, lcav1.PreflightPassed, named(t, surveyed(t, n, goodSpec()), preflight.CheckOneTimeBoot).Result)
}

// A network that cannot be rendered says nothing about the kernel.
func TestLinksOfNoNetworkAreUnknown(t *testing.T) {
	n, f := hosttest.NewNode(hosttest.Options{}), goodFacts()
	surveyor(n).Look(t.Context(), "rhcos", &f)
	require.NoError(t, surveyor(n).Measure(t.Context(), goodSpec(), pair, netstate.Document{}, &f))
	require.Equal(t, lcav1.PreflightUnknown, named(t, preflight.Validate(goodSpec(), f), preflight.CheckLinks).Result)
}

func TestWhatTakesTimeIsUnknownBeforeItIsMeasured(t *testing.T) {
	f := goodFacts()
	surveyor(hosttest.NewNode(hosttest.Options{})).Look(t.Context(), "rhcos", &f)
	for _, check := range []string{preflight.CheckAddressInUse, preflight.CheckDiskSpace, preflight.CheckDiskInodes} {
		require.Equal(t, lcav1.PreflightUnknown, named(t, preflight.Validate(goodSpec(), f), check).Result, check)
	}
}

// ends is a certificate in PEM that ends at the given time.
func ends(t *testing.T, at time.Time) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: at.Add(-time.Hour), NotAfter: at}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	require.NoError(t, err)
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

// meeting is disk and link at once: each waits until the other was asked too.
type meeting struct {
	stateroot.Disk
	link, disk chan struct{}
	failure    error
}

func (m meeting) Usage(ctx context.Context, path string) (host.Size, error) {
	if m.failure != nil {
		return host.Size{}, m.failure
	}
	close(m.disk)
	return m.Disk.Usage(ctx, path)
}

func (m meeting) InUse(ctx context.Context, _ netip.Prefix, _ ...string) (host.Claim, error) {
	close(m.link)
	select {
	case <-m.disk:
		return host.Claim{}, nil
	case <-ctx.Done():
		return host.Claim{}, ctx.Err()
	}
}

// TestTheLinkIsAskedWhileTheDiskIsMeasured would never end if one came after the other. A disk that cannot be measured ends the
// question too.
func TestTheLinkIsAskedWhileTheDiskIsMeasured(t *testing.T) {
	for name, failure := range map[string]error{"measured": nil, "not measured": errors.New("no such disk")} {
		t.Run(name, func(t *testing.T) {
			n, f := hosttest.NewNode(hosttest.Options{}), goodFacts()
			m := meeting{Disk: n.Trees(), link: make(chan struct{}), disk: make(chan struct{}), failure: failure}
			s := surveyor(n)
			s.Disk, s.Prober = m, m
			s.Look(t.Context(), "rhcos", &f)
			err := s.Measure(t.Context(), goodSpec(), pair, wanted, &f)
			require.ErrorIs(t, err, failure)
			<-m.link
			if failure == nil {
				require.NotContains(t, f.Unknown, preflight.CheckAddressInUse)
			}
		})
	}
}
