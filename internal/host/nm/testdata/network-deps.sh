#!/bin/sh
# network-deps.sh PREFIX: put NetworkManager and Open vSwitch for the network tests
# below PREFIX/root. Debian and Ubuntu packages are downloaded and unpacked, not
# installed: no service starts, nothing outside PREFIX changes. What is
# already installed on the machine is not fetched; the tests then use that.
set -eu
[ $# -eq 1 ] || { echo "usage: $0 PREFIX" >&2; exit 2; }
prefix=$1
packages="network-manager openvswitch-switch iproute2 dbus-daemon wpasupplicant hostapd"

if [ -e "$prefix/done" ]; then exit 0; fi
if ! command -v apt-get >/dev/null; then
    echo "network-deps: no apt-get here; install NetworkManager, Open vSwitch, iproute2 and dbus-daemon by hand" >&2
    exit 1
fi
mkdir -p "$prefix/debs/partial" "$prefix/root"
prefix=$(cd "$prefix" && pwd) # apt takes a relative folder to be below its own
fetch() {
    # shellcheck disable=SC2086 # a list of words
    apt-get install --download-only -y -qq --no-install-recommends \
        -o Debug::NoLocking=true -o "Dir::Cache::archives=$prefix/debs" $packages >"$prefix/apt.log" 2>&1
}
fetch || { apt-get update -qq >>"$prefix/apt.log" 2>&1 && fetch; } || {
    echo "network-deps: apt-get failed:" >&2; tail -n 5 "$prefix/apt.log" >&2; exit 1
}
for deb in "$prefix"/debs/*.deb; do
    [ -e "$deb" ] || continue
    dpkg-deb -x "$deb" "$prefix/root"
done
rm -rf "$prefix/debs"
touch "$prefix/done"
