package systemd

import (
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest/machine"
)

const (
	// VendorUnits is where the system has its units.
	VendorUnits  = "/usr/lib/systemd/system"
	runtimeUnits = "/run/systemd/system"
	// runtimeMasks comes before /etc/systemd/system, where kubelet's unit lies; runtimeUnits, where
	// "systemctl mask --runtime" links, does not, and such a mask has no effect there (systemd.unit(5)).
	runtimeMasks = "/run/systemd/system.control"
	noUnit       = "/dev/null" // what a mask links to
)

// unitFile is what the node's systemd takes from a unit file.
type unitFile struct {
	masked  bool
	runtime bool // the mask goes with the next boot
	keys    map[string][]string
}

// get returns the last value of a "Section.Key".
func (u unitFile) get(key string) string {
	if all := u.keys[key]; len(all) > 0 {
		return all[len(all)-1]
	}
	return ""
}

// words returns all values of a key that holds a list.
func (u unitFile) words(key string) []string {
	return strings.Fields(strings.Join(u.keys[key], " "))
}

func (u unitFile) oneshot() bool { return u.get("Service.Type") == "oneshot" }

// loadUnit reads a unit below root ("" is the booted system). A runtime mask
// counts there only, and before anything else.
func (n *Manager) loadUnit(root, unit string) (unitFile, bool) {
	if root == "" {
		if _, mask, err := n.Look(path.Join(runtimeMasks, unit), false); err == nil && mask.Link == noUnit {
			return unitFile{masked: true, runtime: true}, true
		}
	}
	for _, dir := range []string{host.UnitDir, runtimeUnits, VendorUnits} {
		at := path.Join(root, dir, unit)
		if _, in, err := n.Look(at, false); err != nil {
			continue
		} else if in.Link == noUnit {
			return unitFile{masked: true}, true
		}
		data, err := n.ReadFile(at)
		if err == nil {
			file := unitFile{keys: ParseSections(string(data))}
			n.addDropIns(root, unit, file.keys)
			return file, true
		}
	}
	return unitFile{}, false
}

// addDropIns adds what the unit's drop-ins say, in the order of their names (systemd.unit(5)).
func (n *Manager) addDropIns(root, unit string, keys map[string][]string) {
	found := map[string]string{}
	for _, dir := range []string{VendorUnits, host.UnitDir} {
		at, err := n.Resolve(path.Join(root, dir, unit+".d"), true)
		if err != nil || !n.Disk.Live[at].IsDir() {
			continue
		}
		for _, name := range n.Disk.Children(at) {
			if strings.HasSuffix(name, ".conf") {
				found[name] = path.Join(at, name)
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(found)) {
		if data, err := n.ReadFile(found[name]); err == nil {
			for key, values := range ParseSections(string(data)) {
				keys[key] = append(keys[key], values...)
			}
		}
	}
}

// ParseSections reads a file of sections with keys; a key's values are found by "Section.Key".
func ParseSections(text string) map[string][]string {
	keys, section := map[string][]string{}, ""
	for _, line := range strings.Split(text, "\n") {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = strings.Trim(line, "[]")
			continue
		}
		key, value, ok := strings.Cut(line, "=")
		if !ok || strings.HasPrefix(line, "#") {
			continue
		}
		key = section + "." + strings.TrimSpace(key)
		keys[key] = append(keys[key], strings.TrimSpace(value))
	}
	return keys
}

// wants lists the links below root by which targets pull the unit in.
func (n *Manager) wants(root, unit string) []string {
	var links []string
	dir, err := n.Resolve(path.Join(root, host.UnitDir), true)
	if err != nil {
		return nil
	}
	for _, name := range n.Disk.Children(dir) {
		if !strings.HasSuffix(name, ".wants") && !strings.HasSuffix(name, ".requires") {
			continue
		}
		link := path.Join(dir, name, unit)
		if _, ok := n.Disk.Live[link]; ok {
			links = append(links, link)
		}
	}
	return links
}

// EnabledUnits lists the units that targets below root pull in, sorted.
func (n *Manager) EnabledUnits(root string) []string {
	dir, err := n.Resolve(path.Join(root, host.UnitDir), true)
	if err != nil {
		return nil
	}
	found := map[string]bool{}
	for _, p := range n.Disk.Under(dir) {
		target := path.Base(path.Dir(p))
		if path.Dir(path.Dir(p)) == dir && (strings.HasSuffix(target, ".wants") || strings.HasSuffix(target, ".requires")) {
			found[path.Base(p)] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

// enableIn links the unit into the targets it names.
func (n *Manager) enableIn(op, root, unit string) error {
	file, ok := n.loadUnit(root, unit)
	if !ok {
		return &fs.PathError{Op: "enable", Path: path.Join(root, host.UnitDir, unit), Err: fs.ErrNotExist}
	}
	if file.masked && !file.runtime {
		return &fs.PathError{Op: "enable", Path: unit, Err: errMasked}
	}
	if len(file.words("Install.WantedBy"))+len(file.words("Install.RequiredBy")) == 0 {
		return &fs.PathError{Op: "enable", Path: unit, Err: errNoTarget}
	}
	for kind, suffix := range map[string]string{"Install.WantedBy": ".wants", "Install.RequiredBy": ".requires"} {
		for _, target := range file.words(kind) {
			link, err := n.Resolve(path.Join(root, host.UnitDir, target+suffix, unit), false)
			if err != nil {
				return err
			}
			if _, there := n.Disk.Live[link]; there {
				continue
			}
			if err := n.Change(op, link); err != nil {
				return err
			}
			to := machine.Inode{Mode: fs.ModeSymlink | 0o777, Link: path.Join(host.UnitDir, unit)}
			if err := n.Disk.Put(link, to, true); err != nil {
				return err
			}
		}
	}
	return nil
}

func (n *Manager) disableIn(op, root, unit string) error {
	for _, link := range n.wants(root, unit) {
		if err := n.Change(op, link); err != nil {
			return err
		}
		n.Disk.Remove(link, true)
	}
	return nil
}
