// Package volumes implements host.Volumes over sysfs and the block devices themselves. It needs neither udev nor a
// mount: it reads labels, and the files of FAT, exFAT and ISO9660, itself, with bounds, because what somebody plugs in
// is foreign input and the kernel's drivers are not made for hostile media. ext2, ext3 and ext4 alone are mounted,
// read-only, without devices, programs or links.
//
// cmd/lca-cli builds it. It imports the port only.
package volumes
