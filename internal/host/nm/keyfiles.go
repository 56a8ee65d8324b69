package nm

import (
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
)

// Where NetworkManager keeps profiles: persistent ones, and those until the next boot.
const (
	persistentDir = "/etc/NetworkManager/system-connections"
	volatileDir   = "/run/NetworkManager/system-connections"
)

// keyfiles reads the files of the given profiles in both folders, by path.
func (n *Network) keyfiles(uuids []string) (map[string]string, error) {
	out := map[string]string{}
	for _, dir := range []string{persistentDir, volatileDir} {
		names, err := n.o.Files.List(dir)
		if err != nil {
			return nil, fmt.Errorf("list profiles: %w", err)
		}
		for _, name := range names {
			path := filepath.Join(dir, name)
			if uuid, isTombstone := strings.CutSuffix(name, ".nmmeta"); isTombstone {
				if slices.Contains(uuids, uuid) {
					out[path] = ""
				}
				continue
			}
			text, err := n.o.Files.Read(path)
			if err != nil {
				continue // a folder, or gone meanwhile
			}
			if slices.Contains(uuids, keyfileUUID(string(text))) {
				out[path] = string(text)
			}
		}
	}
	return out, nil
}

// keyfileUUID reads the profile's identity from its text (NetworkManager keyfile format, nm-settings-keyfile(5)).
func keyfileUUID(text string) string {
	section := ""
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if strings.HasPrefix(line, "[") {
			section = line
		}
		if v, ok := strings.CutPrefix(line, "uuid="); ok && section == "[connection]" {
			return v
		}
	}
	return ""
}

// putBack makes the files of the record's profiles equal to the given texts, byte for byte, and
// says whether it had to change anything. Files in memory are of this boot, which a record of an earlier one knows nothing of.
func (n *Network) putBack(r *record, want map[string]string) (bool, error) {
	have, err := n.keyfiles(r.uuids())
	if err != nil {
		return false, fmt.Errorf("compare the profiles: %w", err)
	}
	changed := false
	for _, path := range slices.Sorted(maps.Keys(want)) {
		if text, ok := have[path]; ok && text == want[path] {
			continue
		}
		changed = true
		if err := n.o.Files.Write(path, []byte(want[path]), 0o600); err != nil {
			return changed, fmt.Errorf("put profile back: %w", err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[path]; ok || r.earlier && strings.HasPrefix(path, volatileDir) {
			continue
		}
		changed = true
		if err := n.o.Files.Remove(path); err != nil {
			return changed, fmt.Errorf("remove profile: %w", err)
		}
	}
	return changed, nil
}

// persist writes the profiles' files once more through Files, which flushes them to the disk;
// NetworkManager does not.
func (n *Network) persist(files map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(path, volatileDir) || strings.HasSuffix(path, ".nmmeta") {
			continue
		}
		if err := n.o.Files.Write(path, []byte(files[path]), 0o600); err != nil {
			return fmt.Errorf("flush profile: %w", err)
		}
	}
	return nil
}
