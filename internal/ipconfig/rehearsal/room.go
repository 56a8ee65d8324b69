package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// spareDisk is what a rehearsal leaves free, whatever it takes: the cluster that runs writes to the same disk.
const spareDisk = 2 << 30

// requireDisk does not copy what would fill the disk of the cluster. etcd's data counts twice: recert writes to the copy.
func (h *rehearsal) requireDisk(ctx context.Context) error {
	need := int64(spareDisk)
	for path, times := range map[string]int64{"/etc": 1, host.EtcdData: 2, "/var/lib/kubelet": 1, "/var/lib/kubelet/pods": -1} {
		used, err := h.Trees.Usage(ctx, path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("measure what is copied: %w", err)
		}
		need += times * used.Bytes
	}
	free, err := h.Trees.Free(host.StateDir)
	if err != nil {
		return fmt.Errorf("measure free space below %s: %w", host.StateDir, err)
	}
	if free.Bytes < need {
		const why = "a copy needs %d MiB of disk, of which 2048 stay free, and %d MiB are free"
		return &unprovedError{fmt.Sprintf(why, need>>20, free.Bytes>>20)}
	}
	return nil
}

// memoryNeeded is what etcd and kube-apiserver of a single-node cluster take together. The node's own must not lose a page to them.
const memoryNeeded = 3 << 30

// requireMemory does not start what would take memory from the cluster.
func (c *controlPlane) requireMemory() error {
	text, err := c.Files.Read("/proc/meminfo")
	if err != nil {
		return &unprovedError{"the node does not say how much memory is available: " + err.Error()}
	}
	for line := range strings.Lines(string(text)) {
		var kib int64
		if _, err := fmt.Sscanf(line, "MemAvailable: %d kB", &kib); err == nil {
			if kib<<10 < memoryNeeded {
				const why = "%d MiB of memory are available, and a second control plane needs %d MiB beside the cluster"
				return &unprovedError{fmt.Sprintf(why, kib>>10, memoryNeeded>>20)}
			}
			return nil
		}
	}
	return &unprovedError{"the node does not say how much memory is available"}
}
