#!/bin/bash
# sysroot.sh OUT: the node's file system as a directory, for the nspawn machine. Inputs: ROOTFS, COMMIT.
set -euo pipefail
RECIPE=$(dirname "$(readlink -f "$0")")
# shellcheck source=host.sh
. "$RECIPE/host.sh"
# shellcheck source=ostree.sh
. "$RECIPE/ostree.sh"
OUT=${1:?usage: sysroot.sh OUT}

need systemd-container iproute2 util-linux
mkdir -p "$OUT/boot"
make_sysroot "$OUT" none "${NODE_KARGS[@]}"
