package hosttest_test

import (
	"context"
	"io/fs"
	"net/netip"
	"path"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
)

// The fake passes every contract that the adapters pass.

func node(*testing.T) *hosttest.Node { return hosttest.NewNode(hosttest.Options{}) }

func TestFiles(t *testing.T) {
	hostcontract.TestFiles(t, func(t *testing.T) host.Files { return node(t).Files() })
}

func TestTrees(t *testing.T) {
	hostcontract.TestTrees(t, func(t *testing.T) hostcontract.TreesFixture {
		n := node(t)
		return hostcontract.TreesFixture{Trees: n.Trees(), Files: n.Files(), Chtimes: n.Chtimes}
	})
}

func TestDeployments(t *testing.T) {
	hostcontract.TestDeployments(t, func(t *testing.T) hostcontract.DeploymentsFixture {
		n := node(t)
		return hostcontract.DeploymentsFixture{Deployments: n.Deployments(), Files: n.Files()}
	})
}

func TestOneTimeBoot(t *testing.T) {
	hostcontract.TestOneTimeBoot(t, func(t *testing.T) hostcontract.OneTimeBootFixture {
		n := node(t)
		n.BootsOnce(true)
		return hostcontract.OneTimeBootFixture{Once: n.OneTimeBoot(), Deployments: n.Deployments(), Start: func(t *testing.T) string {
			if err := n.Boot(t.Context()); err != nil {
				t.Fatal(err)
			}
			return n.Describe().Booted
		}}
	})
}

func TestUnits(t *testing.T) {
	hostcontract.TestUnits(t, func(t *testing.T) hostcontract.UnitsFixture {
		n := node(t)
		return hostcontract.UnitsFixture{Units: n.Units(), Masks: n.RuntimeMasks(), Files: n.Files()}
	})
}

func TestForeignUnits(t *testing.T) {
	hostcontract.TestForeignUnits(t, func(t *testing.T) hostcontract.ForeignUnitsFixture {
		n := node(t)
		return hostcontract.ForeignUnitsFixture{Foreign: n.ForeignUnits(), Files: n.Files(), Root: path.Join(host.DeployDir, "other/deploy/0.0")}
	})
}

func TestTransients(t *testing.T) {
	hostcontract.TestTransients(t, func(t *testing.T) hostcontract.TransientsFixture {
		n := node(t)
		return hostcontract.TransientsFixture{Transients: n.Transients(), Units: n.Units(), Pass: func() {
			if err := n.Settle(context.Background(), 0); err != nil {
				t.Fatal(err)
			}
		}}
	})
}

func TestNetwork(t *testing.T) {
	hostcontract.TestNetwork(t, func(t *testing.T) hostcontract.NetworkFixture {
		n := node(t)
		ctx := context.Background()
		// Without its database the switch has no br-ex, and the uplink is a plain interface.
		if err := n.Files().Remove("/etc/openvswitch/conf.db"); err != nil {
			t.Fatal(err)
		}
		if err := n.Units().Disable(ctx, host.UnitKubelet); err != nil {
			t.Fatal(err)
		}
		if err := n.Boot(ctx); err != nil {
			t.Fatal(err)
		}
		return hostcontract.NetworkFixture{
			Network: n.Network(), Transaction: n.NetworkTransaction(), Watch: n.NetworkWatch(), Planner: n.NetworkPlanner(),
			Trials: n.NetworkTrials(),
			Hold: func(_ *testing.T, length time.Duration) {
				began := time.Now()
				n.Hold(host.NetworkTrial{ID: "/Checkpoint/1", Began: began, Ends: began.Add(length)})
			},
			Uplink: "enp1s0",
			Old:    netip.MustParsePrefix("192.0.2.10/24"), New: netip.MustParsePrefix("198.51.100.20/25"),
			OldGateway: netip.MustParseAddr("192.0.2.1"), NewGateway: netip.MustParseAddr("198.51.100.1"),
			Boots: func(t *testing.T) (boots []netip.Prefix) {
				for _, a := range n.Describe().Stateroots["rhcos"].Profiles {
					boots = append(boots, netip.MustParsePrefix(a))
				}
				return boots
			},
			Without: func(_ *testing.T, during func()) {
				n.StopManager()
				defer n.StartManager()
				during()
			},
		}
	})
}

func TestKeystore(t *testing.T) {
	hostcontract.TestKeystore(t, func(t *testing.T) host.Keystore {
		n := hosttest.NewNode(hosttest.Options{StoreBatch: 100})
		if err := n.Containers().StopAll(context.Background()); err != nil {
			t.Fatal(err)
		}
		return n.Keystore()
	})
}

