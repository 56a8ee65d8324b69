package recert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

// ErrNotVerified is the end of a verify that found problems.
var ErrNotVerified = errors.New("the cluster does not match its configuration")

func newVerifyCommand(w Wiring) *cobra.Command {
	return newVerbCommand("verify", "Check that the cluster matches the configuration",
		"Every leaf certificate must be signed by its authority and match the key beside it, and apply must have nothing\n"+
			"left to change. Other mentions of an old address are listed; they are no failure.",
		func(ctx context.Context, c call, f output.Format) error {
			engine, ports, err := w.openEngine(c.source)
			if err != nil {
				return err
			}
			if _, err := readConfig(ports.Files, c.config); err != nil {
				return err
			}
			v, err := engine.Verify(ctx, c.config)
			if err != nil {
				return err
			}
			if err := output.Print(w.Out, f, verifyAnswer{v.OK(), v}); err != nil {
				return err
			}
			if !v.OK() {
				return fmt.Errorf("%w: %s", ErrNotVerified, inspect.Count(len(v.Problems), "problem"))
			}
			return nil
		})
}

func newScanCommand(w Wiring) *cobra.Command {
	return newVerbCommand("scan", "List every certificate, key and token, their signers, and mentions of old addresses",
		"Needs no configuration: without one it reads the folders that an IP change names and searches for no address.",
		func(ctx context.Context, c call, f output.Format) error {
			engine, ports, err := w.openEngine(c.source)
			if err != nil {
				return err
			}
			cfg, err := scanConfig(ports.Files, c.config)
			if err != nil {
				return err
			}
			inventory, err := engine.Scan(ctx, cfg)
			if err != nil {
				return err
			}
			return output.Print(w.Out, f, scanAnswer{inventory})
		})
}

// scanConfig is the configuration where there is one, else the folders that an IP change names.
func scanConfig(files host.Files, path string) (config.Config, error) {
	_, err := files.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && path == host.RecertConfig {
		return config.Config{Dirs: []string{"/etc/kubernetes", "/var/lib/kubelet", "/etc/machine-config-daemon"}}, nil
	}
	return readConfig(files, path)
}
