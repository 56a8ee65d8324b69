package ipconfig

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// What a failure bundle may take: on the disk, and in time, of which a node on its way back has little.
const (
	maxBundleFile  = 256 << 10
	maxBundle      = 2 << 20
	maxBundleText  = 4 << 10
	bundlePatience = time.Minute
	unitLines      = 400
	systemLines    = 1000
)

// BundleIndex is the file of a bundle that lists the others. It is written last.
const BundleIndex = "bundle.json"

// EvidencePath is where an operation's failure bundle is kept.
func EvidencePath(operation string) string { return path.Join(host.EvidenceDir, operation) }

// Bundle is everything that explains a failed change to whoever comes later: only root may
// read it, no secret is in it, and it is bounded in size. It is for reading only: what cannot be had
// is noted, and nothing ever waits for it long.
type Bundle struct {
	Node      Node
	Operation string
	// Cause is why the change failed.
	Cause string
	// Stateroot that is to keep the bundle, because it boots next. Empty: the one that runs.
	Stateroot string

	scrub Redactor
	left  int
	index bundleIndex
}

type bundleIndex struct {
	Version   int             `json:"v"`
	Operation string          `json:"operation"`
	Cause     string          `json:"cause"`
	Collected time.Time       `json:"collected"`
	Files     []bundleFile    `json:"files"`
	Missing   []bundleMissing `json:"missing,omitempty"`
}

type bundleFile struct {
	Name  string `json:"name"`
	Bytes int    `json:"bytes"`
	// Cut is how many bytes were left out, at the beginning and of secrets.
	Cut int `json:"cut,omitempty"`
}

type bundleMissing struct {
	Name  string `json:"name"`
	Error string `json:"error"`
}

// bundleUnits are the units whose logs explain a failed change.
var bundleUnits = []string{
	host.UnitPrePivot, host.UnitIPConfiguration, host.UnitInitMonitor, host.UnitRollback, host.UnitKubelet, host.UnitCRIO,
	"NetworkManager.service", "nodeip-configuration.service", "ovs-configuration.service", "dnsmasq.service",
}

// source is one file of the bundle.
type source struct {
	name string
	get  func(context.Context) ([]byte, error)
}

// sources lists them, the most telling first: should the room run out, the others go without.
func (b *Bundle) sources() []source {
	file := func(name, file string) source {
		return source{name, func(context.Context) ([]byte, error) { return b.Node.Files.Read(file) }}
	}
	all := []source{
		file("operation.jsonl", JournalPath(b.Operation)),
		file("nmstate.yaml", host.NMState),
		{"network.yaml", func(ctx context.Context) ([]byte, error) {
			doc, err := b.Node.Network.Observe(ctx)
			if err != nil {
				return nil, err
			}
			return doc.Encode()
		}},
		file("recert-summary.yaml", host.RecertSummary),
	}
	for _, unit := range bundleUnits {
		log := func(ctx context.Context) ([]byte, error) { return b.Node.Logs.Unit(ctx, unit, unitLines) }
		all = append(all, source{unit + ".log", log})
	}
	return append(all, source{"journal.log", func(ctx context.Context) ([]byte, error) { return b.Node.Logs.System(ctx, systemLines) }})
}

// Collect writes the bundle. The error is for the log.
func (b *Bundle) Collect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bundlePatience)
	defer cancel()
	b.scrub, b.left = NewRedactor(b.Node.Files), maxBundle
	b.index = bundleIndex{Version: 1, Operation: b.Operation, Cause: b.brief(b.Cause), Collected: b.Node.Clock.Now().UTC()}
	for _, s := range b.sources() {
		data, err := s.get(ctx)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
			continue
		}
		if err == nil {
			err = b.keep(s.name, data)
		}
		if err != nil {
			b.index.Missing = append(b.index.Missing, bundleMissing{s.name, b.brief(err.Error())})
		}
	}
	data, err := json.MarshalIndent(b.index, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", BundleIndex, err)
	}
	if err := b.Node.Files.Write(b.file(BundleIndex), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the failure bundle of operation %s: %w", b.Operation, err)
	}
	return nil
}

// file is where a file of the bundle is kept.
func (b *Bundle) file(name string) string {
	at := path.Join(EvidencePath(b.Operation), name)
	if b.Stateroot == "" {
		return at
	}
	return host.InVar(b.Stateroot, at)
}

// brief is a text for the index. It is cut after its secrets are gone: half a secret looks like none.
func (b *Bundle) brief(text string) string {
	text = b.scrub.Text(text[:min(len(text), maxBundleFile)])
	if len(text) > maxBundleText {
		text = strings.ToValidUTF8(text[:maxBundleText], "") + "..."
	}
	return text
}

// keep writes one file, without secrets and as much of its end as there is room for.
func (b *Bundle) keep(name string, data []byte) error {
	whole := len(data)
	data = b.scrub.Redact(lastLines(data, 2*maxBundleFile)) // a secret cut in two here is in the half that goes
	kept := lastLines(data, min(maxBundleFile, b.left))
	if len(kept) == 0 {
		return errors.New("the bundle is full")
	}
	if err := b.Node.Files.Write(b.file(name), kept, 0o600); err != nil {
		return err
	}
	b.left -= len(kept)
	b.index.Files = append(b.index.Files, bundleFile{name, len(kept), max(whole-len(kept), 0)})
	return nil
}

// lastLines is the end of data, in whole lines where there is more than one.
func lastLines(data []byte, limit int) []byte {
	if len(data) <= limit {
		return data
	}
	data = data[len(data)-limit:]
	if i := bytes.IndexByte(data, '\n'); i >= 0 && i < len(data)-1 {
		return data[i+1:]
	}
	return data
}

// keepEvidence writes the bundle of a failure after which the running stateroot stays. The first one is
// kept: it was made when the failure was fresh.
func (o *Operation) keepEvidence(ctx context.Context, cause error) {
	b := &Bundle{Node: o.Node, Operation: o.Request.OperationID, Cause: cause.Error()}
	if _, err := o.Node.Files.Stat(b.file(BundleIndex)); err == nil {
		return
	}
	if err := b.Collect(ctx); err != nil {
		o.Node.Log.Warn("the evidence could not be kept", "op", b.Operation, "error", err)
	}
}
