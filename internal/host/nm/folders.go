package nm

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// Where NetworkManager keeps profiles if its configuration does not say otherwise, those until the next boot, and those of packages.
const (
	persistentDir = "/etc/NetworkManager/system-connections"
	volatileDir   = "/run/NetworkManager/system-connections"
	packagedDir   = "/usr/lib/NetworkManager/system-connections"
)

// NetworkManager's configuration. Of folders with a file of the same name the later one counts; the file in /etc comes after the
// packages' and this boot's files, and before its own folder (NetworkManager.conf(5)).
const (
	mainConf     = "/etc/NetworkManager/NetworkManager.conf"
	packagedConf = "/usr/lib/NetworkManager/conf.d"
	bootConf     = "/run/NetworkManager/conf.d"
	ownConf      = "/etc/NetworkManager/conf.d"
)

// folders are the folders of NetworkManager's profiles on this node. The journal, flushes and the recovery all go by them.
type folders struct {
	// persistent is where NetworkManager writes profiles that are to stay.
	persistent string
	// ephemeral: what is written there ends with the boot, as below an overlay whose upper folder is in memory. A change is then
	// persistent for NetworkManager, and not for the node.
	ephemeral bool
}

// keyfileFolders finds the folders, and whether what is written there stays.
func (n *Network) keyfileFolders() (folders, error) {
	dir, err := n.keyfileDir()
	if err != nil {
		return folders{}, err
	}
	mounts, err := n.o.Files.Read("/proc/self/mountinfo")
	return folders{persistent: dir, ephemeral: err == nil && isBelowMemory(string(mounts), dir)}, nil
}

// keyfileDir reads NetworkManager's configuration. An administrator may have set the path ([keyfile] path=), so that the profiles of a
// machine config stay as they are under what is changed on the node.
func (n *Network) keyfileDir() (string, error) {
	dir := persistentDir
	files, err := n.configFiles()
	if err != nil {
		return "", err
	}
	for _, file := range files {
		text, err := n.o.Files.Read(file)
		if err != nil {
			continue // there is none
		}
		if path, set := keyfilePath(string(text)); set {
			dir = filepath.Clean(path)
		}
	}
	return dir, nil
}

// configFiles are NetworkManager's configuration files in the order in which it reads them: the last one that sets a key counts.
func (n *Network) configFiles() ([]string, error) {
	byFolder := map[string][]string{}
	for _, dir := range []string{packagedConf, bootConf, ownConf} {
		names, err := n.o.Files.List(dir)
		if err != nil {
			return nil, fmt.Errorf("list the configuration of NetworkManager: %w", err)
		}
		byFolder[dir] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, ".conf") })
		slices.Sort(byFolder[dir])
	}
	var files []string
	add := func(dir string, hiddenBy ...string) {
		for _, name := range byFolder[dir] {
			if !slices.ContainsFunc(hiddenBy, func(d string) bool { return slices.Contains(byFolder[d], name) }) {
				files = append(files, filepath.Join(dir, name))
			}
		}
	}
	add(packagedConf, bootConf, ownConf)
	add(bootConf, ownConf)
	files = append(files, mainConf)
	add(ownConf)
	return files, nil
}

// keyfilePath reads [keyfile] path= from a configuration file; set says that the file has the key. An empty one is the default.
func keyfilePath(text string) (path string, set bool) {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.TrimSuffix(strings.TrimPrefix(line, "["), "]")
			continue
		}
		key, value, found := strings.Cut(line, "=")
		key, value = strings.TrimSpace(key), strings.TrimSpace(value)
		switch {
		case !found || strings.HasPrefix(line, "#"):
		case section == ".config" && key == "enable" && slices.Contains([]string{"no", "false", "off", "0"}, value):
			return "", false // the file is switched off
		case section == "keyfile" && key == "path":
			path, set = value, true
		}
	}
	if set && !strings.HasPrefix(path, "/") {
		path = persistentDir
	}
	return path, set
}

// isBelowMemory says that a folder is on an overlay whose upper folder is in memory: what is written there is lost with the boot.
func isBelowMemory(mountinfo, dir string) bool {
	m := mountOf(mountinfo, dir)
	if m.kind != "overlay" {
		return false
	}
	for option := range strings.SplitSeq(m.options, ",") {
		if upper, ok := strings.CutPrefix(option, "upperdir="); ok {
			kind := mountOf(mountinfo, upper).kind
			return kind == "tmpfs" || kind == "ramfs"
		}
	}
	return false
}

type mount struct{ point, kind, options string }

// mountOf is the mount that a path is on (proc_pid_mountinfo(5)). The last one of a mount point hides those before.
func mountOf(mountinfo, path string) (at mount) {
	for line := range strings.Lines(mountinfo) {
		before, after, found := strings.Cut(line, " - ")
		fields, of := strings.Fields(before), strings.Fields(after)
		if !found || len(fields) < 5 || len(of) < 3 {
			continue
		}
		point := fields[4]
		if path == point || point == "/" || strings.HasPrefix(path, point+"/") {
			if len(point) >= len(at.point) {
				at = mount{point: point, kind: of[0], options: of[2]}
			}
		}
	}
	return at
}

// isVolatile says that a profile's file ends with the boot.
func (f folders) isVolatile(path string) bool {
	return strings.HasPrefix(path, volatileDir+"/") || f.ephemeral && strings.HasPrefix(path, f.persistent+"/")
}
