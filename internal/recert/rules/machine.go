package rules

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

const (
	// apiServerFile tells the kubelet the API's name.
	apiServerFile = "/etc/kubernetes/apiserver-url.env"
	// ChronyFile is the configuration of the node's clock.
	ChronyFile = "/etc/chrony.conf"
)

// MachineFiles are the node's files that the configuration replaces. The machine's configuration carries copies of them, and
// the machine-config operator reports drift unless both are the same.
func MachineFiles(c config.Config) map[string]string {
	files := map[string]string{}
	for path, text := range map[string]string{
		"/var/lib/kubelet/config.json": c.PullSecret,
		ChronyFile:                     c.Chrony,
		"/etc/pki/ca-trust/source/anchors/openshift-config-user-ca-bundle.crt": c.UserCABundle,
	} {
		if text != "" {
			files[path] = text
		}
	}
	if p := c.Proxy; p != nil {
		files["/etc/mco/proxy.env"] = fmt.Sprintf("HTTP_PROXY=%s\nHTTPS_PROXY=%s\nNO_PROXY=%s\n", p.StatusHTTP, p.StatusHTTPS, p.StatusNo)
	}
	return files
}

// errCompressed says that a file's copy cannot be written in the form in which it is carried.
var errCompressed = errors.New("carries the file compressed, which is not rewritten")

// carried are files that a machine's configuration carries as data URLs, by path, and how their contents change.
type carried map[string]func(content string) []wire.Edit

func replacedFiles(cfg config.Config) carried {
	files := carried{}
	for path, want := range MachineFiles(cfg) {
		files[path] = func(content string) []wire.Edit {
			if content == want {
				return nil
			}
			return []wire.Edit{{Start: 0, End: len(content), Text: want}}
		}
	}
	return files
}

func filesOfTheZone(m replace.Mapping) carried {
	if m.Cluster.Zone.Empty() {
		return nil
	}
	return carried{apiServerFile: m.Cluster.Edits}
}

func editMachineConfig(cfg config.Config, _ replace.Mapping, _ time.Time, o *wire.Object) error {
	return replacedFiles(cfg).editObject(o)
}

func editAPIServerFile(_ config.Config, m replace.Mapping, _ time.Time, o *wire.Object) error {
	return filesOfTheZone(m).editObject(o)
}

// EditMachineDocument writes the files that the configuration replaces into a machine's configuration on disk.
func EditMachineDocument(cfg config.Config, text string) (string, error) {
	return replacedFiles(cfg).editDocument(text)
}

// zoneInMachineFile maps the zone in a machine's configuration on disk.
func zoneInMachineFile(m replace.Mapping, text string) (string, error) {
	return filesOfTheZone(m).editDocument(text)
}

func (c carried) editObject(o *wire.Object) error {
	if err := c.editContents(o.Edit); err != nil {
		return fmt.Errorf("edit the files in %s: %w", o.Key, err)
	}
	return nil
}

func (c carried) editDocument(text string) (string, error) {
	if !wire.IsJSON(text) {
		return text, nil
	}
	err := c.editContents(func(visit wire.Visitor) error {
		out, err := wire.EditJSON([]byte(text), visit)
		text = string(out)
		return err
	})
	return text, err
}

// editContents finds the contents of the files below ".../storage/files/N" and edits them.
func (c carried) editContents(document func(wire.Visitor) error) error {
	if len(c) == 0 {
		return nil
	}
	sources := carried{} // by the path to the data URL
	var failed error
	err := document(func(at []string, text string) (string, bool) {
		n := len(at)
		if change, ok := c[text]; ok && n >= 4 && at[n-1] == "path" && at[n-3] == "files" && at[n-4] == "storage" {
			sources[strings.Join(at[:n-1], "/")+"/contents/source"] = change
		}
		return text, false
	})
	if err != nil || len(sources) == 0 {
		return err
	}
	err = document(func(at []string, text string) (string, bool) {
		where := strings.Join(at, "/")
		contents, isCompression := strings.CutSuffix(where, "/compression")
		if _, ok := sources[contents+"/source"]; ok && isCompression && text != "" {
			failed = errCompressed
		}
		change, ok := sources[where]
		if !ok || !strings.HasPrefix(text, "data:") {
			return text, false
		}
		edited := wire.EditDataURLs(text, change)
		return edited, edited != text
	})
	return errors.Join(err, failed)
}
