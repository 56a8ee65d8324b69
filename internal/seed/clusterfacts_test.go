package seed_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Without the API the node's own files say what the image says of the cluster; what a request says stays.
func TestTheNodeCompletesWhatIsKnownOfTheCluster(t *testing.T) {
	fs := files.New(t.TempDir())
	for file, text := range map[string]string{
		"/etc/default/sno_dnsmasq_configuration_overrides": "export SNO_CLUSTER_NAME_OVERRIDE=\"edge\"\nSNO_BASE_DOMAIN_OVERRIDE=example.org\nSNO_DNSMASQ_IP_OVERRIDE=192.0.2.10\n",
		"/etc/hostname":                 "node0\n",
		"/etc/os-release":               "ID=rhcos\nOPENSHIFT_VERSION=\"4.20\"\n",
		"/proc/sys/crypto/fips_enabled": "1\n",
		"/proc/1/mountinfo": "25 1 8:4 / / rw - xfs /dev/sda4 rw\n36 25 8:5 / /var/lib/containers rw shared:1 - xfs /dev/sda5 rw\n" +
			"37 25 8:6 / /var/lib/containers/storage rw - xfs /dev/sda6 rw\n",
	} {
		require.NoError(t, fs.Write(file, []byte(text), 0o644))
	}
	require.Equal(t, seed.ClusterInfo{
		ClusterName: "edge", BaseDomain: "example.org", NodeIPs: []string{"192.0.2.10"}, NodeIP: "192.0.2.10", SNOHostname: "node0",
		OCPVersion: "4.20", HasFIPS: true, ContainerStorageTarget: "/dev/sda5",
	}, seed.CompleteFromNode(seed.ClusterInfo{}, fs))
	c := seed.CompleteFromNode(seed.ClusterInfo{ClusterName: "own", NodeIPs: []string{"192.0.2.1", "2001:db8::1"}, OCPVersion: "4.20.3"}, fs)
	require.Equal(t, "own", c.ClusterName)
	require.Equal(t, "192.0.2.1", c.NodeIP)
	require.Equal(t, "4.20.3", c.OCPVersion)
	require.NoError(t, fs.Write("/etc/systemd/system/var-lib-containers.mount", []byte("[Mount]\nWhat=/dev/disk/by-partlabel/containers\n"), 0o644))
	require.Equal(t, "/dev/disk/by-partlabel/containers", seed.CompleteFromNode(seed.ClusterInfo{}, fs).ContainerStorageTarget)
	require.Equal(t, seed.ClusterInfo{}, seed.CompleteFromNode(seed.ClusterInfo{}, files.New(t.TempDir())))
}
