#!/bin/bash
# rootfs.sh OUT: a plain Debian tree with the node's packages, kernel and initramfs.
# Why apart from the node's own configuration: this is the slow, network-bound step, and it changes rarely.
set -euo pipefail
RECIPE=$(dirname "$(readlink -f "$0")")
# shellcheck source=host.sh
. "$RECIPE/host.sh"
OUT=${1:?usage: rootfs.sh OUT}

[ "$(dpkg --print-architecture)" = amd64 ] || fail "the lab node is built for amd64 only (BIOS disk, cloud kernel)"
need mmdebstrap ca-certificates
use_mirrors
PACKAGES=$(sed -e 's/#.*//' -e '/^[[:space:]]*$/d' "$RECIPE/packages.txt" | paste -sd,)

# dracut runs when the kernel package is configured, so its configuration must be there before.
# shellcheck disable=SC2016 # "$1" is the hook's argument
mmdebstrap --mode=root --variant=apt --format=directory --components=main --include="$PACKAGES" \
  --aptopt='APT::Install-Recommends "false"' \
  --dpkgopt='path-exclude=/usr/share/man/*' --dpkgopt='path-exclude=/usr/share/doc/*' \
  --dpkgopt='path-exclude=/usr/share/locale/*' \
  --essential-hook='mkdir -p "$1/etc/dracut.conf.d"' \
  --essential-hook="upload '$RECIPE/dracut.conf' /etc/dracut.conf.d/50-node.conf" \
  "$SUITE" "$OUT" - < <(sources binary)
ls "$OUT"/boot/vmlinuz-* "$OUT"/boot/initrd.img-* >/dev/null || fail "the tree has no kernel or no initramfs"
