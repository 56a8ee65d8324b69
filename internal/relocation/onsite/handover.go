package onsite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// Handover is handover.json: the cluster's credentials, readable once. Secret.
type Handover struct {
	Site       string `json:"site,omitempty"`
	API        string `json:"api"`
	Console    string `json:"console"`
	Kubeconfig string `json:"kubeconfig,omitempty"`
	User       string `json:"user,omitempty"`
	Password   string `json:"password,omitempty"`
}

// Report is site-report.json: what happened, for the site's people and the integrator. It holds no secret.
type Report struct {
	OperationID string    `json:"operation-id"`
	Site        string    `json:"site,omitempty"`
	Source      string    `json:"source"`
	Ended       time.Time `json:"ended"`
	ClusterName string    `json:"cluster-name"`
	BaseDomain  string    `json:"base-domain"`
	Domain      string    `json:"domain"`
	Hostname    string    `json:"hostname"`
	Addresses   []string  `json:"addresses"`
	// Seconds is how long each step took.
	Steps     []StepTime `json:"steps"`
	Attention []string   `json:"attention,omitempty"`
}

// StepTime is the duration of a step.
type StepTime struct {
	Step    string  `json:"step"`
	Title   string  `json:"title"`
	Seconds float64 `json:"seconds"`
}

// writeReport writes the report and the hand-over file.
func (p *Reconfiguration) writeReport(context.Context) error {
	c, err := p.readConfig()
	if err != nil {
		return err
	}
	name, base := p.clusterNameAndBase(c)
	r := Report{
		OperationID: p.Request.OperationID, Site: c.Metadata.Name, Source: p.Request.Source, Ended: p.Clock.Now().UTC(),
		ClusterName: name, BaseDomain: base, Domain: c.ClusterDomain(), Hostname: c.Hostname,
	}
	if r.Domain == "" {
		r.Domain = name + "." + base
	}
	if r.Hostname == "" {
		r.Hostname = p.Record.Facts.Node
	}
	for _, a := range p.nodeAddresses(c) {
		r.Addresses = append(r.Addresses, a.String())
	}
	if err := p.addSteps(&r); err != nil {
		return err
	}
	if err := operation.WriteJSON(p.Files, relocation.ReportFile, r); err != nil {
		return err
	}
	h := Handover{Site: r.Site, API: "https://api." + r.Domain + ":6443",
		Console: "https://console-openshift-console.apps." + r.Domain}
	kubeconfig, password := c.Handover.Includes()
	if err := p.addCredentials(&h, kubeconfig, password); err != nil {
		return err
	}
	return operation.WriteJSON(p.Files, relocation.HandoverFile, h)
}

func (p *Reconfiguration) addSteps(r *Report) error {
	entries, err := operation.ReadEntries(p.Files, p.Request.OperationID)
	if err != nil {
		return err
	}
	for _, e := range entries {
		if text, ok := strings.CutPrefix(e.Message, AttentionNote); ok && e.Kind == flow.KindNote && !slices.Contains(r.Attention, text) {
			r.Attention = append(r.Attention, text)
		}
		if e.Flow == relocation.FlowReconfigure && e.Kind == flow.KindDone {
			r.Steps = append(r.Steps, StepTime{e.Step, e.Title, float64(e.TookMS) / 1000})
		}
	}
	return nil
}

func (p *Reconfiguration) addCredentials(h *Handover, kubeconfig, password bool) error {
	if kubeconfig {
		data, err := p.Files.Read(host.LBExtKubeconfig)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the kubeconfig to hand over: %w", err)
		}
		h.Kubeconfig = string(data)
	}
	if password {
		data, err := p.Files.Read(relocation.PasswordFile)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("read the password to hand over: %w", err)
		}
		if len(data) > 0 {
			h.User, h.Password = "kubeadmin", string(data)
		}
	}
	return nil
}

// wipeSecrets removes the secrets that no step needs any more. The configuration stays until the flow has finished: after a power
// cut here, the steps that prove something run once more and read it. What is handed over stays until it is read. The
// factory state may have been handed the configuration first; its request stays, so that it boots this stateroot.
func (p *Reconfiguration) wipeSecrets(context.Context) error {
	if err := p.Files.Remove(host.InVar(p.Request.Factory, relocation.SiteConfigFile)); err != nil {
		return fmt.Errorf("wipe the configuration in the factory state: %w", err)
	}
	return wipeSecretFiles(p.Files)
}

func wipeSecretFiles(files host.Files) error {
	var errs []error
	for _, f := range []string{relocation.PasswordFile, host.RecertConfig, host.RecertPullSecret} {
		if err := files.Remove(f); err != nil {
			errs = append(errs, fmt.Errorf("wipe %s: %w", f, err))
		}
	}
	return errors.Join(errs...)
}

// TakeHandover reads the hand-over file and wipes it: a second call is refused.
func TakeHandover(files host.Files) (h Handover, err error) {
	err = operation.ReadJSON(files, relocation.HandoverFile, &h)
	if errors.Is(err, fs.ErrNotExist) {
		return h, operation.Refuse("there is nothing to hand over: it was read before, or the node is not at home yet. " +
			"An administrator of the node makes new credentials with 'oc'")
	}
	if err != nil {
		return h, err
	}
	if err := files.Remove(relocation.HandoverFile); err != nil {
		return Handover{}, fmt.Errorf("wipe the hand-over file: %w", err)
	}
	return h, nil
}
