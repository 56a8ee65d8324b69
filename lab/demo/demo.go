// Package demo shows the main job on a real node: change its address, prove it
// from outside, and bring it back. "lab demo" calls it, and "make demo" calls that.
//
// It tells a story on the writer it is given and leaves the same figures in a
// report. Nothing in it is mocked and nothing is timed by hand.
package demo

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

// The node's addresses at the two sites.
var (
	oldAddress = netip.MustParseAddr("192.0.2.10")
	newAddress = netip.MustParseAddr("198.51.100.20")
)

// newNetwork is the machine network of the second site.
const newNetwork = "198.51.100.0/24"

// Demo is one showing.
type Demo struct {
	Lab *lab.Lab
	Out io.Writer
	// ReportFile gets the figures as JSON.
	ReportFile string

	started time.Time
	driver  *drive.Driver
	report  Report
}

// Report is what is left of a demo.
type Report struct {
	Machine  string       `json:"machine"`
	Started  time.Time    `json:"started"`
	Seconds  float64      `json:"seconds"`
	Phases   []Phase      `json:"phases"`
	Observed []Observed   `json:"observedFromOutside"`
	Timeline []drive.Step `json:"timeline"`
}

// Phase is one stage of the story, as its user lived through it.
type Phase struct {
	Name string `json:"name"`
	// Seconds from the request to its completion; OutageSeconds without an API at either address.
	Seconds       float64 `json:"seconds"`
	OutageSeconds float64 `json:"apiOutageSeconds,omitempty"`
	Operation     string  `json:"operation,omitempty"`
}

// Observed is what was seen from outside at one point of the story.
type Observed struct {
	When string       `json:"when"`
	Seen []drive.Seen `json:"seen"`
}

// Run shows it all.
func (d *Demo) Run(ctx context.Context) error {
	d.started = time.Now()
	d.report = Report{Machine: string(d.Lab.Kind), Started: d.started.UTC()}
	var err error
	if d.driver, err = drive.New(d.Lab, func(s string) { d.say("        %s", s) }, oldAddress, newAddress); err != nil {
		return err
	}
	for _, act := range []func(context.Context) error{d.begin, d.change, d.goBack, d.finish} {
		if err := act(ctx); err != nil {
			return d.explain(ctx, err)
		}
	}
	d.report.Seconds = time.Since(d.started).Seconds()
	return d.writeReport()
}

func (d *Demo) say(format string, args ...any) {
	fmt.Fprintf(d.Out, "%7.1fs  "+format+"\n", append([]any{time.Since(d.started).Seconds()}, args...)...)
}

func (d *Demo) begin(ctx context.Context) error {
	d.say("waiting until the IPConfig is Idle and may be changed")
	if _, err := d.driver.Until(ctx, "condition Idle", drive.Is(lcav1.ConditionIdle)); err != nil {
		return err
	}
	return d.look(ctx, "before", oldAddress, newAddress)
}

func (d *Demo) change(ctx context.Context) error {
	away := network.Away()
	d.say("asking for %s in %s, gateway %s, DNS %s", newAddress, newNetwork, away.Gateway.Addr(), away.DNS.Addr())
	spec := map[string]any{"spec": map[string]any{
		"stage": lcav1.StageConfig,
		"ipv4": map[string]any{
			"address": newAddress.String(), "machineNetwork": newNetwork, "gateway": away.Gateway.Addr().String(),
		},
		"dnsServers": []string{away.DNS.Addr().String(), away.Gateway.Addr().String()},
	}}
	ask := func(ctx context.Context) error { return d.driver.Patch(ctx, spec) }
	if err := d.phase(ctx, "change", ask, lcav1.ConditionConfigCompleted); err != nil {
		return err
	}
	if err := d.look(ctx, "after the change", newAddress, oldAddress); err != nil {
		return err
	}
	return d.expectNext(ctx, lcav1.StageIdle, lcav1.StageRollback)
}

func (d *Demo) goBack(ctx context.Context) error {
	d.say("asking for Rollback")
	ask := func(ctx context.Context) error { return d.driver.Stage(ctx, lcav1.StageRollback) }
	if err := d.phase(ctx, "rollback", ask, lcav1.ConditionRollbackCompleted); err != nil {
		return err
	}
	return d.look(ctx, "after the rollback", oldAddress, newAddress)
}

