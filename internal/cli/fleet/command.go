// Package fleet is "kubectl lca fleet": it writes, from one table of sites, the objects by which fleet managers change many
// clusters. It reads and writes files only.
package fleet

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/fleet/health"
)

// Wiring is what main gives the verbs.
type Wiring struct{ Out io.Writer }

// Command is "fleet" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "fleet",
		Short: "Write the objects by which fleet managers change many clusters",
	}
	cmd.AddCommand(w.newRenderCommand(), w.newHealthChecksCommand())
	return cmd
}

// renderFlags are those of the verb "render".
type renderFlags struct {
	table, folder, by string
	templates         []string
	rollout           fleet.Rollout
}

// Values of the flag --for.
const (
	byPolicies = "policies"
	byWorks    = "works"
)

func (w Wiring) newRenderCommand() *cobra.Command {
	var f renderFlags
	cmd := &cobra.Command{
		Use:   "render --csv FILE -o FOLDER",
		Short: "Write the objects of a roll-out from a table of sites",
		Long: "Write the objects of a roll-out from a table of sites. Column cluster names the ManagedCluster; canary says yes where a\n" +
			"cluster goes first; ipv4Address, ipv4MachineNetwork, ipv4Gateway, the same of ipv6, dnsServers and vlanID become the\n" +
			"cluster's IPConfig; a template reads any other column as ${COLUMN}. Nothing is written where anything is wrong.\n\n" +
			"With --for policies the clusters change in batches of the Topology Aware Lifecycle Manager; nothing starts before a\n" +
			"ClusterGroupUpgrade is enabled. With --for works, objects that are the same everywhere are rolled out progressively,\n" +
			"and the others start when they are applied.",
		Example: "  kubectl lca fleet render --csv sites.csv --template vlan.yaml --name move -o out",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return w.writeObjects(f) },
	}
	cmd.Flags().StringVar(&f.table, "csv", "", "table of the sites")
	cmd.Flags().StringSliceVar(&f.templates, "template", nil, "file with objects for every cluster; may be given more than once")
	cmd.Flags().StringVar(&f.by, "for", byPolicies, "what carries the objects to the clusters: policies or works")
	cmd.Flags().StringVar(&f.rollout.Name, "name", "site-change", "name of the roll-out")
	cmd.Flags().StringVar(&f.rollout.Namespace, "namespace", "lca-fleet", "namespace on the hub")
	cmd.Flags().IntVar(&f.rollout.MaxConcurrency, "max-concurrency", 10, "how many clusters change at a time")
	cmd.Flags().IntVar(&f.rollout.Timeout, "timeout", 240, "minutes for all batches (policies), or for one cluster (works)")
	cmd.Flags().StringVarP(&f.folder, "output", "o", "", "folder to write to")
	for _, needed := range []string{"csv", "output"} {
		_ = cmd.MarkFlagRequired(needed) // fails for unknown flags only
	}
	return cmd
}

func (w Wiring) writeObjects(f renderFlags) error {
	sites, err := f.readSites()
	if err != nil {
		return err
	}
	files, err := f.renderFiles(sites)
	if err != nil {
		return fmt.Errorf("render the roll-out: %w", err)
	}
	if err := refuseStaleFiles(f.folder, files); err != nil {
		return err
	}
	for _, file := range files {
		if err := writeFile(filepath.Join(f.folder, file.Name), file.Data); err != nil {
			return err
		}
	}
	noun := "clusters"
	if len(sites) == 1 {
		noun = "cluster"
	}
	_, err = fmt.Fprintf(w.Out, "%d %s in %s\n", len(sites), noun, f.folder)
	return err
}

// refuseStaleFiles refuses a folder with files of an earlier rendering that this one does not write: they would be applied with it.
func refuseStaleFiles(folder string, files []fleet.File) error {
	found, err := filepath.Glob(filepath.Join(folder, "*", "*.yaml"))
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}
	more, err := filepath.Glob(filepath.Join(folder, "*.yaml"))
	if err != nil {
		return fmt.Errorf("list %s: %w", folder, err)
	}
	var all error
	for _, name := range append(more, found...) {
		if !slices.ContainsFunc(files, func(f fleet.File) bool { return filepath.Join(folder, f.Name) == name }) {
			all = errors.Join(all, fmt.Errorf("%s does not belong to this roll-out; remove it", name))
		}
	}
	return all
}

func (f renderFlags) readSites() ([]fleet.Site, error) {
	data, err := readFile(f.table)
	if err != nil {
		return nil, err
	}
	table, err := fleet.ReadTable(data)
	if err != nil {
		return nil, fmt.Errorf("%s:\n%w", f.table, err)
	}
	var templates []fleet.Template
	for _, name := range f.templates {
		text, err := readFile(name)
		if err != nil {
			return nil, err
		}
		more, err := fleet.ReadTemplates(name, text)
		if err != nil {
			return nil, err
		}
		templates = append(templates, more...)
	}
	sites, err := fleet.Sites(table, templates)
	if err != nil {
		return nil, fmt.Errorf("%s:\n%w", f.table, err)
	}
	return sites, nil
}

func (f renderFlags) renderFiles(sites []fleet.Site) ([]fleet.File, error) {
	switch f.by {
	case byPolicies:
		return f.rollout.Policies(sites)
	case byWorks:
		return f.rollout.Works(sites)
	}
	return nil, fmt.Errorf("--for %q is none of %s, %s", f.by, byPolicies, byWorks)
}

func (w Wiring) newHealthChecksCommand() *cobra.Command {
	var namespace string
	cmd := &cobra.Command{
		Use:   "health-checks",
		Short: "Print the ConfigMap by which Argo CD shows the health of this product's objects",
		Long: "Print the ConfigMap by which Argo CD shows IPConfig, SeedGenerator, network policies, ClusterRelocation and IPPool as\n" +
			"Progressing, Healthy, Degraded or Suspended. Applied on the server's side it keeps Argo CD's other settings.",
		Example: "  kubectl lca fleet health-checks | kubectl apply --server-side -f -",
		Args:    cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			checks, err := health.ConfigMap(namespace)
			if err != nil {
				return err
			}
			text, err := yaml.Marshal(checks)
			if err != nil {
				return fmt.Errorf("encode the health checks: %w", err)
			}
			_, err = w.Out.Write(text)
			return err
		},
	}
	cmd.Flags().StringVar(&namespace, "namespace", "argocd", "namespace of Argo CD; openshift-gitops on OpenShift")
	return cmd
}

// maxFile bounds what is read, in bytes.
const maxFile = 64 << 20

func readFile(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read a file of the roll-out: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxFile+1))
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", name, err)
	}
	if len(data) > maxFile {
		return nil, fmt.Errorf("read %s: it has more than %d bytes", name, maxFile)
	}
	return data, nil
}

// writeFile replaces a file; the folder can be made anew at any time, so it is not flushed.
func writeFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return fmt.Errorf("create a folder of the roll-out: %w", err)
	}
	if err := os.WriteFile(name, data, 0o644); err != nil {
		return fmt.Errorf("write the roll-out: %w", err)
	}
	return nil
}
