package systemd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/coreos/go-systemd/v22/unit"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// pullers are the folders, next to a target, whose links make it pull a unit in, by the
// key of [Install] that asks for one (systemd.unit(5)).
var pullers = map[string]string{"WantedBy": ".wants", "RequiredBy": ".requires", "UpheldBy": ".upholds"}

// EnableIn implements host.ForeignUnits. It makes the links itself: "systemctl --root=ROOT enable" gives up with "Channel
// number out of range" when the unit has a drop-in and ROOT is reached through a link, as /ostree is.
func (m *Manager) EnableIn(_ context.Context, root, unit string) error {
	err := m.changeDeployment(root, func(deployment *os.Root) error { return enableUnit(deployment, unit) })
	if err != nil {
		return fmt.Errorf("enable %s in %s: %w", unit, root, err)
	}
	return nil
}

// DisableIn implements host.ForeignUnits. A unit that does not exist there is disabled.
func (m *Manager) DisableIn(_ context.Context, root, unit string) error {
	err := m.changeDeployment(root, func(deployment *os.Root) error { return disableUnit(deployment, unit) })
	if err != nil {
		return fmt.Errorf("disable %s in %s: %w", unit, root, err)
	}
	return nil
}

// changeDeployment changes a deployment, out of which no link can lead, and flushes it.
func (m *Manager) changeDeployment(root string, change func(*os.Root) error) error {
	deployment, err := os.OpenRoot(filepath.Join(m.root, root))
	if err != nil {
		return err
	}
	defer deployment.Close()
	if err := change(deployment); err != nil {
		return err
	}
	return m.flushFolder(root)
}

// inUnitDir is a path below the folder of units, as os.Root wants it.
func inUnitDir(names ...string) string {
	return strings.TrimPrefix(path.Join(append([]string{host.UnitDir}, names...)...), "/")
}

func enableUnit(deployment *os.Root, name string) error {
	folders, err := pulledBy(deployment, name)
	if err != nil {
		return err
	}
	for _, folder := range folders {
		if err := deployment.MkdirAll(inUnitDir(folder), 0o755); err != nil {
			return err
		}
		if err := replaceLink(deployment, path.Join(host.UnitDir, name), inUnitDir(folder), name); err != nil {
			return err
		}
	}
	return nil
}

// pulledBy reads from the unit's [Install] section which folders want a link to it.
func pulledBy(deployment *os.Root, name string) ([]string, error) {
	file, err := deployment.Open(inUnitDir(name))
	if err != nil {
		return nil, fmt.Errorf("open the unit %s: %w", name, err)
	}
	defer file.Close()
	options, err := unit.DeserializeOptions(file)
	if err != nil {
		return nil, fmt.Errorf("read the unit: %w", err)
	}
	var folders []string
	for _, o := range options {
		if suffix, ok := pullers[o.Name]; ok && o.Section == "Install" {
			for target := range strings.FieldsSeq(o.Value) {
				folders = append(folders, target+suffix)
			}
		}
	}
	if len(folders) == 0 {
		return nil, errors.New("it has no [Install] section that names a target")
	}
	return folders, nil
}

// replaceLink makes name in folder lead to target, in one step. What a run that was cut short left is replaced; systemd passes
// over names that begin with a dot.
func replaceLink(deployment *os.Root, target, folder, name string) error {
	at, temp := path.Join(folder, name), path.Join(folder, ".lca-"+name)
	if now, err := deployment.Readlink(at); err == nil && now == target {
		return nil
	}
	if err := deployment.Remove(temp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := deployment.Symlink(target, temp); err != nil {
		return err
	}
	return deployment.Rename(temp, at)
}

// disableUnit removes every link by which a target pulls the unit in.
func disableUnit(deployment *os.Root, name string) error {
	for _, suffix := range pullers {
		folders, err := fs.Glob(deployment.FS(), inUnitDir("*"+suffix))
		if err != nil {
			return fmt.Errorf("find the links to the unit: %w", err)
		}
		for _, folder := range folders {
			if err := deployment.Remove(path.Join(folder, name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}
