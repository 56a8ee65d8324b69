package ipam_test

import (
	"bytes"
	"flag"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipam"
)

// update writes the golden files anew: go test ./internal/cli/ipam -update.
var update = flag.Bool("update", false, "write the golden files")

// run executes "ipam ARGS" in testdata and returns what it prints.
func run(t *testing.T, in io.Reader, args ...string) (string, error) {
	t.Helper()
	t.Chdir("testdata")
	var out bytes.Buffer
	cmd := cli.Command(cli.Wiring{
		In: in, Out: &out, Rand: rand.NewPCG(1, 2),
		Now: func() time.Time { return time.Date(2026, 3, 1, 11, 0, 0, 0, time.UTC) },
	})
	cmd.SetArgs(args)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func golden(t *testing.T, name, got string) {
	t.Helper()
	file := filepath.Join("golden", name)
	if *update {
		require.NoError(t, os.MkdirAll("golden", 0o755))
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	require.Equal(t, string(want), got)
}

func TestGolden(t *testing.T) {
	for name, args := range map[string]string{
		"plan.txt":             "plan -f pools.yaml --count 3",
		"plan.yaml":            "plan -f pools.yaml --pool metal3/storage-v6 --count 1 -o yaml",
		"plan.json":            "plan -f pools.yaml --pool storage -o json",
		"plan-hosts.txt":       "plan -f pools.yaml -f hosts.yaml --pool storage --for-hosts ens4 --count 1",
		"reserve.yaml":         "reserve -f pools.yaml --pool storage --pool storage-v6 --host master-0 --host master-1",
		"reserve-hosts.yaml":   "reserve -f pools.yaml -f hosts.yaml --pool storage --host osd-1 --interface ens4",
		"reserve.txt":          "reserve -f pools.yaml --pool storage --host master-1 --address 192.0.2.9 -o text",
		"ignition.json":        "render ignition -f pools.yaml -f golden/reserve.yaml --host master-0 --interface name=eth1,pool=storage,pool=storage-v6 --base base.ign",
		"nmstate.json":         "render ignition -f pools.yaml -f golden/reserve.yaml --host master-0 --interface eth1=storage --form nmstate",
		"policy.yaml":          "render ignition -f pools.yaml -f golden/reserve.yaml --host master-1 --interface eth1=storage --form policy",
		"networkdata.txt":      "render ignition -f pools.yaml -f golden/reserve.yaml --host master-1 --interface name=eth1,mac=52:54:00:00:00:01,pool=storage,default --form networkdata",
		"dnsmasq.conf":         "render dnsmasq -f pools.yaml --pool provisioning --interface eth1",
		"dnsmasq.yaml":         "render dnsmasq -f pools.yaml --pool provisioning --interface eth1 -o yaml",
		"dnsmasq-boot.conf":    "render dnsmasq -f pools.yaml --pool provisioning --interface eth1 --boot-server 172.22.0.3",
		"dnsmasq-cluster.conf": "render dnsmasq -f provisioning.yaml --pool provisioning --interface eth1",
		"fsck-cluster.txt":     "fsck -f provisioning.yaml",
		"fsck-sound.txt":       "fsck -f pools.yaml -f golden/reserve.yaml",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, nil, strings.Fields(args)...)
			require.NoError(t, err)
			golden(t, name, out)
		})
	}
}

func TestFsckFailsAndExplains(t *testing.T) {
	for name, args := range map[string]string{
		"fsck.txt":  "fsck -f broken.yaml --leases leases",
		"fsck.json": "fsck -f broken.yaml --leases leases -o json",
	} {
		t.Run(name, func(t *testing.T) {
			out, err := run(t, nil, strings.Fields(args)...)
			require.EqualError(t, err, "fsck: 3 findings")
			golden(t, name, out)
		})
	}
}

func TestStandardInput(t *testing.T) {
	pools, err := os.ReadFile("testdata/pools.yaml")
	require.NoError(t, err)
	out, err := run(t, bytes.NewReader(pools), "plan", "-f", "-", "--pool", "provisioning")
	require.NoError(t, err)
	require.Contains(t, out, "172.22.0.128-172.22.0.255")
}

