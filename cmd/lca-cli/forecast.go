package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

// forecaster asks the recert engine for its plan, over the running cluster's etcd, read-only.
type forecaster struct {
	files *files.Files
	log   *slog.Logger
}

// Forecast implements ipconfig.Forecaster.
func (f forecaster) Forecast(ctx context.Context, config []byte) (ipconfig.Forecast, error) {
	cfg, err := recert.ParseConfig(config)
	if err != nil {
		return ipconfig.Forecast{}, err
	}
	ports := recert.Ports{Keystore: etcd.NewLive(etcd.LiveConfig{}), Files: f.files, Log: f.log}
	plan, err := recert.New(ports).Plan(ctx, cfg)
	if err != nil {
		return ipconfig.Forecast{}, err
	}
	return summarise(plan), nil
}

func summarise(plan *recert.Plan) (out ipconfig.Forecast) {
	for _, c := range plan.Certificates {
		out.Certificates = append(out.Certificates, c.Subject)
	}
	for _, c := range plan.Changes {
		switch {
		case c.Kind == recert.Delete:
			out.Deleted = append(out.Deleted, c.Where)
		case strings.HasPrefix(c.Where, "/kubernetes.io/"), c.Kind == recert.Member:
			out.Objects = append(out.Objects, c.Where)
		default:
			out.Files = append(out.Files, c.Where)
		}
	}
	out.Blocked, out.Leftovers = words(plan.Blocked), words(plan.Leftovers)
	for _, list := range []*[]string{&out.Certificates, &out.Objects, &out.Files} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

func words(notes []recert.Note) (out []string) {
	for _, n := range notes {
		out = append(out, n.Where+": "+n.Why)
	}
	return out
}
