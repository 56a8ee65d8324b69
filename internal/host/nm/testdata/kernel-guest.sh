#!/bin/bash
# kernel-guest.sh NETWORK OUT PATTERN: run the tests of internal/host/nm that match PATTERN in an emulated machine with
# Debian's cloud kernel, which has bonds, VLANs, VRFs, dummies and bridges that filter VLANs. NETWORK is what
# network-deps.sh made; OUT is filled once. One boot runs them all; no KVM, no disk, no network card. Exits as the tests.
set -euo pipefail
[ $# -eq 3 ] || { echo "usage: $0 NETWORK OUT PATTERN" >&2; exit 2; }
network=$(cd "$1" && pwd -P)/root pattern=$3
mkdir -p "$2/debs/partial"
out=$(cd "$2" && pwd -P)
# In load order.
modules="llc stp mrp garp bridge 8021q tls bonding dummy vrf macvlan veth macsec"

fetch() { # packages that are not installed here are unpacked, not installed
  apt-get install --download-only -y -qq --no-install-recommends -o Debug::NoLocking=true \
    -o "Dir::Cache::archives=$out/debs" qemu-system-x86 seabios kmod cpio linux-image-cloud-amd64 >"$out/apt.log" 2>&1
}
if [ ! -e "$out/done" ]; then
  fetch || { apt-get update -qq >>"$out/apt.log" 2>&1 && fetch; } || { tail -n 5 "$out/apt.log" >&2; exit 1; }
  for deb in "$out"/debs/*.deb; do
    [ ! -e "$deb" ] || dpkg-deb -x "$deb" "$out/root"
  done
  rm -rf "$out/debs"
  touch "$out/done"
fi

libraries=$network/usr/lib/x86_64-linux-gnu:$network/lib/x86_64-linux-gnu:$out/root/usr/lib/x86_64-linux-gnu:$out/root/lib/x86_64-linux-gnu
find_program() {
  local root dir
  for root in "" "$network" "$out/root"; do
    for dir in usr/sbin usr/bin sbin bin; do
      [ ! -x "$root/$dir/$1" ] || { echo "$root/$dir/$1"; return; }
    done
  done
  echo "kernel-guest: $1 is neither installed nor unpacked" >&2
  return 1
}

guest=$out/guest
rm -rf "$guest"
mkdir -p "$guest"/{bin,dev,etc,proc,run,sys,tmp,mods,lib64,usr/lib/x86_64-linux-gnu,var/lib/NetworkManager}
ln -s bin "$guest/sbin"
mkdir -p "$guest/usr/bin" && ln -s bin "$guest/usr/sbin"
ln -s ../run "$guest/var/run"
for name in bash mount mkdir cat ip dbus-daemon NetworkManager wpa_supplicant kmod; do
  program=$(find_program "$name")
  cp -L "$program" "$guest/usr/bin/$name"
  while read -r library; do
    cp -Ln "$library" "$guest/usr/lib/x86_64-linux-gnu/"
  done < <(LD_LIBRARY_PATH=$libraries ldd "$program" | grep -o '/[^ ]*')
done
cp -L /lib64/ld-linux-x86-64.so.2 "$guest/lib64/"
ln -s kmod "$guest/usr/bin/insmod"
for name in "$guest"/usr/bin/*; do ln -s "/usr/bin/${name##*/}" "$guest/bin/"; done
echo "root:x:0:0:root:/:/bin/bash" >"$guest/etc/passwd"
echo "root:x:0:" >"$guest/etc/group"
for m in $modules; do
  find "$out/root" -name "$m.ko*" -exec cp {} "$guest/mods/" \;
done
CGO_ENABLED=0 go test -c -o "$guest/nm.test" ./internal/host/nm
cat >"$guest/init" <<INIT
#!/bin/bash
export NMTEST_PATIENCE=6 PATH=/usr/bin HOME=/ TMPDIR=/tmp LD_LIBRARY_PATH=/usr/lib/x86_64-linux-gnu
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
for m in $modules; do insmod /mods/\$m.ko; done
ip link del bond0
ip link del dummy0
cd /
/nm.test -test.v -test.count=1 -test.timeout=600s -test.run='$pattern'
echo "guest: exit \$?"
echo o >/proc/sysrq-trigger
while :; do read -rt 1 < <(:) ; done
INIT
chmod +x "$guest/init"
cpio=$(find_program cpio)
(cd "$guest" && find . | LD_LIBRARY_PATH=$libraries "$cpio" -o -H newc --quiet | gzip -1) >"$out/initrd.gz"

share=$out/root/usr/share
LD_LIBRARY_PATH=$libraries timeout 660 "$(find_program qemu-system-x86_64)" -L "$share/qemu" -L "$share/seabios" \
  -accel tcg,thread=multi -cpu max -smp 2 -m 1536 -nographic -no-reboot -nic none \
  -kernel "$(ls "$out"/root/boot/vmlinuz-*)" -initrd "$out/initrd.gz" \
  -append "console=ttyS0 rdinit=/init panic=-1 quiet" </dev/null | tr -d '\r' >"$out/console.log" || true
grep -E '^ *(---|===|ok|PASS|FAIL|guest:)|reason:|Error|_test.go' "$out/console.log" || true
grep -q '^guest: exit 0$' "$out/console.log" || { echo "kernel-guest: failed; see $out/console.log" >&2; exit 1; }
