package recert

import (
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
)

// summary is the report of a run. It names places, subjects and addresses, never contents.
type summary struct {
	Engine   string            `json:"engine"`
	Started  time.Time         `json:"started"`
	Error    string            `json:"error,omitempty"`
	DryRun   bool              `json:"dry_run"`
	RunTimes map[string]string `json:"run_times"`
	Config   summaryConfig     `json:"recert_config"`
	// plan is the section that ends the text; nil where no plan was made.
	plan *described
}

// described is a plan whose report is being rendered.
type described struct {
	*Plan
	text func() ([]byte, error)
}

// renderPlan renders a plan in the background, while the store is written.
func renderPlan(p *Plan) *described {
	d := &described{p, sync.OnceValues(func() ([]byte, error) { return yaml.Marshal(map[string]*Plan{"plan": p}) })}
	go d.text() //nolint:errcheck // text returns the error again
	return d
}

// summaryConfig is the configuration without anything confidential.
type summaryConfig struct {
	IP             []string `json:"ip,omitempty"`
	MachineNetwork []string `json:"machine_network_cidr,omitempty"`
	Cluster        string   `json:"cluster_rename,omitempty"`
	Hostname       string   `json:"hostname,omitempty"`
	InstallConfig  string   `json:"install_config,omitempty"`
	Kubeadmin      string   `json:"kubeadmin_password_hash,omitempty"`
	Dirs           []string `json:"dirs,omitempty"`
	Files          []string `json:"files,omitempty"`
	Remarks        []string `json:"remarks,omitempty"`
}

const redacted = "<redacted>"

func newSummaryConfig(c config.Config) summaryConfig {
	out := summaryConfig{Hostname: c.Hostname, Dirs: c.Dirs, Files: c.Files, Remarks: c.Remarks}
	if c.Cluster != nil {
		out.Cluster = c.Cluster.Name + ":" + c.Cluster.Domain
	}
	for _, a := range c.IPs {
		out.IP = append(out.IP, a.String())
	}
	for _, n := range c.MachineNetworks {
		out.MachineNetwork = append(out.MachineNetwork, n.String())
	}
	if c.InstallConfig != "" {
		out.InstallConfig = redacted
	}
	if c.KubeadminPasswordHash != "" {
		out.Kubeadmin = redacted
	}
	return out
}

// writeFile stores the summary. A run that found nothing to do keeps the report of the run that did the work.
func (s summary) writeFile(files host.Files, path string) error {
	if s.Error == "" && s.plan != nil && s.plan.Empty() {
		if _, err := files.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	text, err := s.encodeYAML()
	if err != nil {
		return fmt.Errorf("encode the summary: %w", err)
	}
	if err := files.Write(path, text, 0o600); err != nil {
		return fmt.Errorf("write the summary: %w", err)
	}
	return nil
}

func (s summary) encodeYAML() ([]byte, error) {
	head, err := yaml.Marshal(s)
	if err != nil || s.plan == nil {
		return head, err
	}
	plan, err := s.plan.text()
	return append(head, plan...), err
}
