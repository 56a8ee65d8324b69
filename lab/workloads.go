package lab

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// StartWorkloads starts on the running node what Deployments and DaemonSets need; it stays through reboots and changes of the
// stateroot. The programs are those that "make controlplane workloads" puts into binDir.
func (l *Lab) StartWorkloads(ctx context.Context, binDir string) error {
	w, err := cluster.NewWorkloads(binDir)
	if err != nil {
		return err
	}
	if err := l.ImportImage(ctx, w.Image); err != nil {
		return err
	}
	for _, file := range slices.Sorted(maps.Keys(w.Files)) {
		command := machine.Command{Argv: []string{"sh", "-c", `mkdir -p "$(dirname "$1")" && cat > "$1"`, "sh", file}, Stdin: strings.NewReader(w.Files[file])}
		if err := l.run(ctx, "write "+file, command); err != nil {
			return err
		}
	}
	return l.run(ctx, "start "+strings.Join(w.Units, " "),
		machine.Command{Argv: append([]string{"systemctl", "enable", "--now"}, w.Units...)})
}

// ImportImage makes an image known to the node's container runtime.
func (l *Lab) ImportImage(ctx context.Context, image containerimage.Image) error {
	file := filepath.Join(l.Dir, "import-"+path.Base(image.Names[0])+".tar")
	defer os.Remove(file)
	if err := image.Write(file); err != nil {
		return err
	}
	archive, err := os.Open(file)
	if err != nil {
		return fmt.Errorf("import image %s: %w", image.Names[0], err)
	}
	defer archive.Close()
	return l.run(ctx, "import image "+image.Names[0],
		machine.Command{Argv: []string{"ctr", "--namespace", "k8s.io", "images", "import", "-"}, Stdin: archive})
}

func (l *Lab) run(ctx context.Context, what string, command machine.Command) error {
	result, err := l.Machine.Exec(ctx, command)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if result.ExitCode != 0 {
		return fmt.Errorf("%s: exit code %d: %s", what, result.ExitCode, strings.TrimSpace(result.Stderr))
	}
	return nil
}
