package ipconfig

import (
	"context"
	"encoding/json"
	"fmt"
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
