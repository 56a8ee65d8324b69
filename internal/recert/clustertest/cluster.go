package clustertest

import (
	"fmt"
	"hash/fnv"
	"io/fs"
	"math/rand/v2"
	"net/netip"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Prefix is where an OpenShift kube-apiserver keeps its objects.
const Prefix = "/kubernetes.io/"

// Site says where a cluster is.
type Site struct {
	// Node is the node's name; names that contain Known stay whoever is renamed.
	Node, Known string
	// Name and Domain are the cluster's, Infra the identifier of its infrastructure; texts that have Zone of before stay.
	Name, Domain, Infra string
	// V4 and V6 are the node's addresses.
	V4, V6 netip.Addr
	// Neighbour is another machine that the node's own configuration names.
	Neighbour netip.Addr
	// Bystander is what user objects and documents mention; it stays whoever moves.
	Bystander []netip.Addr
	// Networks are the machine networks, in the spelling of the install-config.
	Networks []string
	// Moved makes the cluster up as a move leaves it: what regenerates is gone, health is unknown, addresses are
	// spelled in their canonical form.
	Moved bool
}

// Size says how much of everything there is.
type Size struct {
	// Objects is about how many objects there are beside those that matter.
	Objects int
	// Bundle is how many authorities the injected trust bundle has.
	Bundle int
}

// File is a file of the node's disk.
type File struct {
	Data []byte
	Mode fs.FileMode
}

// Cluster is what was made up.
type Cluster struct {
	// Keys is the content of etcd.
	Keys map[string][]byte
	// Files are the node's, by path.
	Files  map[string]File
	Member host.StoreMember
	// Leaves are the DER of the leaf certificates that name the node, Stuck of those that nobody can sign again.
	Leaves, Stuck [][]byte
}

// Now is when the clusters were made up.
func Now() time.Time { return time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC) }

// Before and After are sites of a seed: the second is where the first moves to.
func Before(seed uint64) Site {
	r := stream(seed, "site")
	// One digit at the end, so that ten times the address is an address too.
	last := 1 + r.IntN(9)
	v4 := netip.MustParseAddr(fmt.Sprintf("192.0.2.%d", last))
	v6 := netip.MustParseAddr(fmt.Sprintf("2001:db8:%x::%x", 1+r.IntN(0xfffe), last))
	return Site{Node: "sno", Known: "sno", Name: "c", Domain: "example.com", Infra: "c-x7k2p", V4: v4, V6: v6, Neighbour: netip.MustParseAddr(v4.String() + "0"), Bystander: []netip.Addr{v4, v6},
		Networks: []string{"192.0.2.0/24", netip.PrefixFrom(v6, 64).Masked().String()}}
}

// After is where Before moves to.
func After(seed uint64) Site {
	s := Before(seed)
	s.V4, s.V6 = netip.MustParseAddr("198.51.100.20"), netip.MustParseAddr("2001:db8:ffff:77::20")
	s.Networks, s.Moved = []string{"198.51.100.0/24", "2001:db8:ffff:77::/64"}, true
	return s
}

// Zone is where the cluster's names are.
func (s Site) Zone() string { return s.Name + "." + s.Domain }

// Recalled is Before with another name for the cluster. Every other one is in a zone below that of before.
func Recalled(seed uint64) Site {
	s := Before(seed)
	s.Name, s.Domain, s.Infra, s.Moved = "far", "example.org", "far-9qr4t", true
	if seed%2 == 1 {
		s.Name, s.Domain = "x", s.oldZone()
	}
	return s
}

func (Site) oldZone() string { return "c.example.com" }

// Renamed is Before with another name for the node, and all else as it was.
func Renamed(seed uint64) Site {
	s := Before(seed)
	s.Node, s.Moved = "tower-1.example.com", true
	return s
}

// Swapped is Before with the IPv4 addresses of the node and its neighbour exchanged, and all else as it was.
func Swapped(seed uint64) Site {
	s := Before(seed)
	s.V4, s.Neighbour, s.Moved = s.Neighbour, s.V4, true
	return s
}

// stream is the randomness of one thing, which does not depend on what came before it.
func stream(seed uint64, name string) *rand.Rand {
	h := fnv.New64a()
	h.Write([]byte(name))
	return rand.New(rand.NewPCG(seed, h.Sum64()))
}

// maker is a cluster in the making.
type maker struct {
	seed uint64
	site Site
	size Size
	keys *Keyring
	out  *Cluster
}

// Generate makes a cluster up.
func Generate(keys *Keyring, seed uint64, site Site, size Size) *Cluster {
	m := &maker{seed: seed, site: site, size: size, keys: keys, out: &Cluster{Keys: map[string][]byte{}, Files: map[string]File{},
		Member: host.StoreMember{ID: 7, Name: site.Known, PeerURLs: []string{"https://" + netip.AddrPortFrom(site.V4, 2380).String()}}}}
	m.controlPlane()
	m.trust()
	m.awkward()
	m.texts()
	m.customResources()
	m.workloads()
	m.filler()
	return m.out
}

func (m *maker) rand(name string) *rand.Rand { return stream(m.seed, name) }

func (m *maker) file(path, text string) { m.out.Files[path] = File{[]byte(text), 0o600} }

// spell writes the node's IPv6 address in one of the ways in which people and programs do.
func (m *maker) spell(name string) string {
	form := m.rand("spell " + name).IntN(4)
	if m.site.Moved && m.site.V6 != m.site.Bystander[1] {
		return m.site.V6.String()
	}
	switch full := m.site.V6.StringExpanded(); form {
	case 0:
		return strings.ToUpper(m.site.V6.String())
	case 1:
		return full
	case 2:
		return strings.ReplaceAll(strings.ReplaceAll(full, ":0000", ":0"), ":0db8", ":db8")
	}
	return m.site.V6.String()
}

// variables are the node's name as etcd's operator writes it into names of variables.
func (m *maker) variable() string {
	return strings.NewReplacer("-", "_", ".", "_").Replace(m.site.Node)
}

// lookalikes are addresses that contain the node's.
func (m *maker) lookalikes() string {
	v4 := m.site.Bystander[0].String()
	return strings.Join([]string{"1" + v4[2:], "10." + v4[:strings.LastIndex(v4, ".")], v4 + "1", v4 + "22", "node-" + v4, v4 + ".nip.io",
		m.site.Bystander[1].String() + "0", m.site.Bystander[1].String() + "abc"}, " ")
}
