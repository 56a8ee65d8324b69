package recert

import (
	"errors"
	"fmt"
	"path"
	"strings"
	"time"
)

// machineFiles are the node's files that the configuration replaces. The machine's configuration carries copies of them, and
// the node is believed to have drifted from it unless both are the same.
func (c Config) machineFiles() map[string]string {
	files := map[string]string{}
	for path, text := range map[string]string{
		"/var/lib/kubelet/config.json": c.PullSecret,
		chronyFile:                     c.Chrony,
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

const chronyFile = "/etc/chrony.conf"

// errCompressed says that a file's copy cannot be written in the form in which it is carried.
var errCompressed = errors.New("carries the file compressed, which is not rewritten")

func editMachineConfig(cfg Config, _ Mapping, _ time.Time, o *object) error {
	files := cfg.machineFiles()
	if len(files) == 0 {
		return nil
	}
	targets, err := machineFileSources(files, o.walk)
	if err == nil {
		err = o.edit(setSources(targets))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", o.key, err)
	}
	return nil
}

// editMachineDocument does the same for a machine's configuration that lies on disk.
func editMachineDocument(cfg Config, text string) (string, error) {
	files := cfg.machineFiles()
	if len(files) == 0 || !isJSON(text) {
		return text, nil
	}
	targets, err := machineFileSources(files, func(see func([]string, string)) error {
		_, err := editJSON([]byte(text), func(at []string, value string) (string, bool) { see(at, value); return "", false })
		return err
	})
	if err != nil || len(targets) == 0 {
		return text, err
	}
	out, err := editJSON([]byte(text), setSources(targets))
	return string(out), err
}

// machineFileSources finds where, below ".../storage/files/N", the contents of files stand, and what is to stand there.
func machineFileSources(files map[string]string, walk func(func([]string, string)) error) (map[string]string, error) {
	targets := map[string]string{}
	var failed error
	err := walk(func(at []string, text string) {
		n := len(at)
		if want, ok := files[text]; ok && n >= 4 && at[n-1] == "path" && at[n-3] == "files" && at[n-4] == "storage" {
			targets[strings.Join(at[:n-1], "/")+"/contents/source"] = want
		}
	})
	if err != nil || len(targets) == 0 {
		return targets, err
	}
	err = walk(func(at []string, text string) {
		source, isCompression := strings.CutSuffix(strings.Join(at, "/"), "/compression")
		if _, ok := targets[source+"/source"]; ok && isCompression && text != "" {
			failed = errCompressed
		}
	})
	return targets, errors.Join(err, failed)
}

// setSources replaces data URLs, in the form they have.
func setSources(targets map[string]string) visitor {
	return func(at []string, text string) (string, bool) {
		want, ok := targets[strings.Join(at, "/")]
		if !ok || !strings.HasPrefix(text, "data:") {
			return text, false
		}
		fresh := editDataURLs(text, func(string) string { return want })
		return fresh, fresh != text
	}
}

// applySite writes the files that the configuration replaces, and their copies in the machine's configuration.
func (s *scan) applySite(f *diskFile) error {
	text, why := f.text, "file of the machine's configuration"
	if want, ok := s.cfg.machineFiles()[f.path]; ok {
		text, why = want, "replaced by the configuration"
	} else if base := path.Base(f.path); base == "currentconfig" || base == "mcs-machine-config-content.json" {
		edited, err := editMachineDocument(s.cfg, f.text)
		if err != nil {
			return fmt.Errorf("%s: %w", f.path, err)
		}
		text = edited
	}
	if text != f.text {
		f.text, f.changed = text, true
		s.plan.Changes = append(s.plan.Changes, Change{Rewrite, f.path, why})
	}
	return nil
}
