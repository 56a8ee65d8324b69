package change_test

import (
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// split is a node on which some folders are file systems of their own.
type split struct {
	host.Files
	apart []string
}

type onDevice struct {
	fs.FileInfo
	device uint64
}

func (d onDevice) Sys() any { return &syscall.Stat_t{Dev: d.device} }

func (s split) Stat(path string) (fs.FileInfo, error) {
	info, err := s.Files.Stat(path)
	if err != nil {
		return nil, err
	}
	if slices.Contains(s.apart, path) {
		return onDevice{info, 2}, nil
	}
	return onDevice{info, 1}, nil
}

// TestPrePivotRefusesBeforeAnythingIsTouched makes requests that cannot be carried out: nothing is deployed or
// stopped for them, and the next request goes through.
func TestPrePivotRefusesBeforeAnythingIsTouched(t *testing.T) {
	for _, c := range []struct {
		name    string
		arrange func(*world)
		repair  func(*world)
		says    string
	}{
		{"full disk", func(w *world) { w.node.SetFree(60 << 20) }, func(w *world) { w.node.SetFree(1 << 40) },
			"needs 64 MiB more and 59 MiB are free below /ostree/deploy: free 5 MiB, then ask again"},
		{"full /boot", func(w *world) {
			require.NoError(w.t, w.node.Seed(host.BootKernels+"/rhcos-c0/initramfs", make([]byte, 90<<20)))
			w.node.SetFree(80 << 20)
		}, func(w *world) { w.node.SetFree(1 << 40) }, "its kernel with initramfs needs 90 MiB more and 79 MiB are free below /boot"},
		{"no image", func(w *world) { w.post.RecertImage = "--privileged" }, func(w *world) { w.post.RecertImage = "" },
			"recert cannot run in \"--privileged\", which is not a pull specification"},
		{"an image that no registry has", func(w *world) { w.post.RecertImage = "quay.io/x/absent:1" }, func(w *world) { w.post.RecertImage = "" },
			"pull image quay.io/x/absent:1"},
		{"etcd on a disk of its own", func(w *world) { w.apart = []string{host.EtcdData} }, func(w *world) { w.apart = nil },
			"/var/lib/etcd is a file system of its own"},
		{"recert that cannot do it", func(w *world) {
			w.forecaster = foresight{blocked: []string{"secrets: 3 stored objects are encrypted at rest"}}
		},
			func(w *world) { w.forecaster = nil }, "recert cannot rewrite the cluster: secrets: 3 stored objects are encrypted at rest"},
		{"old ostree", func(w *world) { w.node.SetDefaultUnsupported(errors.New("no set-default")) },
			func(w *world) { w.node.SetDefaultUnsupported(nil) }, "no set-default"},
	} {
		t.Run(c.name, func(t *testing.T) {
			w := newWorld(t)
			c.arrange(w)
			w.node.ForgetOps()
			require.NoError(t, w.Live(nil))
			require.NotEmpty(t, w.node.Failures())
			require.ErrorContains(t, w.node.Failures()[0], c.says)
			for _, op := range w.node.Ops() {
				require.False(t, strings.HasPrefix(op.Name, "deployments.") || op.Name == "units.stop" || op.Name == "units.mask", op)
			}
			require.Len(t, w.node.Describe().Stateroots, 1)
			c.repair(w)
			require.NoError(t, w.Again())
		})
	}
}