func TestRefusals(t *testing.T) {
	for name, k := range map[string]struct{ args, want string }{
		"no files":        {"plan", "name the files with -f"},
		"no such file":    {"plan -f nowhere.yaml", "read pools: open nowhere.yaml: no such file or directory"},
		"plain text":      {"plan -f leases", "leases: document 1: not a Kubernetes object"},
		"wrong type":      {"plan -f wrongtype.yaml", "wrongtype.yaml: document 1: field spec.prefix: is a string, must be a number"},
		"no host name":    {"reserve -f pools.yaml --pool storage --host Bad_Host!", "--host Bad_Host! is not a name that Kubernetes allows: "},
		"no addresses":    {"fsck -f claims.yaml", "no ipaddresses.ipam.metal3.io was read, but claims that have one (1): read that kind too"},
		"count":           {"plan -f pools.yaml --count -1", "must be a positive number"},
		"no hosts":        {"plan -f pools.yaml --for-hosts ens4", "--for-hosts ens4: there is no BareMetalHost in the files"},
		"too many hosts":  {"plan -f pools.yaml -f hosts.yaml --pool storage --for-hosts ens4 --count 9", "not everything fits: 1 refused"},
		"unknown pool":    {"plan -f pools.yaml --pool x", "pool x is in none of the files"},
		"does not fit":    {"plan -f pools.yaml --pool storage --count 12", "not everything fits: 1 refused"},
		"format":          {"plan -f pools.yaml -o xml", `output format "xml" is none of text, yaml, json`},
		"outside":         {"reserve -f pools.yaml --pool storage --host h --address 198.51.100.1", "host h: pool metal3/storage: address 198.51.100.1 lies outside its ranges"},
		"reserved":        {"reserve -f pools.yaml --pool storage --host h --address 192.0.2.10", "host h: pool metal3/storage: address 192.0.2.10 is reserved for master-0-storage"},
		"held":            {"reserve -f pools.yaml -f golden/reserve.yaml --pool storage --host h --address 192.0.2.10", "host h: pool metal3/storage: address 192.0.2.10 is held by IPClaim metal3/master-0-storage"},
		"address for two": {"reserve -f pools.yaml --pool storage --host a --host b --address 192.0.2.10", "--address is for one host and one pool, not for a, b of storage"},
		"not registered":  {"render ignition -f pools.yaml --host master-0 --interface eth1=storage", "pool metal3/storage: no address of it is allocated to host master-0; see reserve"},
		"no interface":    {"render ignition -f pools.yaml --host master-0", "say which --interface has which pool"},
		"bad interface":   {"render ignition -f pools.yaml --host master-0 --interface eth1,pool=storage", `--interface eth1,pool=storage: "eth1" is none of name=, mac=, pool=, default`},
		"no DHCP range":   {"render dnsmasq -f pools.yaml --pool storage --interface eth1", "pool metal3/storage has no DHCP range"},
		"DHCP overlap":    {"render dnsmasq -f overlap.yaml --pool p --interface eth1", "pool default/p: DHCP range 172.22.0.10-172.22.0.200 overlaps range 172.22.0.128-172.22.0.255 at 172.22.0.128: an address cannot be leased and static at once"},
		"leased":          {"render dnsmasq -f leased.yaml --pool provisioning --interface eth1", "DHCP range 172.22.0.10-172.22.0.100 overlaps range 172.22.0.90-172.22.0.255"},
		"leased pool":     {"fsck -f leased.yaml", "fsck: 1 finding"},
		"boot server":     {"render dnsmasq -f pools.yaml --pool provisioning --interface eth1 --boot-server here", `--boot-server: "here" is not an IP address`},
		"misspelt":        {"plan -f misspelt.yaml", `misspelt.yaml: document 1: unknown field "spec.exclusion"`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := run(t, nil, strings.Fields(k.args)...)
			require.ErrorContains(t, err, k.want)
		})
	}
}
