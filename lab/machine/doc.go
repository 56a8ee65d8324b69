// Package machine runs one lab node as a machine that can be powered on, powered off, cut from power, and spoken to.
//
// Two kinds satisfy one interface. Nspawn is the quick one: systemd-nspawn is the hardware, and this package plays firmware
// and boot loader over a real ostree sysroot directory: read the boot entries, take the default, run the node's own
// ostree-prepare-root, start the container, and do it again when the node reboots. QEMU is the true one: a virtual machine
// that boots a disk through a BIOS, extlinux, an initramfs and the node's own kernel. A machine outlives the program that
// started it. Called by package lab and by tests; it imports lab/network and nothing of the product.
package machine
