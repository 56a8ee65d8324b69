package nm

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
)

// readKeyfiles reads the files of the given profiles in both folders, by path.
func (n *Network) readKeyfiles(uuids []string) (map[string]string, error) {
	out := map[string]string{}
	persistent, err := n.keyfileDir()
	if err != nil {
		return nil, err
	}
	for _, dir := range []string{persistent, volatileDir} {
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
	at, err := n.keyfileFolders()
	if err != nil {
		return false, err
	}
	have, err := n.readKeyfiles(r.profileUUIDs())
	if err != nil {
		return false, fmt.Errorf("compare the profiles: %w", err)
	}
	changed := false
	for _, path := range slices.Sorted(maps.Keys(want)) {
		text, ok := have[path]
		same := ok && text == want[path]
		if same && !isFlushable(path) {
			continue
		}
		changed = changed || !same // the same text may be NetworkManager's, which did not flush it
		if err := n.o.Files.Write(path, []byte(want[path]), 0o600); err != nil {
			return changed, fmt.Errorf("restore profile: %w", err)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(have)) {
		if _, ok := want[path]; ok || r.earlier && at.isVolatile(path) {
			continue
		}
		changed = true
		if err := n.o.Files.Remove(path); err != nil {
			return changed, fmt.Errorf("remove profile: %w", err)
		}
	}
	return changed, n.flushRemovals(at.persistent)
}

// flushProfiles writes the profiles' files once more through Files, which flushes them to the disk, and flushes what was deleted;
// NetworkManager does neither.
func (n *Network) flushProfiles(files map[string]string) error {
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if !isFlushable(path) {
			continue
		}
		if err := n.o.Files.Write(path, []byte(files[path]), 0o600); err != nil {
			return fmt.Errorf("flush profile: %w", err)
		}
	}
	dir, err := n.keyfileDir()
	if err != nil {
		return err
	}
	return n.flushRemovals(dir)
}

// isFlushable says that a file is on the disk, and a file: a tombstone is a link.
func isFlushable(path string) bool {
	return !strings.HasPrefix(path, volatileDir) && !strings.HasSuffix(path, ".nmmeta")
}

// flushRemovals makes what NetworkManager deleted in a folder stay deleted after a power cut: a removal through Files
// flushes the folder, also where there was nothing to remove.
func (n *Network) flushRemovals(dir string) error {
	if err := n.o.Files.Remove(filepath.Join(dir, ".lca-flush")); err != nil {
		return fmt.Errorf("flush the removal of profiles: %w", err)
	}
	return nil
}

// internConf is where NetworkManager keeps the global DNS configuration that D-Bus gave it.
const internConf = "/var/lib/NetworkManager/NetworkManager-intern.conf"

// persistGlobal flushes the global DNS configuration that NetworkManager wrote, or that it removed.
func (n *Network) persistGlobal() error {
	text, err := n.o.Files.Read(internConf)
	if errors.Is(err, fs.ErrNotExist) {
		return n.flushRemovals(filepath.Dir(internConf))
	}
	if err != nil {
		return fmt.Errorf("read the DNS configuration: %w", err)
	}
	if err := n.o.Files.Write(internConf, text, 0o644); err != nil {
		return fmt.Errorf("flush the DNS configuration: %w", err)
	}
	return nil
}

// pairsConf has NetworkManager manage the virtual cards of pairs that have a profile. Distributions tell it by a rule of udev to
// leave such cards alone, because containers have them: activated by hand they come up, and after a boot they would not.
const pairsConf = "/etc/NetworkManager/conf.d/95-lca-pairs.conf"

// settlePairs makes the configuration follow the profiles on the disk. NetworkManager reads it when it starts, which is when it
// is needed; so it is written once a change is committed, and there is nothing of it to roll back.
func (n *Network) settlePairs() error {
	names, err := n.findPairEnds()
	if err != nil {
		return fmt.Errorf("find the pairs of virtual cards: %w", err)
	}
	have, err := n.o.Files.Read(pairsConf)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("read %s: %w", pairsConf, err)
	}
	if len(names) == 0 {
		if err == nil {
			return n.o.Files.Remove(pairsConf)
		}
		return nil
	}
	want := "# Pairs of virtual cards that have a profile are managed, also where a rule of udev says otherwise.\n[device-lca-pairs]\n" +
		"match-device=interface-name:=" + strings.Join(names, ";interface-name:=") + "\nmanaged=1\n"
	if string(have) == want {
		return nil
	}
	return n.o.Files.Write(pairsConf, []byte(want), 0o644)
}

// findPairEnds are the ends of pairs that have a persistent profile, sorted.
func (n *Network) findPairEnds() ([]string, error) {
	dir, err := n.keyfileDir()
	if err != nil {
		return nil, err
	}
	files, err := n.o.Files.List(dir)
	if err != nil {
		return nil, err
	}
	peers, named, ends := map[string]bool{}, map[string]bool{}, map[string]bool{}
	for _, name := range files {
		text, err := n.o.Files.Read(filepath.Join(dir, name))
		if err != nil {
			continue // a folder, or gone meanwhile
		}
		p, ok := profile.FromKeyfile(string(text))
		iface := p.Settings.Iface()
		if !ok || iface == "" {
			continue
		}
		named[iface] = true
		if p.Settings.Kind() == profile.TypeVeth {
			ends[iface] = true
			peers[profile.Value[string](p.Settings, profile.TypeVeth, "peer")] = true
		}
	}
	maps.DeleteFunc(peers, func(peer string, _ bool) bool { return !named[peer] })
	maps.Copy(ends, peers)
	return slices.Sorted(maps.Keys(ends)), nil
}
