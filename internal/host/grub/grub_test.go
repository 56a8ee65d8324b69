package grub

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hostcontract"
)

var _ host.OneTimeBoot = (*GRUB)(nil)

// coreOS is what matters of the configuration that CoreOS installs.
const coreOS = `load_env
if [ -f $prefix/user.cfg ]; then
  source $prefix/user.cfg
fi
blscfg
`

// node is a node's /boot in a folder. GRUB's part is played by start; test/boot has the real one.
type node struct {
	host.Deployments
	t    *testing.T
	root string
	all  []host.Deployment
	grub *GRUB
}

func newNode(t *testing.T, config string) *node {
	n := &node{t: t, root: t.TempDir(), all: []host.Deployment{{Stateroot: "old", Checksum: "aa", Booted: true, Default: true}}}
	n.write("boot/grub2/grub.cfg", config)
	n.mount("8:3", "ext4")
	n.grub = New(files.New(n.root), n)
	return n
}

func (n *node) write(name, text string) {
	file := filepath.Join(n.root, name)
	require.NoError(n.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(n.t, os.WriteFile(file, []byte(text), 0o600))
}

func (n *node) read(name string) string {
	data, err := os.ReadFile(filepath.Join(n.root, name))
	if err != nil {
		require.ErrorIs(n.t, err, os.ErrNotExist)
	}
	return string(data)
}

func (n *node) mount(device, kind string) {
	n.write("proc/1/mountinfo", "30 1 8:4 / / rw - xfs /dev/sda4 rw\n40 30 "+device+" / /boot rw - "+kind+" /dev/x rw\n")
}

func (n *node) List(context.Context) ([]host.Deployment, error) { return n.all, nil }

func (n *node) Entry(_ context.Context, d host.Deployment) (string, error) {
	if _, found := host.Find(n.all, d); !found {
		return "", errors.New("no entry")
	}
	return fmt.Sprintf("ostree-%d", len(n.all)-d.Index), nil
}

func (n *node) Clone(_ context.Context, stateroot string, _ ...string) (host.Deployment, error) {
	d := host.Deployment{Stateroot: stateroot, Checksum: "aa", Index: len(n.all)}
	n.all = append(n.all, d)
	return d, nil
}

// start does what the lines in user.cfg have GRUB do.
func (n *node) start(t *testing.T) string {
	const file = "boot/grub2/lca-once.env"
	data := n.read(file)
	if !strings.Contains(n.read("boot/grub2/user.cfg"), hook) || decodeBlock([]byte(data)) == "" {
		return n.all[0].Stateroot
	}
	require.Len(t, data, blockSize, "GRUB accepts no other size")
	n.write(file, string(encodeBlock("")))
	for _, d := range n.all {
		if name, _ := n.Entry(t.Context(), d); name == decodeBlock([]byte(data)) {
			return d.Stateroot
		}
	}
	return n.all[0].Stateroot
}

func TestContract(t *testing.T) {
	hostcontract.TestOneTimeBoot(t, func(t *testing.T) hostcontract.OneTimeBootFixture {
		n := newNode(t, coreOS)
		return hostcontract.OneTimeBootFixture{Once: n.grub, Deployments: n, Start: n.start}
	})
}

func TestUnusableIsExplained(t *testing.T) {
	for _, c := range []struct {
		name, config, want string
		change             func(*node)
	}{
		{"generated menu", "source $prefix/custom.cfg\nmenuentry x {\n}\n", "(blscfg)", nil},
		{"older CoreOS", "load_env\nblscfg\n", "reads neither custom.cfg nor user.cfg", nil},
		{"other boot loader", coreOS, "its boot loader is not GRUB", func(n *node) { require.NoError(n.t, os.RemoveAll(n.root+"/boot/grub2")) }},
		{"btrfs", coreOS, `file system of type "btrfs"`, func(n *node) { n.mount("0:30", "btrfs") }},
		{"LVM", coreOS, "mapped device (LVM)", func(n *node) {
			n.mount("253:0", "ext4")
			n.write("sys/dev/block/253:0/dm/uuid", "LVM-1234\n")
		}},
		{"RAID", coreOS, "software RAID", func(n *node) {
			n.mount("9:127", "ext4")
			n.write("sys/dev/block/9:127/md/level", "raid1\n")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			n := newNode(t, c.config)
			if c.change != nil {
				c.change(n)
			}
			require.ErrorContains(t, n.grub.Usable(t.Context()), c.want)
			require.ErrorContains(t, n.grub.Install(t.Context()), c.want)
			require.Empty(t, n.read("boot/grub2/user.cfg")+n.read("boot/grub2/custom.cfg")+n.read("boot/grub2/lca-once.env"))
		})
	}
}

func TestUsableOnWhatFirmwareShows(t *testing.T) {
	n := newNode(t, coreOS)
	n.mount("253:3", "xfs")
	n.write("sys/dev/block/253:3/dm/uuid", "part3-mpath-3600\n")
	require.NoError(t, n.grub.Usable(t.Context()), "firmware shows a path of it")
}

// TestAdditionsOfOthersStay: user.cfg may hold the password of the boot menu.
func TestAdditionsOfOthersStay(t *testing.T) {
	n := newNode(t, coreOS)
	const others = "set superusers=\"root\"\n"
	n.write("boot/grub2/user.cfg", others)
	require.NoError(t, n.grub.Install(t.Context()))
	require.Equal(t, others+hook, n.read("boot/grub2/user.cfg"))
	require.NoError(t, n.grub.Uninstall(t.Context()))
	require.Equal(t, others, n.read("boot/grub2/user.cfg"))
	n.write("boot/grub2/user.cfg", others+hookBegin+"lines of another version\n"+hookEnd+"set x=1\n")
	require.NoError(t, n.grub.Install(t.Context()))
	require.Equal(t, others+"set x=1\n"+hook, n.read("boot/grub2/user.cfg"))
}

func TestTheFileThatIsReadLastIsChosen(t *testing.T) {
	c, err := parseConfig("/boot/grub2", coreOS+"if [ -f $prefix/custom.cfg ]; then\n  source \"$prefix/custom.cfg\"\nfi\n")
	require.NoError(t, err)
	require.Equal(t, "/boot/grub2/custom.cfg", c.hookFile())
}

// TestTheChoiceIsInOneSector: disks write a sector whole, so a power cut leaves the former or the new choice.
func TestTheChoiceIsInOneSector(t *testing.T) {
	block := encodeBlock(strings.Repeat("x", 200))
	require.Len(t, block, blockSize)
	require.Less(t, slices.Index(block[len(blockHead):], '\n')+len(blockHead), 512)
}
