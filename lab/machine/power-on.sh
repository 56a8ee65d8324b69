#!/bin/bash
# power-on.sh SYSROOT DEPLOYMENT NAME NETNS RUN [KERNEL_ARGUMENT...]: one boot of an ostree sysroot directory in systemd-nspawn.
# Runs in a mount namespace of its own (unshare --mount). RUN holds cmdline, the command line that the boot loader passed.
set -euo pipefail
sysroot=$1 deployment=$2 name=$3 netns=$4 run=$5
shift 5

# A host with version 1 cgroups has the unified tree aside; the node's systemd wants nothing else.
mount -t cgroup2 cgroup2 /sys/fs/cgroup

# Each node has a cgroup of its own, empty at power-on: two nodes would otherwise share their units' cgroups, and one that
# lost power would leave its behind.
group=/sys/fs/cgroup/lab-$name
mkdir -p "$group"
find "$group" -mindepth 1 -depth -type d -exec rmdir {} + 2>/dev/null || true
echo $$ >"$group/cgroup.procs"

# nspawn and ostree want a /run of their own, on tmpfs; the network namespaces must stay reachable in it.
mkdir -p "$run/netns"
mount --rbind /run/netns "$run/netns"
mount -t tmpfs -o mode=755 tmpfs /run
mkdir /run/netns /run/node
mount --rbind "$run/netns" /run/netns

# The initramfs' part, by the deployment's own program and libraries: finds the deployment by /proc/cmdline, assembles the
# root file system on /run/node, and leaves /run/ostree-booted and /run/ostree, which the container must see.
mount --bind "$run/cmdline" /proc/cmdline
mount --bind "$sysroot" /run/node
"$deployment/usr/lib64/ld-linux-x86-64.so.2" --library-path "$deployment/usr/lib/x86_64-linux-gnu" \
  "$deployment/usr/lib/ostree/ostree-prepare-root" /run/node
mkdir -p /run/ostree

# A kubelet wants the kernel to behave in three ways, and cannot say so to a kernel that is the host's: init.sh shows it what
# it wants to see.
mkdir -p "$run/sysctl"
echo 10 >"$run/sysctl/kernel.panic"
echo 1 >"$run/sysctl/kernel.panic_on_oops"
echo 1 >"$run/sysctl/vm.overcommit_memory"

# network: /proc/sys/net writable, as NetworkManager needs it. The kernel's arguments are also PID 1's, where systemd in a
# container looks for them. Without --keep-unit nspawn would want the host's systemd; with it, it exits 133 on reboot.
# console: a terminal for units that write to the console, as a machine has one; its output is nspawn's.
# For containers in the container: runc makes session keyrings, containerd loads BPF programs, kubelet opens /dev/kmsg.
exec env SYSTEMD_NSPAWN_API_VFS_WRITABLE=network systemd-nspawn --quiet -D /run/node --machine="$name" \
  --register=no --keep-unit --kill-signal=SIGRTMIN+3 --console=read-only --capability=all \
  --network-namespace-path="/run/netns/$netns" --link-journal=no --resolv-conf=off --timezone=off \
  --system-call-filter="@keyring bpf" --bind=/dev/null:/dev/kmsg --bind-ro="$run/sysctl:/run/lab/sysctl" \
  --bind-ro="$run/cmdline:/run/lab/cmdline" --bind-ro="$run/init.sh:/run/lab/init" \
  --bind-ro=/run/ostree-booted:/run/ostree-booted --bind=/run/ostree:/run/ostree \
  /run/lab/init "$@"
