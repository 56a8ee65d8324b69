#!/bin/bash
# init.sh: first program of the container. It makes /proc/cmdline say what the boot loader passed, before systemd and its
# generators read it (ostree's makes var.mount from it). nspawn itself cannot bind anything there.
/bin/mount -n --bind /run/lab/cmdline /proc/cmdline
exec /usr/lib/systemd/systemd "$@"
