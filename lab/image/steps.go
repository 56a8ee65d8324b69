package image

import (
	"embed"
	"io/fs"
)

// The recipe and the node's configuration travel inside the binary, so the lab does not depend on the current directory.
//
//go:embed recipe all:overlay
var files embed.FS

// Artefact names a result that a caller may ask for.
type Artefact string

const (
	// Sysroot is a directory holding an ostree sysroot with one deployment, in stateroot rhcos. The nspawn machine boots it.
	Sysroot Artefact = "sysroot"
	// Disk is a directory holding disk.img, a BIOS-bootable disk with the same commit deployed. The qemu machine boots it.
	Disk Artefact = "disk"
	// RootFS is the plain Debian tree: the source of the node's own ostree and loader for programs outside the node.
	RootFS Artefact = "rootfs"
)

const (
	networkManager Artefact = "networkmanager"
	commit         Artefact = "commit"
)

// step says how one artefact is made: from which embedded files and which other artefacts, by recipe/<name>.sh.
type step struct {
	name   Artefact
	files  []string            // beside recipe/<name>.sh; a directory stands for all below it
	inputs map[string]Artefact // environment variable -> artefact it points to
	says   string              // what is being done, for narration
}

// steps in the order in which they are built. A step's inputs stand before it.
func steps() []step {
	host, ostree := "recipe/host.sh", "recipe/ostree.sh"
	return []step{
		{name: networkManager, files: []string{host}, says: "rebuild NetworkManager with its Open vSwitch plugin"},
		{name: RootFS, files: []string{host, "recipe/packages.txt", "recipe/dracut.conf"}, says: "install the Debian tree"},
		{
			name: commit, files: []string{host, ostree, "overlay"},
			inputs: map[string]Artefact{"ROOTFS": RootFS, "NETWORKMANAGER": networkManager},
			says:   "commit the node's operating system to an ostree repository",
		},
		{
			name: Sysroot, files: []string{host, ostree},
			inputs: map[string]Artefact{"ROOTFS": RootFS, "COMMIT": commit},
			says:   "deploy it to a sysroot directory",
		},
		{
			name: Disk, files: []string{host, ostree},
			inputs: map[string]Artefact{"ROOTFS": RootFS, "COMMIT": commit},
			says:   "deploy it to a bootable disk",
		},
	}
}

// needed returns the steps that lead to want, in building order.
func needed(want Artefact) []step {
	all := steps()
	wanted := map[Artefact]bool{want: true}
	for i := len(all) - 1; i >= 0; i-- {
		if !wanted[all[i].name] {
			continue
		}
		for _, input := range all[i].inputs {
			wanted[input] = true
		}
	}
	var path []step
	for _, s := range all {
		if wanted[s.name] {
			path = append(path, s)
		}
	}
	return path
}

// extract writes the embedded files below dir, scripts executable.
func extract(dir string) error { return copyFS(dir, files) }

// list returns the regular files at or below name.
func list(name string) ([]string, error) {
	var names []string
	err := fs.WalkDir(files, name, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Type().IsRegular() {
			names = append(names, path)
		}
		return err
	})
	return names, err
}
