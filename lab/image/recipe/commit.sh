#!/bin/bash
# commit.sh OUT: Debian tree + rebuilt NetworkManager + node configuration -> one ostree commit (OUT/repo, ref lab/node).
# Inputs by environment: ROOTFS, NETWORKMANAGER (results of those steps), OVERLAY (files of the node's own configuration).
set -euo pipefail
RECIPE=$(dirname "$(readlink -f "$0")")
# shellcheck source=host.sh
. "$RECIPE/host.sh"
# shellcheck source=ostree.sh
. "$RECIPE/ostree.sh"
OUT=${1:?usage: commit.sh OUT}
TREE=$OUT/tree

mkdir -p "$OUT"
trap 'rm -rf --one-file-system "$TREE"' EXIT
cp -a --reflink=auto "$ROOTFS" "$TREE"

# --- NetworkManager: the other device plugins belong to Debian's daemon and do not fit the rebuilt one
plugins=$(find "$TREE/$LIBDIR/NetworkManager" -name 'libnm-device-plugin-*.so' -printf '%h\n' -quit)
rm -f "$plugins"/*.so
install -m 644 "$NETWORKMANAGER/libnm-device-plugin-ovs.so" "$plugins/"
install -m 755 "$NETWORKMANAGER/NetworkManager" "$TREE/usr/sbin/NetworkManager"
if chroot "$TREE" ldd /usr/sbin/NetworkManager | grep 'not found'; then fail "the rebuilt NetworkManager misses libraries"; fi
rm -f "$TREE"/etc/NetworkManager/dispatcher.d/*ifupdown

# --- node configuration: programs are 755, all else 644
cp -r --no-preserve=mode,ownership "$OVERLAY/." "$TREE/"
(cd "$OVERLAY" && find . -type f \( -path './usr/local/bin/*' -o -path './usr/libexec/*' -o -path '*/dispatcher.d/*' \)) |
  while read -r f; do chmod 755 "$TREE/$f"; done
mkdir -p "$TREE/etc/dnsmasq.d" "$TREE/var/log/journal"
chroot "$TREE" systemctl -q set-default multi-user.target
chroot "$TREE" systemctl -q enable dnsmasq.service nodeip-configuration.service ovs-configuration.service
chroot "$TREE" systemctl -q disable containerd.service # only a node with the real kubelet wants it
chroot "$TREE" systemctl -q mask systemd-firstboot.service apt-daily.timer apt-daily-upgrade.timer dpkg-db-backup.timer \
  fstrim.timer e2scrub_all.timer e2scrub_reap.service podman-auto-update.timer podman.socket podman-restart.service \
  netavark-dhcp-proxy.socket netavark-dhcp-proxy.service
chroot "$TREE" passwd -qd root                    # console login of a throw-away test node

# The tree is delivered complete: nothing of these has to be made anew at the first boot (a minute under emulation).
chroot "$TREE" systemctl -q mask ldconfig.service systemd-hwdb-update.service systemd-journal-catalog-update.service

# --- Debian layout -> ostree layout: kernel beside its modules, /etc -> /usr/etc, state -> /var
cd "$TREE"
kernel=$(basename usr/lib/modules/*)
mv "boot/vmlinuz-$kernel" "usr/lib/modules/$kernel/vmlinuz"
mv "boot/initrd.img-$kernel" "usr/lib/modules/$kernel/initramfs.img"
rm -rf boot dev proc sys run sysroot tmp initrd.img* vmlinuz* lost+found
mkdir boot dev proc sys run sysroot
mkdir -m 1777 tmp
ln -s sysroot/ostree ostree
rm -f etc/resolv.conf
: > etc/machine-id
rm -rf var/cache/apt/* var/lib/apt/lists/* home mnt srv opt media
mv root var/roothome
mv usr/local var/usrlocal
mkdir -p var/home var/mnt var/srv var/opt
for d in home mnt srv opt; do ln -s "var/$d" "$d"; done
ln -s var/roothome root
ln -s run/media media
ln -s ../var/usrlocal usr/local
mkdir -p usr/share/factory                        # what a new stateroot's /var starts from
mv var usr/share/factory/var
mkdir var
mv etc usr/etc
cd /

node_ostree init --repo="$OUT/repo" --mode=bare
node_ostree commit --repo="$OUT/repo" -b "$REF" --tree=dir="$TREE" -s 'lab node' --add-metadata-string=version=1.0
