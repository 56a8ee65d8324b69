# shellcheck shell=bash
# ostree.sh: use the node's own ostree from outside the node. Sourced by the steps that write a repository or a sysroot.
# Why not the host's: versions differ in what they write and offer (2022.7 has no set-default), and a host may have none.

REF=lab/node/x86_64

# node_ostree ARGS: the node tree's ostree, with the node tree's own loader and libraries. Needs ROOTFS.
node_ostree() {
  "$ROOTFS/lib64/ld-linux-x86-64.so.2" --library-path "$ROOTFS/$LIBDIR" "$ROOTFS/usr/bin/ostree" "$@"
}

# make_sysroot SYSROOT BOOTLOADER KARG...: init an ostree sysroot there and deploy the commit as stateroot rhcos.
make_sysroot() {
  local sysroot=$1 bootloader=$2 karg kargs=()
  shift 2
  node_ostree admin init-fs "$sysroot"
  node_ostree --repo="$sysroot/ostree/repo" config set sysroot.bootloader "$bootloader"
  node_ostree --repo="$sysroot/ostree/repo" config set sysroot.readonly true
  node_ostree --repo="$sysroot/ostree/repo" pull-local "$COMMIT/repo" "$REF"
  node_ostree admin os-init --sysroot="$sysroot" rhcos
  [ "$bootloader" != syslinux ] || seed_syslinux "$sysroot/boot"
  for karg in "$@"; do kargs+=("--karg=$karg"); done
  node_ostree admin deploy --sysroot="$sysroot" --os=rhcos "${kargs[@]}" "$REF"
  cp -a "$sysroot"/ostree/deploy/rhcos/deploy/*.0/usr/share/factory/var/. "$sysroot/ostree/deploy/rhcos/var/"
}

# seed_syslinux BOOT: the menu that ostree will rewrite at every deployment, keeping these first lines. extlinux finds it
# through the link; ostree swaps "loader" atomically, so the boot menu changes in one rename.
seed_syslinux() {
  mkdir -p "$1/syslinux" "$1/loader.0"
  ln -s loader.0 "$1/loader"
  ln -s ../loader/syslinux.cfg "$1/syslinux/syslinux.cfg"
  printf 'SERIAL 0 115200\nPROMPT 0\nTIMEOUT 10\n' > "$1/loader.0/syslinux.cfg"
}

# Kernel arguments of the node. rw is what ostree asks for together with sysroot.readonly; panic=5 turns a guest panic
# into a reboot. The same for both machines, so that one stateroot looks the same on both.
# shellcheck disable=SC2034 # used by the sourcing steps
NODE_KARGS=(root=LABEL=root rw "console=ttyS0,115200" net.ifnames=0 panic=5)
