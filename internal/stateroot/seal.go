package stateroot

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// SealFile is where a sealed stateroot keeps its manifest.
const SealFile = host.Workspace + "/seal.json"

// manifest proves, after the reboot, that what was prepared is what booted.
type manifest struct {
	Operation string            `json:"operation"`
	Stateroot string            `json:"stateroot"`
	Files     map[string]string `json:"files"` // path in the new system -> sha256
}

// Sealing says what is sealed.
type Sealing struct {
	Operation string
	Pair      Pair
	// MadeBy is the kind of the operation, for the record of the stateroot.
	MadeBy string
	Clock  flow.Clock
	// Contents lists what must be whole, by its path in the new system; prefix maps that to the path from here.
	Contents func(prefix func(string) string) ([]string, error)
}

// Seal records what the new stateroot must hold and flushes everything to the disk. It refuses where lca-cli was not
// copied whole: without it neither the change nor a rollback would happen after the reboot.
func Seal(s Sealing, files host.Files, d host.Deployments, trees host.Trees) flow.Step {
	return flow.Step{Name: StepSeal, Title: "Flush and seal the new stateroot", Do: func(ctx context.Context) error {
		old, target, err := s.Pair.Deployments(ctx, d)
		if err != nil {
			return err
		}
		if err := s.recordStateroot(files, old, target); err != nil {
			return err
		}
		if err := sameCLI(files, s.Pair.New); err != nil {
			return err
		}
		m, err := s.buildManifest(files, target)
		if err != nil {
			return err
		}
		if err := operation.WriteJSON(files, host.InVar(s.Pair.New, SealFile), m); err != nil {
			return fmt.Errorf("seal stateroot %s: %w", s.Pair.New, err)
		}
		if err := trees.Sync(host.DeployDir); err != nil {
			return fmt.Errorf("flush %s to the disk: %w", host.DeployDir, err)
		}
		return nil
	}}
}

// CheckSeal fails where the system that runs is not the one that was sealed. Once is enough: later on the cluster may
// rightly have changed its files.
func CheckSeal(files host.Files, d host.Deployments) flow.Step {
	return flow.Step{Name: StepCheckSeal, Title: "Check that this is what was prepared", Do: func(ctx context.Context) error {
		var m manifest
		if err := operation.ReadJSON(files, SealFile, &m); err != nil {
			return fmt.Errorf("the stateroot was not sealed: %w", err)
		}
		all, err := d.List(ctx)
		if err != nil {
			return fmt.Errorf("list deployments: %w", err)
		}
		booted, err := host.Booted(all)
		if err != nil {
			return fmt.Errorf("find the booted deployment: %w", err)
		}
		return m.verifyBooted(files, booted.Stateroot)
	}}
}

// recordStateroot is no part of the seal: it changes when the operation is proved, and when it ends.
func (s Sealing) recordStateroot(files host.Files, old, target host.Deployment) error {
	return operation.WriteStateroot(files, target, operation.Stateroot{
		MadeBy: s.MadeBy, Operation: s.Operation, Made: s.Clock.Now().UTC(), WayBack: operation.NameOf(old),
	})
}

func (s Sealing) buildManifest(files host.Files, target host.Deployment) (manifest, error) {
	prefix := func(file string) string {
		if strings.HasPrefix(file, "/var/") {
			return host.InVar(s.Pair.New, file)
		}
		return target.InDeployment(file)
	}
	list, err := s.Contents(prefix)
	if err != nil {
		return manifest{}, fmt.Errorf("list what to seal: %w", err)
	}
	m := manifest{Operation: s.Operation, Stateroot: s.Pair.New, Files: map[string]string{}}
	for _, file := range list {
		data, err := files.Read(prefix(file))
		if err != nil {
			return manifest{}, fmt.Errorf("seal %s: %w", file, err)
		}
		m.Files[file] = sha256Hex(data)
	}
	return m, nil
}

// verifyBooted compares the running system with the manifest.
func (m manifest) verifyBooted(files host.Files, booted string) error {
	if booted != m.Stateroot {
		return fmt.Errorf("stateroot %s is booted but %s was sealed", booted, m.Stateroot)
	}
	for file, want := range m.Files {
		data, err := files.Read(file)
		if err != nil {
			return fmt.Errorf("sealed file %s: %w", file, err)
		}
		if sha256Hex(data) != want {
			return fmt.Errorf("%s is not what was sealed before the reboot", file)
		}
	}
	return nil
}

func sha256Hex(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}

func sameCLI(files host.Files, stateroot string) error {
	want, err := files.Read(host.CLIInVar)
	if errors.Is(err, fs.ErrNotExist) {
		return nil // it is part of the operating system
	}
	if err != nil {
		return fmt.Errorf("read %s: %w", host.CLIInVar, err)
	}
	have, err := files.Read(host.InVar(stateroot, host.CLIInVar))
	if err != nil {
		return fmt.Errorf("read the new stateroot's lca-cli: %w", err)
	}
	if !bytes.Equal(have, want) {
		return fmt.Errorf("the new stateroot's %s is not the one that runs here", host.CLIInVar)
	}
	return nil
}
