package sites_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sites"
)

func pool(t testing.TB, name, subnet, gateway string, vlan int) *ipam.Pool {
	t.Helper()
	p, err := ipam.New(ipam.Spec{Name: name, Network: "default", VLAN: vlan, Gateway: netip.MustParseAddr(gateway),
		Ranges: []ipam.Range{{Subnet: netip.MustParsePrefix(subnet)}}, DNS: []netip.Addr{netip.MustParseAddr("192.0.2.53")}},
		ipam.Options{Now: time.Now, Rand: rand.NewPCG(1, 2)})
	require.NoError(t, err)
	return p
}

func input(t testing.TB, table string) sites.Input {
	t.Helper()
	rows, err := sites.ReadTable([]byte(table))
	require.NoError(t, err)
	pools := map[string]*ipam.Pool{
		"north": pool(t, "north", "10.1.0.0/16", "10.1.0.1", 0), "north6": pool(t, "north6", "2001:db8:1::/64", "2001:db8:1::1", 0),
		"tagged": pool(t, "tagged", "10.2.0.0/24", "10.2.0.1", 12), "tiny": pool(t, "tiny", "10.3.0.0/30", "10.3.0.1", 0),
		"over": pool(t, "over", "10.1.9.0/24", "10.1.9.1", 0),
	}
	return sites.Input{Rows: rows, Template: siteconfig.SiteConfig{APIVersion: siteconfig.APIVersion, Kind: siteconfig.Kind,
		BaseDomain: "edge.example.org", NTPServers: []string{"ntp.example.org"}},
		Open: func(name string) (*ipam.Pool, error) {
			if p := pools[name]; p != nil {
				return p, nil
			}
			return nil, fmt.Errorf("pool %s is in none of the files", name)
		}}
}

func TestATableOfSites(t *testing.T) {
	made, err := sites.Make(input(t, "\xef\xbb\xbfSite;Cluster;Port;Pool;Address;Domain;label:example.org/region\r\n"+
		"store-1;store-1;eno1;north north6;;;North\r\nstore-2;store-2;eno1;tagged;10.2.0.77;south.example.org;\r\n"))
	require.NoError(t, err)
	require.Len(t, made, 2)
	one := made[0].Config
	require.Equal(t, "store-1.edge.example.org", one.ClusterDomain())
	require.Equal(t, []string{"10.1.0.2", "2001:db8:1::2"}, one.NodeIPs)
	require.Equal(t, "North", one.NodeLabels["example.org/region"])
	require.Equal(t, []string{"ntp.example.org"}, one.NTPServers)
	require.Equal(t, "store-2.south.example.org", made[1].Config.ClusterDomain())
	require.Equal(t, "eno1.12", made[1].Config.Network.Interfaces[1].Name)
	require.Equal(t, []string{"10.2.0.77"}, made[1].Config.NodeIPs)
	for _, s := range made {
		files, err := s.Render()
		require.NoError(t, err)
		_, problems := siteconfig.Decode(files.Config)
		require.Empty(t, problems)
	}
}

// Whoever adds a row to the table later does not move the others.
func TestASiteKeepsItsAddress(t *testing.T) {
	table := "site,port,pool\nb,eno1,north\nc,eno1,north\n"
	made, err := sites.Make(input(t, table))
	require.NoError(t, err)
	var lines []sites.Line
	for _, s := range made {
		lines = append(lines, sites.LineOf(s, s.Row.Site+".iso", "00"))
	}
	text, err := sites.WriteTable(lines)
	require.NoError(t, err)
	held, err := sites.ReadHeld(text)
	require.NoError(t, err)
	in := input(t, strings.Replace(table, "b,", "a,eno1,north\nb,", 1))
	in.Held = held
	again, err := sites.Make(in)
	require.NoError(t, err)
	require.Equal(t, []string{"10.1.0.4"}, again[0].Config.NodeIPs)
	require.Equal(t, made[0].Config.NodeIPs, again[1].Config.NodeIPs)
	require.Equal(t, made[1].Config.NodeIPs, again[2].Config.NodeIPs)
	_, err = sites.ReadHeld([]byte("a,b\n"))
	require.ErrorContains(t, err, "was not written by this program")
}

