#!/usr/bin/env bash
# kernel.sh KERNEL: Debian's User Mode Linux below KERNEL, unpacked and not installed: a kernel with bonds, VLANs, VRFs, dummies
# and bridges that filter VLANs, for a machine whose own has none of them (docs/interop.md).
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 KERNEL" >&2; exit 2; }
[ ! -e "$1/done" ] || exit 0
mkdir -p "$1"
cd "$1"
fetch() { apt-get download -qq user-mode-linux; }
fetch || { apt-get update -qq && fetch; }
dpkg-deb -x user-mode-linux_*.deb .
rm user-mode-linux_*.deb
touch done