func (d *Demo) finish(ctx context.Context) error {
	journal, err := d.driver.Journal(ctx)
	if err != nil {
		return err
	}
	d.report.Timeline = journal.Steps
	d.say("asking for Idle")
	asked := time.Now()
	if err := d.driver.Stage(ctx, lcav1.StageIdle); err != nil {
		return err
	}
	if _, err := d.driver.Until(ctx, "condition Idle", drive.Is(lcav1.ConditionIdle)); err != nil {
		return err
	}
	d.report.Phases = append(d.report.Phases, Phase{Name: "idle", Seconds: time.Since(asked).Seconds()})
	return d.printTimeline()
}

// phase asks for something, waits for its condition, and measures both.
func (d *Demo) phase(ctx context.Context, name string, ask func(context.Context) error, condition string) error {
	meter, err := drive.StartMeter(ctx, d.Lab, oldAddress, newAddress)
	if err != nil {
		return err
	}
	asked := time.Now()
	err = ask(ctx)
	var ipc *lcav1.IPConfig
	if err == nil {
		ipc, err = d.driver.Until(ctx, "condition "+condition, drive.Is(condition))
	}
	outage, merr := meter.Stop()
	if err != nil {
		return err
	}
	if merr != nil {
		return merr
	}
	p := Phase{Name: name, Seconds: time.Since(asked).Seconds(), OutageSeconds: outage.Seconds(), Operation: ipc.Status.OperationID}
	d.report.Phases = append(d.report.Phases, p)
	d.say("%s done in %.1f s; the API was away for %.1f s", name, p.Seconds, p.OutageSeconds)
	return nil
}

// look observes the node from outside: it must be at here, and nowhere else.
func (d *Demo) look(ctx context.Context, when string, here, notHere netip.Addr) error {
	present, absent := drive.Look(ctx, d.Lab, here), drive.Look(ctx, d.Lab, notHere)
	d.report.Observed = append(d.report.Observed, Observed{When: when, Seen: []drive.Seen{present, absent}})
	if !present.Ping || !present.API {
		return fmt.Errorf("%s: %s: ping %t, API %t: %s", when, here, present.Ping, present.API, present.Error)
	}
	if absent.Ping || absent.API {
		return fmt.Errorf("%s: somebody still answers at %s", when, notHere)
	}
	if len(present.NodeAddresses) != 1 || present.NodeAddresses[0] != here.String() {
		return fmt.Errorf("%s: the Node object's addresses are %v, not %s", when, present.NodeAddresses, here)
	}
	d.say("seen from outside: %s answers ping and an authenticated API call, its certificate verifies for %s, the Node object says %s; %s is silent",
		here, here, present.NodeAddresses[0], notHere)
	return nil
}

func (d *Demo) expectNext(ctx context.Context, want ...lcav1.IPConfigStage) error {
	_, err := d.driver.Until(ctx, fmt.Sprintf("validNextStages %v", want), func(ipc *lcav1.IPConfig) bool {
		return fmt.Sprint(ipc.Status.ValidNextStages) == fmt.Sprint(want)
	})
	return err
}

// explain adds the node's own account to an error.
func (d *Demo) explain(ctx context.Context, err error) error {
	j, jerr := d.driver.Journal(context.WithoutCancel(ctx))
	if jerr != nil {
		return fmt.Errorf("%w (the node gives no account: %w)", err, jerr)
	}
	return fmt.Errorf("%w\nthe node says: %s; %s; %s\nlook around with: build/bin/lab --name %s shell", err, j.Where, j.Failure, j.Cause, d.Lab.Name)
}

func (d *Demo) writeReport() error {
	data, err := json.MarshalIndent(d.report, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(d.ReportFile), 0o755); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	if err := os.WriteFile(d.ReportFile, append(data, '\n'), 0o644); err != nil {
		return fmt.Errorf("write report: %w", err)
	}
	d.say("the same figures are in %s", d.ReportFile)
	return nil
}
