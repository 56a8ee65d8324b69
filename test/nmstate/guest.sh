#!/bin/sh
# guest.sh: the first process of a guest with a kernel of its own (User Mode Linux). Its root file system is this machine's,
# read-only, but for the folders of the suite. It runs one module and powers the guest off.
# From the kernel's command line: NMTEST_ROOT, NMSTATE_KERNEL, NMSTATE_REPORT, NMSTATE_SELF and the variables of a module.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root TMPDIR=/dev/shm
mount -t proc proc /proc
mount -t sysfs sysfs /sys
mount -t devtmpfs dev /dev
mkdir -p /dev/shm
mount -t tmpfs shm /dev/shm
for dir in "$NMTEST_ROOT" "$NMSTATE_REPORT"; do
  mount -t hostfs -o "$dir" none "$dir"
done
mount --bind "$NMSTATE_KERNEL/usr/lib/uml/modules" "$NMTEST_ROOT/lib/modules"
mount --bind /proc "$NMTEST_ROOT/proc"
for module in bridge 8021q bonding dummy vrf macvlan veth vxlan tun ipvlan; do
  chroot "$NMTEST_ROOT" modprobe "$module"
done
ip link del bond0
ip link del dummy0
cd /dev/shm || exit 1
"$NMSTATE_SELF" -test.run '^TestModule$' -test.v -test.timeout "$NMSTATE_TIME" >"$NMSTATE_REPORT/run.txt" 2>&1
echo "guest: exit $?" >>"$NMSTATE_REPORT/run.txt"
echo o >/proc/sysrq-trigger
sleep 60
