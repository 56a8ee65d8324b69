#!/usr/bin/env bash
# root.sh ROOT: a Debian tree with NetworkManager, pytest and the programs that upstream's suite runs, made once.
# It is the root that NetworkManager and the suite see (NMTEST_ROOT); nothing of it is installed on this machine.
set -euo pipefail
[ $# -eq 1 ] || { echo "usage: $0 ROOT" >&2; exit 2; }
root=$1
packages=network-manager,iproute2,dbus-daemon,openvswitch-switch,python3-pytest,python3-yaml,dnsmasq-base,radvd,procps,ethtool
packages=$packages,iputils-ping,tcpreplay,hostname,ca-certificates
suite=bookworm

[ ! -e "$root.done" ] || exit 0
if [ "$(id -u)" != 0 ] || ! command -v mmdebstrap >/dev/null; then
  echo "nmstate: no tree for the suite: that needs root and mmdebstrap" >&2
  exit 0
fi
rm -rf --one-file-system "$root"
mkdir -p "$(dirname "$root")"
mmdebstrap --mode=root --variant=apt --format=directory --components=main --include="$packages" "$suite" "$root" \
  >"$root.log" 2>&1 || { tail -n 5 "$root.log" >&2; exit 1; }
mkdir -p "$root/lib/modules"
touch "$root.done"
