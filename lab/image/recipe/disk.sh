#!/bin/bash
# disk.sh OUT: OUT/disk.img, a disk that a BIOS boots: MBR + extlinux, /boot and / on ext4. Inputs: ROOTFS, COMMIT.
# extlinux reads old-style ext4 only, hence the feature list of /boot.
set -euo pipefail
RECIPE=$(dirname "$(readlink -f "$0")")
# shellcheck source=host.sh
. "$RECIPE/host.sh"
# shellcheck source=ostree.sh
. "$RECIPE/ostree.sh"
OUT=${1:?usage: disk.sh OUT}

SECTOR=512
BOOT_START=2048 BOOT_SECTORS=614400                   # 300 MiB: kernel + initramfs of two stateroots
ROOT_START=$((BOOT_START + BOOT_SECTORS))
DISK=$OUT/disk.img
MOUNT=$OUT/mnt

need qemu-system-x86 seabios extlinux syslinux-common fdisk e2fsprogs iproute2
mkdir -p "$MOUNT"
truncate -s 6G "$DISK"
printf 'label: dos\nstart=%d, size=%d, type=83, bootable\nstart=%d, type=83\n' \
  $BOOT_START $BOOT_SECTORS $ROOT_START | sfdisk -q "$DISK"

boot_dev='' root_dev=''
cleanup() {
  umount -q "$MOUNT/boot" || true
  umount -q "$MOUNT" || true
  for d in $boot_dev $root_dev; do losetup -d "$d" || true; done
}
trap cleanup EXIT
boot_dev=$(losetup -f --show -o $((BOOT_START * SECTOR)) --sizelimit $((BOOT_SECTORS * SECTOR)) "$DISK")
root_dev=$(losetup -f --show -o $((ROOT_START * SECTOR)) "$DISK")
mkfs.ext4 -q -L boot -O ^64bit,^metadata_csum "$boot_dev"
mkfs.ext4 -q -L root "$root_dev"
mount "$root_dev" "$MOUNT"
mkdir "$MOUNT/boot"
mount "$boot_dev" "$MOUNT/boot"

make_sysroot "$MOUNT" syslinux "${NODE_KARGS[@]}"
extlinux --install "$MOUNT/boot/syslinux"
dd if=/usr/lib/EXTLINUX/mbr.bin of="$DISK" conv=notrunc bs=440 count=1 status=none
cleanup
trap - EXIT
rmdir "$MOUNT"
