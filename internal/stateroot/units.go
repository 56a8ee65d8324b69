package stateroot

import (
	"context"
	"fmt"
	"path"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// InstallUnit gives a deployment that does not run a unit, and has its targets start it.
func InstallUnit(ctx context.Context, files host.Files, foreign host.ForeignUnits, target host.Deployment, name, text string) error {
	if err := WriteUnit(files, target, name, text); err != nil {
		return err
	}
	if err := foreign.EnableIn(ctx, target.Dir(), name); err != nil {
		return fmt.Errorf("enable %s in the new deployment: %w", name, err)
	}
	return nil
}

// WriteUnit puts the unit in the place of whatever had its name: to write through a link, as a mask is one, would
// change what it leads to. Drop-ins stay, they are the administrator's.
func WriteUnit(files host.Files, target host.Deployment, name, text string) error {
	file := target.InDeployment(path.Join(host.UnitDir, name))
	if st, err := files.Stat(file); err == nil && !st.Mode().IsRegular() {
		if err := files.Remove(file); err != nil {
			return fmt.Errorf("make room for %s: %w", file, err)
		}
	}
	if err := files.Write(file, []byte(text), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
