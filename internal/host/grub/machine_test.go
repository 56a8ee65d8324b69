package grub

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// machine is a PC with UEFI firmware and a GRUB of its own, emulated. Its disk has an EFI partition, and a /boot with the entries of
// two systems, each of which is a kernel with one small program.
type machine struct {
	t    *testing.T
	dir  string
	boot string // where /boot is mounted while it is off
}

const (
	firmware    = "/usr/share/OVMF/OVMF_CODE_4M.fd"
	firmwareVar = "/usr/share/OVMF/OVMF_VARS_4M.fd"
	bootStart   = 65 << 20
	bootSize    = 100 << 20
	// bootLimit is generous: without KVM, beside other work, a boot takes a minute.
	bootLimit = 10 * time.Minute
)

// initScript prints which system runs and then does what its kernel argument says.
const initScript = `#!/bin/busybox sh
/bin/busybox mkdir -p /proc /dev
/bin/busybox mount -t proc p /proc
/bin/busybox mount -t devtmpfs d /dev
for word in $(/bin/busybox cat /proc/cmdline); do
  case $word in system=*) system=${word#*=} ;; then=*) act=${word#*=} ;; esac
done
echo "STARTED $system" >/dev/ttyS0
case $act in
panic) echo c >/proc/sysrq-trigger ;;
hang) while :; do /bin/busybox sleep 60; done ;;
*) /bin/busybox poweroff -f ;;
esac
`

// newMachine makes the disk. old and fresh are what the two systems do when they have started.
func newMachine(t *testing.T, config, fresh string) *machine {
	t.Helper()
	modules, kernel := os.Getenv("LCA_GRUB_MODULES"), os.Getenv("LCA_BOOT_KERNEL")
	if modules == "" || kernel == "" {
		t.Skip("reason: boots an emulated PC; `make test-boot` sets LCA_GRUB_MODULES and LCA_BOOT_KERNEL")
	}
	m := &machine{t: t, dir: t.TempDir()}
	m.boot = filepath.Join(m.dir, "root/boot")
	tree := filepath.Join(m.dir, "tree")
	m.write("tree/grub2/grub.cfg", config)
	for i, system := range []string{"new", "old"} {
		act := "off"
		if system == "new" {
			act = fresh
		}
		m.write(fmt.Sprintf("tree/loader.1/entries/ostree-%d.conf", i+1), fmt.Sprintf(
			"title %s (ostree:%d)\nversion %d\nlinux /vmlinuz\ninitrd /initramfs\noptions console=ttyS0 panic=1 system=%s then=%s\n",
			system, 1-i, i+1, system, act))
	}
	require.NoError(t, os.Symlink("loader.1", filepath.Join(tree, "loader")))
	m.run("cp", kernel, filepath.Join(tree, "vmlinuz"))
	m.run("mkdir", "-p", filepath.Join(m.dir, "initramfs/bin"), m.boot)
	m.run("cp", "/bin/busybox", filepath.Join(m.dir, "initramfs/bin/"))
	m.write("initramfs/init", initScript)
	m.run("chmod", "755", filepath.Join(m.dir, "initramfs/init"))
	m.run("sh", "-c", "cd initramfs && find . | cpio --quiet -o -H newc >../tree/initramfs")
	m.write("stub.cfg", "search --label boot --set prefix --no-floppy\nset prefix=($prefix)/grub2\nconfigfile $prefix/grub.cfg\n")
	m.run(strings.Fields("grub-mkimage -O x86_64-efi -p /grub2 -c stub.cfg -o BOOTX64.EFI -d " + modules +
		" part_gpt ext2 fat normal configfile search search_label linux test loadenv echo all_video serial terminal blsuki reboot halt")...)
	for _, line := range []string{
		"truncate -s 64M esp", "mkfs.vfat -n EFI esp", "mmd -i esp ::EFI ::EFI/BOOT", "mcopy -i esp BOOTX64.EFI ::EFI/BOOT/",
		"truncate -s 100M boot", "mke2fs -q -t ext4 -L boot -d tree boot", "truncate -s 180M disk",
		"dd if=esp of=disk bs=1M seek=1 conv=notrunc status=none", "dd if=boot of=disk bs=1M seek=65 conv=notrunc status=none",
		"cp " + firmwareVar + " variables",
	} {
		m.run(strings.Fields(line)...)
	}
	m.run("sh", "-c", `printf 'label: gpt\nstart=2048,size=131072,type=U\nstart=133120,size=204800\n' | sfdisk -q disk`)
	m.write("root/proc/1/mountinfo", "30 1 8:4 / / rw - xfs /dev/a rw\n40 30 8:3 / /boot rw - ext4 /dev/b rw\n")
	return m
}

func (m *machine) write(name, text string) {
	file := filepath.Join(m.dir, name)
	require.NoError(m.t, os.MkdirAll(filepath.Dir(file), 0o755))
	require.NoError(m.t, os.WriteFile(file, []byte(text), 0o600))
}

func (m *machine) run(argv ...string) {
	m.t.Helper()
	command := exec.CommandContext(m.t.Context(), argv[0], argv[1:]...)
	command.Dir = m.dir
	out, err := command.CombinedOutput()
	require.NoError(m.t, err, "%v: %s", argv, out)
}

// whileOff mounts /boot, for what the node's programs do there.
func (m *machine) whileOff(do func()) {
	m.t.Helper()
	m.run("mount", "-o", fmt.Sprintf("loop,offset=%d,sizelimit=%d", bootStart, bootSize), filepath.Join(m.dir, "disk"), m.boot)
	defer m.run("umount", m.boot)
	do()
}

// start powers the machine on and returns which systems have started when it is off again. Where until is not empty the power is
// cut as soon as the console says that.
func (m *machine) start(until string) (started []string) {
	m.t.Helper()
	ctx, cancel := context.WithTimeout(m.t.Context(), bootLimit)
	defer cancel()
	console := filepath.Join(m.dir, "console")
	require.NoError(m.t, os.WriteFile(console, nil, 0o600))
	qemu := exec.CommandContext(ctx, "qemu-system-x86_64", strings.Fields("-nodefaults -display none -monitor none -machine q35 "+
		"-accel tcg -cpu max -m 512 -drive if=pflash,format=raw,unit=0,readonly=on,file="+firmware+
		" -drive if=pflash,format=raw,unit=1,file=variables -drive file=disk,format=raw,if=virtio -serial file:console")...)
	qemu.Dir = m.dir
	require.NoError(m.t, qemu.Start())
	off := make(chan error, 1)
	go func() { off <- qemu.Wait() }()
	tick := time.NewTicker(200 * time.Millisecond)
	defer tick.Stop()
	for done := false; !done; {
		select {
		case err := <-off:
			require.NoError(m.t, err, "the machine goes off by itself within %s", bootLimit)
			done = true
		case <-tick.C:
			if until != "" && strings.Contains(m.console(), until) {
				require.NoError(m.t, qemu.Process.Kill())
				<-off
				done = true
			}
		}
	}
	for line := range strings.Lines(m.console()) {
		if _, system, found := strings.Cut(line, "STARTED "); found {
			started = append(started, strings.TrimSpace(system))
		}
	}
	m.t.Logf("started: %v", started)
	return started
}

func (m *machine) console() string {
	data, err := os.ReadFile(filepath.Join(m.dir, "console"))
	require.NoError(m.t, err)
	return string(data)
}
