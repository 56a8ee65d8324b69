package operation

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

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Limits of an evidence bundle in size and time; a node that rolls back has little of either.
const (
	maxBundleFile = 256 << 10
	maxBundle     = 2 << 20
	maxBundleText = 4 << 10
	bundleTimeout = time.Minute
	unitLines     = 400
	systemLines   = 1000
)

// BundleIndex is the file of a bundle that lists the others. It is written last.
const BundleIndex = "bundle.json"

// EvidencePath is where an operation's evidence bundle is kept.
func EvidencePath(operation string) string { return path.Join(EvidenceDir, operation) }

// Bundle is everything that explains a failed operation later: only root may read it, no secret is in it, and its
// size is bounded. Collecting it reads only; it notes what it cannot read, and it does not wait long for anything.
type Bundle struct {
	Files host.Files
	Logs  host.Logs
	Clock flow.Clock

	Operation string
	// Cause is why the operation failed.
	Cause string
	// Stateroot that is to keep the bundle, because it boots next. Empty: the one that runs.
	Stateroot string
	// Documents follow the journal, the most telling first: where the room runs out, the last ones are left out.
	Documents []Document
	// Units are those whose logs explain the failure.
	Units   []string
	Secrets Secrets

	scrub Redactor
	left  int
	index bundleIndex
}

// Document is one file of a bundle.
type Document struct {
	Name string
	Get  func(context.Context) ([]byte, error)
}

// FileDocument takes a file of the node into the bundle.
func FileDocument(files host.Files, name, file string) Document {
	return Document{name, func(context.Context) ([]byte, error) { return files.Read(file) }}
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

// listDocuments lists the files of the bundle in order.
func (b *Bundle) listDocuments() []Document {
	all := append([]Document{FileDocument(b.Files, "operation.jsonl", JournalPath(b.Operation))}, b.Documents...)
	for _, unit := range b.Units {
		log := func(ctx context.Context) ([]byte, error) { return b.Logs.Unit(ctx, unit, unitLines) }
		all = append(all, Document{unit + ".log", log})
	}
	return append(all, Document{"journal.log", func(ctx context.Context) ([]byte, error) { return b.Logs.System(ctx, systemLines) }})
}

// Collect writes the bundle. The error is for the log.
func (b *Bundle) Collect(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, bundleTimeout)
	defer cancel()
	b.scrub, b.left = NewRedactor(b.Files, b.Secrets), maxBundle
	b.index = bundleIndex{Version: 1, Operation: b.Operation, Cause: b.shortenText(b.Cause), Collected: b.Clock.Now().UTC()}
	for _, s := range b.listDocuments() {
		data, err := s.Get(ctx)
		if errors.Is(err, fs.ErrNotExist) || err == nil && len(data) == 0 {
			continue
		}
		if err == nil {
			err = b.writeFile(s.Name, data)
		}
		if err != nil {
			b.index.Missing = append(b.index.Missing, bundleMissing{s.Name, b.shortenText(err.Error())})
		}
	}
	data, err := json.MarshalIndent(b.index, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", BundleIndex, err)
	}
	if err := b.Files.Write(b.filePath(BundleIndex), append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write the evidence bundle of operation %s: %w", b.Operation, err)
	}
	return nil
}

// filePath is where a file of the bundle is kept.
func (b *Bundle) filePath(name string) string {
	at := path.Join(EvidencePath(b.Operation), name)
	if b.Stateroot == "" {
		return at
	}
	return host.InVar(b.Stateroot, at)
}

// shortenText is a text for the index. Redaction comes before the cut: half a secret is not recognised.
func (b *Bundle) shortenText(text string) string {
	text = b.scrub.Text(text[:min(len(text), maxBundleFile)])
	if len(text) > maxBundleText {
		text = strings.ToValidUTF8(text[:maxBundleText], "") + "..."
	}
	return text
}

// writeFile writes one file, without secrets and as much of its end as there is room for.
func (b *Bundle) writeFile(name string, data []byte) error {
	whole := len(data)
	data = b.scrub.Redact(lastLines(data, 2*maxBundleFile)) // the second cut drops a secret that this one halves
	kept := lastLines(data, min(maxBundleFile, b.left))
	if len(kept) == 0 {
		return errors.New("the bundle is full")
	}
	if err := b.Files.Write(b.filePath(name), kept, 0o600); err != nil {
		return fmt.Errorf("write %s: %w", b.filePath(name), err)
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

// CollectOnce writes the bundle of a failure after which the running stateroot stays. The first bundle is kept: it
// was made when the failure was fresh.
func (b *Bundle) CollectOnce(ctx context.Context) error {
	if _, err := b.Files.Stat(b.filePath(BundleIndex)); err == nil {
		return nil
	}
	return b.Collect(ctx)
}
