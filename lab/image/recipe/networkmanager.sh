#!/bin/bash
# networkmanager.sh OUT: rebuild Debian's NetworkManager with its Open vSwitch plugin.
# Why: Debian builds NetworkManager without OVS, and the plugin alone cannot be added afterwards, because the daemon
# exports only the symbols that the plugins of its own build use. So daemon and plugin are rebuilt from the very
# same source package, in a chroot that is thrown away; everything else (nmcli, libnm, dispatcher) stays Debian's.
set -euo pipefail
RECIPE=$(dirname "$(readlink -f "$0")")
# shellcheck source=host.sh
. "$RECIPE/host.sh"
OUT=${1:?usage: networkmanager.sh OUT}

BUILD_DEPENDS=build-essential,dpkg-dev,meson,ninja-build,pkg-config,gettext,intltool,perl,python3,xsltproc
BUILD_DEPENDS+=,dbus,systemd-dev,libglib2.0-bin,libglib2.0-dev,libdbus-1-dev,libsystemd-dev,libudev-dev,libndp-dev
BUILD_DEPENDS+=,libjansson-dev,libcurl4-gnutls-dev,uuid-dev,libgnutls28-dev,libaudit-dev,libreadline-dev
BUILD_DEPENDS+=,mobile-broadband-provider-info

need mmdebstrap ca-certificates
use_mirrors
CHROOT=$(mktemp -d "$OUT.chroot.XXXX")
cleanup() {
  umount -q --lazy "$CHROOT/proc" || true # a program that walks the tree may be in it
  rm -rf --one-file-system "$CHROOT"
}
trap cleanup EXIT

mmdebstrap --mode=root --variant=apt --components=main --include="$BUILD_DEPENDS" \
  --aptopt='APT::Install-Recommends "false"' "$SUITE" "$CHROOT" - < <(sources source)
cp /etc/resolv.conf "$CHROOT/etc/resolv.conf"
mount -t proc proc "$CHROOT/proc"          # the version-script step of the build reads /proc and /dev/fd
ln -sfn /proc/self/fd "$CHROOT/dev/fd"
chroot "$CHROOT" bash -euxc '
  apt-get update -q
  mkdir -p /src && cd /src && apt-get source -q network-manager && cd network-manager-*/
  meson setup build --prefix=/usr --sysconfdir=/etc --localstatedir=/var --libdir=lib/x86_64-linux-gnu \
    --libexecdir=lib/NetworkManager --buildtype=plain -Db_lto=false -Dld_gc=false \
    -Dovs=true -Dconcheck=true -Dsystemd_journal=true -Dsession_tracking=systemd -Dsuspend_resume=systemd \
    -Dcrypto=gnutls -Dreadline=libreadline -Dconfig_plugins_default=keyfile \
    -Dintrospection=false -Ddocs=false -Dtests=no -Dppp=false -Dmodem_manager=false -Dbluez5_dun=false -Dwifi=false \
    -Diwd=false -Dofono=false -Dteamdctl=false -Dselinux=false -Dpolkit=false -Dnmtui=false -Dnmcli=false \
    -Dnm_cloud_setup=false -Dlibpsl=false -Dqt=false -Dvapi=false -Difupdown=false -Dresolvconf=no -Dnetconfig=no \
    -Ddhclient=no -Ddhcpcd=no -Debpf=false
  ninja -C build src/core/NetworkManager src/core/devices/ovs/libnm-device-plugin-ovs.so
'
mkdir -p "$OUT"
cp "$CHROOT"/src/network-manager-*/build/src/core/NetworkManager \
  "$CHROOT"/src/network-manager-*/build/src/core/devices/ovs/libnm-device-plugin-ovs.so "$OUT/"
for f in "$OUT"/*; do
  cp "$f" "$CHROOT/tmp/strip"
  chroot "$CHROOT" strip /tmp/strip
  cp "$CHROOT/tmp/strip" "$f"
done
