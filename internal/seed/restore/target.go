package restore

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/image"
)

// Target is the node that an image is compared with.
type Target struct {
	Node seed.NodeFacts
	// Version is that of its OpenShift.
	Version string
	Storage seed.ContainerStorage
	// Unknown says why a fact could not be read, by the name of its row.
	Unknown map[string]string
}

// ClusterFacts are what the node's own API server says of it.
type ClusterFacts struct{ Version, Reserved, Isolated string }

// TargetCluster is the API server of the node that is to be restored, where it has one.
type TargetCluster interface {
	Target(ctx context.Context) (ClusterFacts, error)
}

// Rows of a comparison.
const (
	RowArchitecture = "architecture"
	RowCPUs         = "CPUs"
	RowCores        = "cores"
	RowSockets      = "sockets"
	RowReserved     = "reserved CPUs"
	RowIsolated     = "isolated CPUs"
	RowFIPS         = "FIPS"
	RowStorage      = "container storage"
	RowVersion      = "OpenShift version"
)

// Survey reads what is compared. What cannot be read is unknown, which is no difference.
func Survey(ctx context.Context, files host.Files, cluster TargetCluster) Target {
	t := Target{Unknown: map[string]string{}}
	unknown := func(err error, rows ...string) {
		for _, row := range rows {
			if err != nil {
				t.Unknown[row] = err.Error()
			}
		}
	}
	var err error
	t.Node, err = seed.ReadNodeFacts(files)
	unknown(err, RowCPUs, RowCores, RowSockets, RowIsolated)
	t.Storage, err = seed.ReadContainerStorage(files)
	unknown(err, RowStorage)
	said, err := cluster.Target(ctx)
	unknown(err, RowVersion, RowReserved)
	t.Version, t.Node.Reserved = said.Version, said.Reserved
	t.Node.Isolated = cmp.Or(said.Isolated, t.Node.Isolated)
	return t
}

func (n Ports) surveyTarget(ctx context.Context) Target { return Survey(ctx, n.Files, n.Cluster) }

// Row compares one fact.
type Row struct {
	What string `json:"what"`
	Seed string `json:"seed"`
	Node string `json:"node"`
	// Blocks: the image cannot be restored here as it is.
	Blocks bool `json:"blocks"`
	// Unknown says why the fact of the node is not known.
	Unknown string `json:"unknown,omitempty"`
	// hardware may differ where a person says so.
	hardware bool
}

// Differs says that both are known and not the same.
func (r Row) Differs() bool { return r.Unknown == "" && r.Seed != r.Node }

// Result is a word for a table.
func (r Row) Result() string {
	switch {
	case r.Unknown != "":
		return "unknown: " + r.Unknown
	case r.Blocks:
		return "does not fit"
	case r.Differs():
		return "differs"
	}
	return "fits"
}

// Problem says why the row blocks.
func (r Row) Problem() string {
	text := fmt.Sprintf("%s: the seed has %s, this node has %s", r.What, cmp.Or(r.Seed, "none"), cmp.Or(r.Node, "none"))
	if r.hardware {
		text += "; where you know that the cluster runs with it, add --allow-other-cpus"
	}
	return text
}

// Compare sets the seed beside the node.
func Compare(i *image.Image, t Target) []Row {
	have := i.Node
	rows := []Row{{What: RowArchitecture, Seed: cmp.Or(i.Arch, have.Arch), Node: t.Node.Arch}}
	for _, c := range []struct {
		what       string
		seed, node int
	}{
		{RowCPUs, have.CPUs, t.Node.CPUs}, {RowCores, have.Cores, t.Node.Cores}, {RowSockets, have.Sockets, t.Node.Sockets},
	} {
		rows = append(rows, Row{What: c.what, Seed: formatCount(c.seed), Node: formatCount(c.node), hardware: true})
	}
	rows = append(rows,
		Row{What: RowReserved, Seed: have.Reserved, Node: t.Node.Reserved, hardware: true},
		Row{What: RowIsolated, Seed: have.Isolated, Node: t.Node.Isolated, hardware: true},
		Row{What: RowFIPS, Seed: onOff(have.FIPS || i.Cluster.HasFIPS), Node: onOff(t.Node.FIPS)},
		storageRow(i.Cluster.ContainerStorageTarget, t.Storage),
		Row{What: RowVersion, Seed: i.Cluster.OCPVersion, Node: t.Version},
	)
	for n := range rows {
		r := &rows[n]
		r.Unknown = t.Unknown[r.What]
		// What the image does not say, or only the seed's own API knew, is no difference; another version replaces this one.
		silent := r.Seed == "" || r.hardware && r.Node == ""
		harmless := r.What == RowVersion || r.What == RowStorage && mayBeRenamed(r.Seed, t.Storage)
		r.Blocks = r.Differs() && !silent && !harmless
	}
	return rows
}

// mayBeRenamed says that the node has container storage of its own under a name that the kernel gives to disks as it finds them.
func mayBeRenamed(wanted string, have seed.ContainerStorage) bool {
	const stable = "/dev/disk/by-"
	lasting := strings.HasPrefix(wanted, stable) && strings.HasPrefix(have.Source, stable)
	return have.Source != "" && !have.Own && !lasting
}

func storageRow(wanted string, have seed.ContainerStorage) Row {
	r := Row{What: RowStorage, Seed: wanted, Node: have.Source}
	if have.Own {
		r.Node = "a folder of the stateroot"
	}
	return r
}

func formatCount(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}

func onOff(on bool) string {
	if on {
		return "on"
	}
	return "off"
}