func TestProber(t *testing.T) {
	hostcontract.TestProber(t, func(t *testing.T) hostcontract.ProberFixture {
		n := node(t)
		n.Occupy(netip.MustParseAddr("198.51.100.66"))
		n.Proxy(netip.MustParsePrefix("203.0.113.0/24"))
		n.Silence(netip.MustParseAddr("192.0.2.99"))
		n.Serve("198.51.100.7:22", nil)
		n.Serve("http://198.51.100.7/", nil)
		n.Serve("https://198.51.100.7/", hosttest.ErrUntrusted)
		n.Serve("http://198.51.100.7/missing", hosttest.ErrMissing)
		n.Serve("hub.example", nil)
		n.Serve("198.51.100.7", nil)
		return hostcontract.ProberFixture{
			Good: []host.Endpoint{
				{Kind: host.EndpointTCP, Target: "198.51.100.7:22"}, {Kind: host.EndpointHTTP, Target: "http://198.51.100.7/"},
				{Kind: host.EndpointHTTP, Target: "https://198.51.100.7/", SkipVerify: true},
				{Kind: host.EndpointHTTP, Target: "https://198.51.100.7/", CABundle: []byte("pem")},
				{Kind: host.EndpointHTTP, Target: "http://198.51.100.7/missing", StatusCodes: []int{404}},
				{Kind: host.EndpointDNS, Target: "hub.example"}, {Kind: host.EndpointICMP, Target: "198.51.100.7"},
			},
			Bad: []host.Endpoint{
				{Kind: host.EndpointTCP, Target: "198.51.100.8:22"}, {Kind: host.EndpointHTTP, Target: "http://198.51.100.7/missing"},
				{Kind: host.EndpointHTTP, Target: "https://198.51.100.7/"},
				{Kind: host.EndpointDNS, Target: "nobody.example"}, {Kind: host.EndpointICMP, Target: "198.51.100.8"},
			},
			Prober: n.Prober(), Link: host.BridgeExternal,
			Own: []netip.Addr{netip.MustParseAddr("192.0.2.10")}, Gateways: []netip.Addr{netip.MustParseAddr("192.0.2.1")},
			Servers: []netip.Addr{netip.MustParseAddr("192.0.2.53")}, Name: "api.lab.example.com",
			Taken:   []netip.Prefix{netip.MustParsePrefix("198.51.100.66/24")},
			Free:    []netip.Prefix{netip.MustParsePrefix("192.0.2.99/24")},
			Proxied: []netip.Prefix{netip.MustParsePrefix("203.0.113.7/24")},
		}
	})
}

func TestRecertImages(t *testing.T) {
	hostcontract.TestRecertImages(t, func(t *testing.T) hostcontract.RecertImagesFixture {
		n := node(t)
		if err := n.Containers().StopAll(context.Background()); err != nil {
			t.Fatal(err)
		}
		if err := n.Files().Write(host.RecertConfig, []byte("{}"), 0o600); err != nil {
			t.Fatal(err)
		}
		return hostcontract.RecertImagesFixture{
			Images: n.RecertImages(), Files: n.Files(), Config: host.RecertConfig,
			Pulls: n.ImagePulls, Runs: n.ImageRuns, Break: n.BreakRecert,
		}
	})
}

func TestVolumes(t *testing.T) {
	hostcontract.TestVolumes(t, func(*testing.T) hostcontract.VolumesFixture {
		v := &hosttest.Volumes{}
		return hostcontract.VolumesFixture{
			Volumes: v, Links: true, Unplug: func(device string) { v.Unplug("/dev/" + device) },
			Plug: func(device, label string, files map[string]string) {
				in := fstest.MapFS{}
				for name, content := range files {
					in[name] = &fstest.MapFile{Data: []byte(content)}
					if target, link := strings.CutPrefix(content, "->"); link {
						in[name] = &fstest.MapFile{Data: []byte(target), Mode: fs.ModeSymlink}
					}
				}
				v.Plug(host.Volume{Device: "/dev/" + device, Disk: device, Label: label, Filesystem: "vfat"}, in)
			},
		}
	})
}

func TestCommitsContract(t *testing.T) {
	hostcontract.TestCommits(t, func(t *testing.T) hostcontract.CommitsFixture {
		n := hosttest.NewNode(hosttest.Options{})
		const repo = "/var/unpacked"
		require.NoError(t, n.Seed(repo+"/config", []byte("[core]\n")))
		return hostcontract.CommitsFixture{Commits: n.Commits(), Deployments: n.Deployments(), Repo: repo, Checksum: strings.Repeat("ef56", 16)}
	})
}

// The kernel's files are there again after a power cut: programs read the mount table at every boot.
func TestEachBootGivesTheMountTableAgain(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{})
	for range 2 {
		table, err := n.Files().Read("/proc/1/mountinfo")
		require.NoError(t, err)
		require.Contains(t, string(table), hosttest.ContainerStorage)
		n.Cut()
		require.NoError(t, n.Boot(t.Context()))
	}
}
