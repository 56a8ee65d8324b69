package host

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// NetworkManager's configuration. Of folders with a file of the same name the later one counts; the file in /etc comes after the
// packages' and this boot's files, and before its own folder (NetworkManager.conf(5)).
const (
	nmMainConf     = "/etc/NetworkManager/NetworkManager.conf"
	nmPackagedConf = "/usr/lib/NetworkManager/conf.d"
	nmBootConf     = "/run/NetworkManager/conf.d"
	nmOwnConf      = "/etc/NetworkManager/conf.d"
)

// Reader reads files; every Files is one.
type Reader interface {
	Read(path string) ([]byte, error)
	List(path string) ([]string, error)
}

// FindConnectionsDir is where NetworkManager keeps the profiles that are to stay, by its configuration. They end with the boot all the same
// where the folder is on an overlay whose upper one is in memory.
func FindConnectionsDir(files Reader) (dir string, endsWithBoot bool, err error) {
	if dir, err = readConnectionsDir(files); err != nil {
		return "", false, err
	}
	mounts, err := files.Read("/proc/self/mountinfo")
	return dir, err == nil && isBelowMemory(ParseMounts(string(mounts)), dir), nil
}

// readConnectionsDir reads the configuration. An administrator may have set the path ([keyfile] path=), so that
// the profiles of a machine config stay as they are under what is changed on the node.
func readConnectionsDir(files Reader) (string, error) {
	dir := NMConnections
	all, err := listConfiguration(files)
	if err != nil {
		return "", err
	}
	for _, file := range all {
		text, err := files.Read(file)
		if err != nil {
			continue // there is none
		}
		if path, set := readKeyfilePath(string(text)); set {
			dir = filepath.Clean(path)
		}
	}
	return dir, nil
}

// listConfiguration are NetworkManager's files in the order in which it reads them: the last one that sets a key counts.
func listConfiguration(files Reader) ([]string, error) {
	byFolder := map[string][]string{}
	for _, dir := range []string{nmPackagedConf, nmBootConf, nmOwnConf} {
		names, err := files.List(dir)
		if err != nil {
			return nil, fmt.Errorf("list the configuration of NetworkManager: %w", err)
		}
		byFolder[dir] = slices.DeleteFunc(slices.Clone(names), func(name string) bool { return !strings.HasSuffix(name, ".conf") })
		slices.Sort(byFolder[dir])
	}
	var out []string
	add := func(dir string, hiddenBy ...string) {
		for _, name := range byFolder[dir] {
			if !slices.ContainsFunc(hiddenBy, func(d string) bool { return slices.Contains(byFolder[d], name) }) {
				out = append(out, filepath.Join(dir, name))
			}
		}
	}
	add(nmPackagedConf, nmBootConf, nmOwnConf)
	add(nmBootConf, nmOwnConf)
	out = append(out, nmMainConf)
	add(nmOwnConf)
	return out, nil
}

// readKeyfilePath reads [keyfile] path= from a configuration file; set says that the file has the key. An empty one is the default.
func readKeyfilePath(text string) (path string, set bool) {
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
		path = NMConnections
	}
	return path, set
}

// isBelowMemory says that a folder is on an overlay whose upper folder is in memory: what is written there is lost with the boot.
func isBelowMemory(mounts []Mount, dir string) bool {
	m := MountOf(mounts, dir)
	if m.Kind != "overlay" {
		return false
	}
	for option := range strings.SplitSeq(m.Options, ",") {
		if upper, ok := strings.CutPrefix(option, "upperdir="); ok {
			kind := MountOf(mounts, upper).Kind
			return kind == "tmpfs" || kind == "ramfs"
		}
	}
	return false
}