func TestTablesThatAreRefused(t *testing.T) {
	for name, k := range map[string]struct{ table, want string }{
		"site twice":     {"site,port,pool\na,eno1,north\nA,eno1,north\n", `line 3, site "A": site "A" is that of line 2, too`},
		"hostname twice": {"site,hostname,port,pool\na,h,eno1,north\nb,h,eno1,north\n", `hostname "h" is that of line 2, too`},
		"cluster twice":  {"site,cluster,port,pool\na,c,eno1,north\nb,c,eno1,north\n", `cluster "c.edge.example.org" is that of line 2, too`},
		"address twice":  {"site,port,pool,address\na,eno1,north,10.1.0.9\nb,eno1,north,10.1.0.9\n", `line 3, site "b": pool north: address 10.1.0.9 is held by site a`},
		"outside":        {"site,port,pool,address\na,eno1,north,10.9.0.9\n", "pool north: address 10.9.0.9 lies outside its ranges"},
		"exhausted":      {"site,port,pool\na,eno1,tiny\nb,eno1,tiny\n", `line 3, site "b": pool tiny is exhausted`},
		"overlap":        {"site,port,pool\na,eno1,north\nb,eno1,over\n", "pool over overlaps pool north"},
		"no pool":        {"site,port,pool\na,eno1,nowhere\n", "pool nowhere is in none of the files"},
		"three pools":    {"site,port,pool\na,eno1,north north6 tiny\n", "column pool must name one pool, or two"},
		"one family":     {"site,port,pool\na,eno1,north tagged\n", "is the second address of its family"},
		"no port":        {"site,pool\na,north\n", "column port must name the network port of the node"},
		"bad name":       {"site,port,pool\n../a,eno1,north\n", "the name of a site must be letters"},
		"bad hostname":   {"site,hostname,port,pool\na,a_b,eno1,north\n", `hostname: "a_b": must be lower-case letters`},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sites.Make(input(t, k.table))
			require.ErrorContains(t, err, k.want)
		})
	}
	for name, k := range map[string]struct{ table, want string }{
		"empty":   {"", "the table is empty; its first line must name the columns: site,hostname,"},
		"no rows": {"site,pool\n", "the table names no site"},
		"columns": {"site,colour,site\n", `column "colour" is none of site, hostname`},
		"missing": {"hostname\na\n", `column "pool" is missing`},
		"ragged":  {"site,pool\na,b,c\nd\n", "row 2: it has 3 fields, the first line names 2 columns\nrow 3: it has 1 field"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := sites.ReadTable([]byte(k.table))
			require.ErrorContains(t, err, k.want)
		})
	}
}

func FuzzReadTable(f *testing.F) {
	f.Add([]byte("site;port;pool;address;label:a\na;eno1;north;;b\n"))
	f.Add([]byte("\xef\xbb\xbfsite,pool\n\"a\",b\n"))
	f.Fuzz(func(t *testing.T, data []byte) {
		if rows, err := sites.ReadTable(data); err == nil && len(rows) < 50 {
			in := input(t, "site,port,pool\na,eno1,north\n")
			in.Rows = rows
			_, _ = sites.Make(in)
		}
	})
}

// BenchmarkThousandSites is the goal of the project: a thousand configurations with their images in under 5 s.
func BenchmarkThousandSites(b *testing.B) {
	var table strings.Builder
	table.WriteString("site,cluster,port,pool\n")
	for i := range 1000 {
		fmt.Fprintf(&table, "store-%04d,store-%04d,eno1,north north6\n", i, i)
	}
	for b.Loop() {
		made, err := sites.Make(input(b, table.String()))
		require.NoError(b, err)
		for _, s := range made {
			_, err := s.Render()
			require.NoError(b, err)
		}
	}
}
