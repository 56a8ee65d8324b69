package volumes_test

import (
	"context"
	"encoding/binary"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/volumes"
)

var le = binary.LittleEndian

// hostileImage is a made-up image, and why it is not read.
type hostileImage struct {
	name, kind, says string
	data             []byte
}

const (
	damaged = "the filesystem is damaged"
	tooMany = "the volume holds too many files"
)

// fat16 is an image with clusters of 64 KiB, of which table gives the entries of the table from cluster 2 on.
func fat16(table []uint16, root ...[]byte) []byte {
	const sector, perCluster, clusters, tableSectors, rootEntries = 512, 128, 5000, 20, 512
	const data = (1+tableSectors)*sector + rootEntries*32
	b := make([]byte, data+(len(table)+2)*perCluster*sector)
	b[0], b[510], b[511] = 0xeb, 0x55, 0xaa
	le.PutUint16(b[11:], sector)
	b[13] = perCluster
	le.PutUint16(b[14:], 1)
	b[16], b[21] = 1, 0xf8
	le.PutUint16(b[17:], rootEntries)
	le.PutUint16(b[22:], tableSectors)
	le.PutUint32(b[32:], data/sector+clusters*perCluster)
	for n, next := range table {
		le.PutUint16(b[sector+2*(n+2):], next)
	}
	for n, e := range root {
		copy(b[(1+tableSectors)*sector+32*n:], e)
	}
	return b
}

// dirEntry is an entry of a folder; attribute 0x10 is for folders.
func dirEntry(name string, attribute byte, first uint16, size uint32) []byte {
	e := make([]byte, 32)
	copy(e, (name + "           ")[:11])
	e[11] = attribute
	le.PutUint16(e[26:], first)
	le.PutUint32(e[28:], size)
	return e
}

// manyFolders are root's entries, all of them folders on the same cluster.
func manyFolders(n int) (out [][]byte) {
	for i := range n {
		out = append(out, dirEntry("D"+string(rune('A'+i/26%26))+string(rune('A'+i%26)), 0x10, 2, 0))
	}
	return out
}

// isoFolders is an image of ISO9660 whose root lists itself under another name, again and again.
func isoFolders() []byte {
	b := make([]byte, 24*2048)
	d := b[16*2048:]
	d[0] = 1
	copy(d[1:], "CD001")
	record := func(at []byte, name string) int {
		length := 34 + len(name) - len(name)%2
		at[0], at[25], at[32] = byte(length), 2, byte(len(name))
		le.PutUint32(at[2:], 20)
		le.PutUint32(at[10:], 2048)
		copy(at[33:], name)
		return length
	}
	record(d[156:], "\x00")
	b[17*2048] = 255
	for at := 20 * 2048; at < 21*2048-40; {
		at += record(b[at:], "LOOP")
	}
	return b
}

// full fills a cluster of an image of fat16 with entries that are not the end of the folder.
func full(b []byte, cluster int) []byte {
	const data = (1+20)*512 + 512*32
	part := b[data+(cluster-2)*64<<10:][:64<<10]
	for at := 0; at < len(part); at += 32 {
		copy(part[at:], dirEntry("X", 0x08, 0, 0))
	}
	return b
}

func hostileImages() []hostileImage {
	own := fat16([]uint16{0xffff}, dirEntry("D", 0x10, 2, 0))
	copy(own[(1+20)*512+512*32:], dirEntry("D", 0x10, 2, 0)) // the folder holds itself
	return []hostileImage{
		{"nothing", "vfat", damaged, make([]byte, 512)},
		{"no size of a sector", "vfat", damaged, append(append(make([]byte, 510), 0x55, 0xaa), make([]byte, 2048)...)},
		{"folders on one chain", "vfat", damaged, fat16([]uint16{0xffff}, manyFolders(500)...)},
		{"a folder in itself", "vfat", damaged, own},
		{"a chain of one cluster that is its own next", "vfat", damaged, full(fat16([]uint16{2}, dirEntry("D", 0x10, 2, 0)), 2)},
		{"a chain that comes back", "vfat", damaged,
			full(full(full(fat16([]uint16{3, 4, 3}, dirEntry("D", 0x10, 2, 0)), 2), 3), 4)},
		{"a file whose chain comes back", "vfat", damaged, fat16([]uint16{3, 4, 3}, dirEntry("F", 0, 2, 8<<20))},
		{"a file that is shorter than it says", "vfat", damaged, fat16([]uint16{0xffff}, dirEntry("F", 0, 2, 8<<20))},
		{"folders of an ISO in themselves", "iso9660", damaged, isoFolders()},
	}
}

// allocated is how much fn allocates.
func allocated(fn func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	fn()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

// What a stick can cost is bounded, whatever it says it holds: a node looks at each that is plugged in.
func TestAHostileStickIsRefusedAndCostsLittle(t *testing.T) {
	for _, c := range hostileImages() {
		t.Run(c.name, func(t *testing.T) {
			cost := allocated(func() { require.ErrorContains(t, volumes.ReadOne(t.Context(), c.kind, c.data), c.says) })
			require.Less(t, cost, uint64(128<<20))
			_, _ = volumes.ReadImage(t.Context(), c.data)
		})
	}
}

func TestFilesOfAStickAreReadUpToABoundInAll(t *testing.T) {
	var table []uint16
	for n := range uint16(400) {
		table = append(table, n+3)
	}
	table[399] = 0xffff
	var files [][]byte
	for _, name := range []string{"A", "B", "C"} { // three files of 25 MiB, on the same clusters
		files = append(files, dirEntry(name, 0, 2, 25<<20))
	}
	image := fat16(table, files...)
	require.NoError(t, volumes.ReadOne(t.Context(), "vfat", fat16(table, files[:2]...)))
	require.ErrorContains(t, volumes.ReadOne(t.Context(), "vfat", image), tooMany)
}

func TestAStickIsNotReadOnWhenItsContextHasEnded(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	require.ErrorIs(t, volumes.ReadOne(ctx, "vfat", fat16([]uint16{0xffff}, dirEntry("F", 0, 2, 100))), context.Canceled)
}

// A folder ends at its mark, so that many small ones fit, also where clusters are large.
func TestManyFoldersAreNoHostility(t *testing.T) {
	const folders = 400
	table := make([]uint16, folders)
	var root [][]byte
	for n := range table {
		table[n] = 0xffff
		e := manyFolders(n + 1)[n]
		le.PutUint16(e[26:], uint16(n+2))
		root = append(root, e)
	}
	cost := allocated(func() { require.NoError(t, volumes.ReadOne(t.Context(), "vfat", fat16(table, root...))) })
	require.Less(t, cost, uint64(64<<20)) // most of it is the image itself
}
