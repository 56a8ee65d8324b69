package main

import (
	"context"
	"log/slog"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
)

// forecaster asks the recert engine for its plan, over the running cluster's etcd, read-only.
type forecaster struct {
	files *files.Files
	log   *slog.Logger
}

// Forecast implements change.Forecaster.
func (f forecaster) Forecast(ctx context.Context, text []byte) (change.Forecast, error) {
	cfg, err := config.Parse(text)
	if err != nil {
		return change.Forecast{}, err
	}
	ports := recert.Ports{Keystore: etcd.NewLive(etcd.LiveConfig{}), Files: f.files, Log: f.log}
	plan, err := recert.New(ports).Plan(ctx, cfg)
	if err != nil {
		return change.Forecast{}, err
	}
	return summarizePlan(plan), nil
}

func summarizePlan(plan *recert.Plan) (out change.Forecast) {
	for _, c := range plan.Certificates {
		out.Certificates = append(out.Certificates, c.Subject)
	}
	for _, c := range plan.Changes {
		switch {
		case c.Kind == inspect.Delete:
			out.Deleted = append(out.Deleted, c.Where)
		case strings.HasPrefix(c.Where, "/kubernetes.io/"), c.Kind == inspect.Member:
			out.Objects = append(out.Objects, c.Where)
		default:
			out.Files = append(out.Files, c.Where)
		}
	}
	out.Blocked, out.Warnings, out.Leftovers = describeNotes(plan.Blocked), describeNotes(plan.Warnings), describeNotes(plan.Leftovers)
	out.NotRead = describeNotes(plan.NotRead)
	for _, list := range []*[]string{&out.Certificates, &out.Objects, &out.Files} {
		slices.Sort(*list)
		*list = slices.Compact(*list)
	}
	return out
}

func describeNotes(notes []inspect.Note) (out []string) {
	for _, n := range notes {
		out = append(out, n.Where+": "+n.Why)
	}
	return out
}
