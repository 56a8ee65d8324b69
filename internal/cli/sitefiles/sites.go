package sitefiles

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sites"
)

// SitesWiring is what main gives the verb "sites".
type SitesWiring struct {
	Out io.Writer
	Now func() time.Time
	// Rand is for pools of the random strategy.
	Rand rand.Source
}

// sitesFlags are the files of the verb.
type sitesFlags struct{ table, pools, template, folder string }

// SitesCommand is "relocation sites".
func SitesCommand(w SitesWiring) *cobra.Command {
	var f sitesFlags
	cmd := &cobra.Command{
		Use:   "sites --csv FILE --pools FILE -o FOLDER",
		Short: "Make the configurations and volumes of many sites from one table",
		Long: "Make for every row of a table a folder with site-config.yaml and an image of a volume with it, and a table of\n" +
			"all sites. The columns are site, hostname, cluster, domain, port, vlan, pool, address and label:NAME; site and\n" +
			"pool must be there. A site that the folder's table has already keeps its address. Nothing is written where\n" +
			"anything is wrong: a name or an address twice, pools that overlap, a row that cannot be used.",
		Example: "  kubectl lca relocation sites --csv sites.csv --pools pools.yaml --template common.yaml -o out",
		Args:    cobra.NoArgs,
		RunE:    func(*cobra.Command, []string) error { return w.makeSites(f) },
	}
	cmd.Flags().StringVar(&f.table, "csv", "", "table of the sites")
	cmd.Flags().StringVar(&f.pools, "pools", "", "IPPools, with the claims and addresses that there are already")
	cmd.Flags().StringVar(&f.template, "template", "", "SiteConfig with what all sites have in common")
	cmd.Flags().StringVarP(&f.folder, "output", "o", "", "folder to write to")
	for _, needed := range []string{"csv", "pools", "output"} {
		_ = cmd.MarkFlagRequired(needed) // fails for unknown flags only
	}
	return cmd
}

// maxTable bounds the table, in bytes.
const maxTable = 64 << 20

func (w SitesWiring) makeSites(f sitesFlags) error {
	in, err := w.readInput(f)
	if err != nil {
		return err
	}
	made, err := sites.Make(in)
	if err != nil {
		return err
	}
	lines := make([]sites.Line, 0, len(made))
	for _, s := range made {
		line, err := writeSite(f.folder, s)
		if err != nil {
			return err
		}
		lines = append(lines, line)
	}
	table, err := sites.WriteTable(lines)
	if err != nil {
		return err
	}
	if err := writeSiteFile(filepath.Join(f.folder, sites.TableName), table); err != nil {
		return err
	}
	noun := "sites"
	if len(lines) == 1 {
		noun = "site"
	}
	_, err = fmt.Fprintf(w.Out, "%d %s in %s, listed in %s\n", len(lines), noun, f.folder, sites.TableName)
	return err
}

func (w SitesWiring) readInput(f sitesFlags) (sites.Input, error) {
	data, err := readLimited(f.table, maxTable)
	if err != nil {
		return sites.Input{}, err
	}
	in := sites.Input{Template: siteconfig.SiteConfig{APIVersion: siteconfig.APIVersion, Kind: siteconfig.Kind}}
	if in.Rows, err = sites.ReadTable(data); err != nil {
		return in, fmt.Errorf("%s: %w", f.table, err)
	}
	if f.template != "" {
		if in.Template, err = readTemplate(f.template); err != nil {
			return in, err
		}
	}
	if in.Open, err = w.openPools(f.pools); err != nil {
		return in, err
	}
	in.Held, err = readHeld(filepath.Join(f.folder, sites.TableName))
	return in, err
}

func readTemplate(name string) (siteconfig.SiteConfig, error) {
	data, err := readLimited(name, siteconfig.MaxSize)
	if err != nil {
		return siteconfig.SiteConfig{}, err
	}
	c, found := siteconfig.Decode(data)
	var problems []error
	for _, p := range found {
		problems = append(problems, fmt.Errorf("%s: %s", name, p))
	}
	return c, errors.Join(problems...)
}

func (w SitesWiring) openPools(name string) (func(string) (*ipam.Pool, error), error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read pools: %w", err)
	}
	defer file.Close()
	v := &manifest.Inventory{}
	if err := v.Read(name, file); err != nil {
		return nil, err
	}
	return func(pool string) (*ipam.Pool, error) {
		o, err := v.Find(pool)
		if err != nil {
			return nil, err
		}
		return v.Open(o, ipam.Options{Now: w.Now, Rand: w.Rand})
	}, nil
}

func readHeld(name string) (map[sites.Holder]netip.Addr, error) {
	data, err := readLimited(name, maxTable)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	held, err := sites.ReadHeld(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return held, nil
}

// writeSite writes the files of a site, which hold secrets.
func writeSite(folder string, s sites.Site) (sites.Line, error) {
	files, err := s.Render()
	if err != nil {
		return sites.Line{}, err
	}
	image := filepath.Join(s.Row.Site, s.Row.Site+".iso")
	if err := writeSiteFile(filepath.Join(folder, s.Row.Site, sites.ConfigName), files.Config); err != nil {
		return sites.Line{}, err
	}
	return sites.LineOf(s, image, files.Sum), writeSiteFile(filepath.Join(folder, image), files.Image)
}

// writeSiteFile replaces a file; the folder can be made anew at any time, so it is not flushed.
func writeSiteFile(name string, data []byte) error {
	if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
		return fmt.Errorf("create the folder of a site: %w", err)
	}
	if err := os.WriteFile(name, data, 0o600); err != nil {
		return fmt.Errorf("write a site: %w", err)
	}
	return nil
}
