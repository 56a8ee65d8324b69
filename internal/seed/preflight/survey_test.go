package preflight

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

func TestTheSurveyorReadsTheNode(t *testing.T) {
	n := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos", Reflinks: true, Free: 100 << 30})
	for path, text := range map[string]string{
		"/proc/1/mountinfo":                        "36 25 8:5 / /var/lib/containers rw,relatime shared:1 - xfs /dev/sda5 rw,prjquota\n",
		host.UnitDir + "/var-lib-containers.mount": "[Mount]\nWhat=/dev/disk/by-partlabel/varlibcontainers\nWhere=/var/lib/containers\n",
		fipsEnabled:   "1\n",
		cpuInfo:       "processor\t: 0\nphysical id\t: 0\ncore id\t: 0\nprocessor\t: 1\nphysical id\t: 0\ncore id\t: 0\nprocessor\t: 2\nphysical id\t: 1\ncore id\t: 0\n",
		dnsmasqScript: "# SNO_CLUSTER_NAME_OVERRIDE", host.EtcdData + "/member/snap/db": "etcd",
	} {
		require.NoError(t, n.Seed(path, []byte(text)))
	}
	ports := n.Ports()
	s := Surveyor{Files: ports.Files, Disk: ports.Trees, Deployments: ports.Deployments, Lock: n.Lock()}
	var f Facts
	s.Look(t.Context(), &f)
	require.Equal(t, "/dev/disk/by-partlabel/varlibcontainers", f.ContainerStorage, "as the unit names it")
	require.False(t, f.ContainerStorageOwn)
	require.True(t, f.FIPS)
	require.Equal(t, []int{3, 2, 2}, []int{f.CPUs, f.Cores, f.Sockets})
	require.NoError(t, f.SetDefault)
	require.GreaterOrEqual(t, f.Need.Bytes, int64(seed.CopyReserve))
	require.Positive(t, f.Free.Bytes)
	require.NotContains(t, f.Unknown, CheckDiskSpace)
	require.Empty(t, f.NodeBusy)

	release, err := n.Lock().Acquire(t.Context(), host.Holder{Operation: "ip-config x", Program: "p"})
	require.NoError(t, err)
	s.Look(t.Context(), &f)
	require.Contains(t, f.NodeBusy, "ip-config x")
	release()
}

// silentNode knows nothing.
type silentNode struct{ host.Files }

func (silentNode) Read(string) ([]byte, error) { return nil, errors.New("input/output error") }
func (silentNode) Usage(context.Context, string) (host.Size, error) {
	return host.Size{}, errors.New("input/output error")
}
func (silentNode) Free(string) (host.Size, error)      { return host.Size{}, nil }
func (silentNode) Shares(string) (bool, error)         { return false, nil }
func (silentNode) CanSetDefault(context.Context) error { return nil }
func (silentNode) Holder(context.Context) (host.Holder, bool, error) {
	return host.Holder{}, false, errors.New("input/output error")
}

func TestWhatCannotBeFoundOutIsUnknown(t *testing.T) {
	var f Facts
	n := silentNode{}
	Surveyor{Files: n, Disk: n, Deployments: n, Lock: n}.Look(t.Context(), &f)
	for _, check := range []string{CheckContainerStorage, CheckPullSecret, CheckNodeBusy, CheckDiskSpace} {
		require.Contains(t, f.Unknown, check)
	}
}

func TestCPUsWithoutTopology(t *testing.T) {
	cpus, cores, sockets := countCPUs("processor : 0\nprocessor : 1\n")
	require.Equal(t, []int{2, 2, 1}, []int{cpus, cores, sockets})
}
