#!/bin/bash
# init.sh: first program of the container. It makes /proc/cmdline say what the boot loader passed, before systemd and its
# generators read it (ostree's makes var.mount from it). nspawn itself cannot bind anything there.
/bin/mount -n --bind /run/lab/cmdline /proc/cmdline
# Settings of the kernel that a kubelet insists on, without setting them: see power-on.sh.
for setting in /run/lab/sysctl/*; do
  name=${setting##*/}
  /bin/mount -n --bind "$setting" "/proc/sys/${name/.//}"
done
exec /usr/lib/systemd/systemd "$@"
