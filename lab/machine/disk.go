package machine

import (
	"context"
	"encoding/binary"
	"fmt"
	"os"
	"os/exec"
	"strings"
)

// Layout of a master boot record: four 16-byte partition entries from byte 446, each with its first sector and its number
// of sectors as little-endian 32-bit numbers at 8 and 12.
const (
	sectorSize     = 512
	partitionTable = 446
	partitionEntry = 16
)

// MountDisk mounts the second partition (the root file system) of a disk image on a directory, for a machine that is off.
// The returned function unmounts it and removes the directory.
func MountDisk(ctx context.Context, disk, dir string) (unmount func() error, err error) {
	start, size, err := partition(disk, 2)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, err
	}
	options := fmt.Sprintf("loop,offset=%d,sizelimit=%d", start, size)
	if out, err := exec.CommandContext(ctx, "mount", "-o", options, disk, dir).CombinedOutput(); err != nil {
		return nil, fmt.Errorf("mount %s: %w: %s", disk, err, strings.TrimSpace(string(out)))
	}
	return func() error {
		// Without ctx: what is mounted must go, interrupted or not.
		if out, err := exec.Command("umount", dir).CombinedOutput(); err != nil {
			return fmt.Errorf("unmount %s: %w: %s", dir, err, strings.TrimSpace(string(out)))
		}
		return os.Remove(dir)
	}, nil
}

// partition returns where a primary partition (1 to 4) lies in a disk image, in bytes.
func partition(disk string, number int) (start, size int64, err error) {
	file, err := os.Open(disk)
	if err != nil {
		return 0, 0, err
	}
	defer file.Close()
	entry := make([]byte, partitionEntry)
	if _, err := file.ReadAt(entry, int64(partitionTable+(number-1)*partitionEntry)); err != nil {
		return 0, 0, fmt.Errorf("read partition table of %s: %w", disk, err)
	}
	start = int64(binary.LittleEndian.Uint32(entry[8:])) * sectorSize
	size = int64(binary.LittleEndian.Uint32(entry[12:])) * sectorSize
	if size == 0 {
		return 0, 0, fmt.Errorf("%s has no partition %d", disk, number)
	}
	return start, size, nil
}
