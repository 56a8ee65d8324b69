package change

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Forecast is what recert would do, without a secret in it.
type Forecast struct {
	// Certificates are the leaves that get re-issued, by subject.
	Certificates []string `json:"certificates,omitempty"`
	// Objects and Files are what gets rewritten, Deleted what the cluster makes again.
	Objects []string `json:"objects,omitempty"`
	Files   []string `json:"files,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
	// Blocked says why it could not be done; a change is refused then.
	Blocked []string `json:"blocked,omitempty"`
	// Warnings are what an administrator has to attend to, before the change or after it: certificates that keep the old
	// address, and objects that bring it back.
	Warnings []string `json:"warnings,omitempty"`
	// Leftovers are other mentions of the old address, which stay.
	Leftovers []string `json:"leftovers,omitempty"`
	// NotRead is what could not be looked into.
	NotRead []string `json:"notRead,omitempty"`
}

// Counts is how much a Forecast found, and of what it warns, as pre-pivot leaves it for the operator to show.
type Counts struct {
	Certificates int `json:"certificates"`
	Objects      int `json:"objects"`
	Files        int `json:"files"`
	// Warnings are at most maxWarnings.
	Warnings []string `json:"warnings,omitempty"`
}

// maxWarnings is how many warnings the status of a change has room for.
const maxWarnings = 20

// summarize leaves of a long list of warnings the beginning, and where the rest is.
func (f Forecast) summarize() Counts {
	c := Counts{len(f.Certificates), len(f.Objects), len(f.Files), f.Warnings}
	if more := len(f.Warnings) - maxWarnings; more > 0 {
		c.Warnings = append(slices.Clone(f.Warnings[:maxWarnings]), fmt.Sprintf("%d more: see lca-cli ip-config plan", more))
	}
	return c
}

// forecastTimeout bounds a forecast. The cluster runs meanwhile.
const forecastTimeout = time.Minute

// recordForecast records how much recert is going to rewrite, for people, and refuses a change that recert would fail in the new
// stateroot. The change continues where no forecast can be made.
func (p *PrePivot) recordForecast(ctx context.Context, config any) error {
	if p.Forecaster == nil {
		return nil
	}
	data, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encode recert's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, forecastTimeout)
	defer cancel()
	f, err := p.Forecaster.Forecast(ctx, data)
	if err != nil {
		p.Log.Warn("the forecast of what recert rewrites failed", "op", p.Request.OperationID, "error", err)
		return nil
	}
	if err := refuseForecast(p.Files, f); err != nil {
		return err
	}
	return operation.WriteJSON(p.Files, ipconfig.ForecastFile, f.summarize())
}

// refuseForecast fails on a forecast that says no. It is the native engine's: the image of another engine may know more.
func refuseForecast(files host.Files, f Forecast) error {
	image, err := chosenImage(files)
	if err != nil || image.Name != "" || len(f.Blocked) == 0 {
		return err
	}
	return flow.Permanent(errors.New(preflight.RecertProblem(f.Blocked)))
}

// ReadForecast is what pre-pivot found out; false where it found nothing, or has not yet.
func ReadForecast(files host.Files) (c Counts, found bool) {
	err := operation.ReadJSON(files, ipconfig.ForecastFile, &c)
	return c, err == nil
}

// Forecaster reads the running cluster's store and the node's files, and changes nothing.
type Forecaster interface {
	// Forecast says what Recert.Run would do for this recert_config.json.
	Forecast(ctx context.Context, config []byte) (Forecast, error)
}

// addForecast asks what recert would do; a cluster that cannot be asked gives no forecast,
// and the preview says why.
func (p *Preview) addForecast(ctx context.Context, n Ports, r ipconfig.Request) {
	if n.Forecaster == nil {
		return
	}
	f, err := forecastRecert(ctx, n, r)
	if err != nil {
		p.RecertUnknown = err.Error()
		return
	}
	p.Recert = &f
}

func forecastRecert(ctx context.Context, n Ports, r ipconfig.Request) (Forecast, error) {
	in, err := n.Cluster.Inputs(ctx, r.PullSecretRefName)
	if err != nil {
		return Forecast{}, fmt.Errorf("ask the cluster: %w", err)
	}
	config, err := renderRecert(r, in, primaryAddress(n.Files, in.NodeAddresses))
	if err != nil {
		return Forecast{}, fmt.Errorf("render the configuration of recert: %w", err)
	}
	data, err := json.Marshal(config)
	if err != nil {
		return Forecast{}, fmt.Errorf("encode recert's configuration: %w", err)
	}
	return n.Forecaster.Forecast(ctx, data)
}
