package sites

import (
	"bytes"
	"crypto/sha256"
	"encoding/csv"
	"encoding/hex"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sites/iso"
)

// Names of what is written.
const (
	ConfigName = "site-config.yaml"
	TableName  = "sites.csv"
	// Label is the image's; older tools look for it, too.
	Label = "cluster-config"
)

// Files are what is written for one site.
type Files struct {
	// Config is site-config.yaml, Image the volume that holds it.
	Config, Image []byte
	// Sum is the SHA-256 of the image.
	Sum string
}

// Render makes the files of a site. The same site makes the same bytes, whatever the time: an image that did not change
// need not be copied again.
func (s Site) Render() (Files, error) {
	text, err := yaml.Marshal(s.Config)
	if err != nil {
		return Files{}, fmt.Errorf("site %s: encode the configuration: %w", s.Row.Site, err)
	}
	image, err := iso.Image(Label, []iso.File{{Name: ConfigName, Data: text}}, time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC))
	if err != nil {
		return Files{}, fmt.Errorf("site %s: make the image: %w", s.Row.Site, err)
	}
	sum := sha256.Sum256(image)
	return Files{text, image, hex.EncodeToString(sum[:])}, nil
}

// Line is a site in the table that is written.
type Line struct {
	Site, Hostname, Domain     string
	Pools, Addresses, Gateways string
	Image, SHA256              string
}

// LineOf describes a site.
func LineOf(s Site, image, sum string) Line {
	l := Line{Site: s.Row.Site, Hostname: s.Config.Hostname, Domain: s.Config.ClusterDomain(), Image: image, SHA256: sum}
	var pools, addresses, gateways []string
	for i, lease := range s.Leases {
		pools = append(pools, s.Row.Pools[i])
		addresses = append(addresses, lease.Prefix().String())
		gateways = append(gateways, lease.Gateway.String())
	}
	l.Pools, l.Addresses, l.Gateways = strings.Join(pools, " "), strings.Join(addresses, " "), strings.Join(gateways, " ")
	return l
}

func tableHeader() []string {
	return []string{"site", "hostname", "domain", "pool", "address", "gateway", "image", "sha256"}
}

// WriteTable is the table of all sites, as CSV.
func WriteTable(lines []Line) ([]byte, error) {
	var out bytes.Buffer
	w := csv.NewWriter(&out)
	all := [][]string{tableHeader()}
	for _, l := range lines {
		all = append(all, []string{l.Site, l.Hostname, l.Domain, l.Pools, l.Addresses, l.Gateways, l.Image, l.SHA256})
	}
	if err := w.WriteAll(all); err != nil {
		return nil, fmt.Errorf("write the table: %w", err)
	}
	return out.Bytes(), nil
}

// ReadHeld reads the addresses that a table, which was written before, gave to sites.
func ReadHeld(data []byte) (map[Holder]netip.Addr, error) {
	all, err := csv.NewReader(bytes.NewReader(data)).ReadAll()
	if err != nil {
		return nil, fmt.Errorf("read the table: %w", err)
	}
	if len(all) == 0 || strings.Join(all[0], ",") != strings.Join(tableHeader(), ",") {
		return nil, fmt.Errorf("the table was not written by this program: its first line must be %s", strings.Join(tableHeader(), ","))
	}
	held := map[Holder]netip.Addr{}
	for _, fields := range all[1:] {
		pools, addresses := strings.Fields(fields[3]), strings.Fields(fields[4])
		for i := range min(len(pools), len(addresses)) {
			p, err := netip.ParsePrefix(addresses[i])
			if err != nil {
				return nil, fmt.Errorf("site %s: %q is not an address with a prefix length", fields[0], addresses[i])
			}
			held[Holder{fields[0], pools[i]}] = p.Addr()
		}
	}
	return held, nil
}
