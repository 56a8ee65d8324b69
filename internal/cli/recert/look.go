package recert

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

// ErrNotVerified is the end of a verify that found problems.
var ErrNotVerified = errors.New("the cluster is not what its configuration asks for")

func verify(w Wiring) *cobra.Command {
	return verb("verify", "Check that the cluster is what the configuration asks for",
		"Every leaf certificate must carry its authority's signature and match the key beside it, and nothing may be left\n"+
			"that apply would change. Other mentions of an old address are listed, which is no failure.",
		func(ctx context.Context, c call, f output.Format) error {
			engine, ports, err := w.engine(c.source)
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
				return fmt.Errorf("%w: %d problems", ErrNotVerified, len(v.Problems))
			}
			return nil
		})
}

func scan(w Wiring) *cobra.Command {
	return verb("scan", "List every certificate, key and token, who signed whom, and what mentions an old address",
		"Needs no configuration: without one it looks into the folders that an IP change names, and for no address.",
		func(ctx context.Context, c call, f output.Format) error {
			engine, ports, err := w.engine(c.source)
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
func scanConfig(files host.Files, path string) (recert.Config, error) {
	_, err := files.Stat(path)
	if errors.Is(err, fs.ErrNotExist) && path == host.RecertConfig {
		return recert.Config{Dirs: []string{"/etc/kubernetes", "/var/lib/kubelet", "/etc/machine-config-daemon"}}, nil
	}
	return readConfig(files, path)
}
