package rehearsal_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/rehearsal"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
)

const apiPod = "/etc/kubernetes/manifests/kube-apiserver-pod.yaml"

// TestARehearsalFindsWhatWouldFailTheChange has clusters that run, that pass the checks, and that would not come back after a change.
func TestARehearsalFindsWhatWouldFailTheChange(t *testing.T) {
	shared := newNode(t, wanted{})
	for name, c := range map[string]struct {
		damage func(*testing.T, *node)
		proof  string
		result lcav1.ProofResult
		says   string
	}{
		"a flag of etcd that it refuses at its next start": {
			func(t *testing.T, n *node) {
				n.edit(t, host.EtcdPodManifest, replace("--snapshot-count=10000", "--snapshot-count=many"))
			}, rehearsal.ProofEtcd, lcav1.ProofFailed, `invalid value "many"`},
		"a damaged log that the running etcd has read long ago": {
			damageLog, rehearsal.ProofRecert, lcav1.ProofFailed, "etcd exited while starting"},
		"a file of kube-apiserver's configuration that is gone": {
			func(t *testing.T, n *node) {
				require.NoError(t, os.Remove(filepath.Join(n.root, "/etc/kubernetes/static-pod-resources/kube-apiserver-certs/configmaps/client-ca/ca-bundle.crt")))
			}, rehearsal.ProofAPI, lcav1.ProofFailed, "client-ca/ca-bundle.crt: no such file"},
		"a flag of kube-apiserver that it does not know": {
			func(t *testing.T, n *node) { n.edit(t, apiPod, replace("- -v=1", "- --no-such-flag=1")) },
			rehearsal.ProofAPI, lcav1.ProofFailed, "unknown flag: --no-such-flag"},
		"an image that is not on the node": {
			func(t *testing.T, n *node) { n.edit(t, apiPod, replace(image, containerimage.APIServer)) },
			rehearsal.ProofAPI, lcav1.ProofNotProved, "the image is not on the node"},
		"too little memory": {
			func(t *testing.T, n *node) { n.write(t, "/proc/meminfo", "MemAvailable: 1000000 kB\n") },
			rehearsal.ProofEtcd, lcav1.ProofNotProved, "of memory are available"},
	} {
		t.Run(name, func(t *testing.T) {
			n := newNode(t, wanted{shared: shared})
			c.damage(t, n)
			disk, keys := n.disk(t), n.keys(t)
			report := n.rehearse(t, singleStack())
			found := false
			for _, p := range report.Proofs {
				t.Logf("%s: %s: %s", p.Name, p.Result, p.Message)
				if p.Name == c.proof {
					found = true
					require.Equal(t, c.result, p.Result)
					require.Contains(t, p.Message, c.says)
				}
			}
			require.True(t, found)
			want := lcav1.RehearsalIncomplete
			if c.result == lcav1.ProofFailed {
				want = lcav1.RehearsalFailed
			}
			require.Equal(t, want, report.Result)
			n.requireUntouched(t, disk, keys)
		})
	}
}

func replace(old, new string) func(string) string {
	return func(text string) string { return strings.Replace(text, old, new, 1) }
}

// damageLog turns a bit in the middle of the first record of etcd's log that has a key of the cluster.
func damageLog(t *testing.T, n *node) {
	t.Helper()
	logs, err := filepath.Glob(filepath.Join(n.root, host.EtcdData, "member/wal/*.wal"))
	require.NoError(t, err)
	for _, log := range logs {
		data, err := os.ReadFile(log)
		require.NoError(t, err)
		at := bytes.Index(data, []byte("/kubernetes.io/"))
		if at < 0 {
			continue
		}
		f, err := os.OpenFile(log, os.O_WRONLY, 0)
		require.NoError(t, err)
		_, err = f.WriteAt([]byte{data[at] ^ 1}, int64(at))
		require.NoError(t, err)
		require.NoError(t, f.Close())
		return
	}
	t.Fatal("no key of the cluster in etcd's log")
}
