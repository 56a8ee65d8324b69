package ipconfig

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Forecast is what recert would do, without a secret in it.
type Forecast struct {
	// Certificates are the leaves that get re-issued, by subject.
	Certificates []string `json:"certificates,omitempty"`
	// Objects and Files are what gets rewritten, Deleted what the cluster makes again.
	Objects []string `json:"objects,omitempty"`
	Files   []string `json:"files,omitempty"`
	Deleted []string `json:"deleted,omitempty"`
	// Blocked says why it could not be done; a change would fail and roll back.
	Blocked []string `json:"blocked,omitempty"`
	// Leftovers are other mentions of the old address, which stay.
	Leftovers []string `json:"leftovers,omitempty"`
}

// Counts is how much a Forecast found, as pre-pivot leaves it for the operator to show.
type Counts struct {
	Certificates int `json:"certificates"`
	Objects      int `json:"objects"`
	Files        int `json:"files"`
}

// foretellTimeout bounds a forecast that only serves people.
const foretellTimeout = 10 * time.Second

// foretell writes down how much recert is going to rewrite. It is for people: where it can not be found out the
// change goes on without.
func (p *PrePivot) foretell(ctx context.Context, config any) error {
	if p.Node.Forecaster == nil {
		return nil
	}
	data, err := json.Marshal(config)
	if err != nil {
		return fmt.Errorf("encode recert's configuration: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, foretellTimeout)
	defer cancel()
	f, err := p.Node.Forecaster.Forecast(ctx, data)
	if err != nil {
		p.Node.Log.Warn("what recert is going to rewrite is not known beforehand", "op", p.Request.OperationID, "error", err)
		return nil
	}
	return writeJSON(p.Node.Files, host.Forecast, Counts{len(f.Certificates), len(f.Objects), len(f.Files)})
}

// ReadForecast is what pre-pivot found out; false where it found nothing, or has not yet.
func ReadForecast(files host.Files) (c Counts, found bool) {
	err := readJSON(files, host.Forecast, &c)
	return c, err == nil
}

// Forecaster reads the running cluster's store and the node's files, and changes nothing.
type Forecaster interface {
	// Forecast says what Recert.Run would do for this recert_config.json.
	Forecast(ctx context.Context, config []byte) (Forecast, error)
}

// forecast asks what recert would do; a cluster that cannot be asked gives no forecast,
// and the preview says why.
func (p *Preview) forecast(ctx context.Context, n Node, r Request) {
	if n.Forecaster == nil {
		return
	}
	f, err := forecast(ctx, n, r)
	if err != nil {
		p.RecertUnknown = err.Error()
		return
	}
	p.Recert = &f
}

func forecast(ctx context.Context, n Node, r Request) (Forecast, error) {
	in, err := n.Cluster.Inputs(ctx, r.PullSecretRefName)
	if err != nil {
		return Forecast{}, fmt.Errorf("ask the cluster: %w", err)
	}
	config, err := renderRecert(r, in, (&PrePivot{Node: n}).primary(in.NodeAddresses))
	if err != nil {
		return Forecast{}, err
	}
	data, err := json.Marshal(config)
	if err != nil {
		return Forecast{}, fmt.Errorf("encode recert's configuration: %w", err)
	}
	return n.Forecaster.Forecast(ctx, data)
}
