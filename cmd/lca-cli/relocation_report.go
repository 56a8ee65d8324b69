package main

import (
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/containers"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/report"
)

// Certificates implements factory.Cluster.
func (c siteCluster) Certificates(ctx context.Context) ([]relocation.Certificate, error) {
	crypto, err := c.Crypto(ctx)
	return crypto.Certificates, err
}

// Crypto implements report.Cluster: it asks recert over the running cluster's etcd, read-only.
func (c siteCluster) Crypto(ctx context.Context) (out report.Crypto, err error) {
	text, err := onsite.RenewalConfig()
	if err != nil {
		return out, fmt.Errorf("form the configuration of the renewal: %w", err)
	}
	cfg, err := config.Parse(text)
	if err != nil {
		return out, fmt.Errorf("configure recert: %w", err)
	}
	engine := recert.New(recert.Ports{Keystore: etcd.NewLive(etcd.LiveConfig{}), Files: c.files})
	lives, plan, err := engine.Lives(ctx, cfg)
	if err != nil {
		return out, fmt.Errorf("ask recert for its plan: %w", err)
	}
	for _, l := range lives {
		out.Certificates = append(out.Certificates, relocation.Certificate{
			Subject: l.Subject, Ends: l.NotAfter, Places: l.Places, Renewed: l.Renewed,
		})
	}
	out.Blocked = describeNotes(plan.Blocked)
	return out, nil
}

// Problems implements report.Cluster.
func (c siteCluster) Problems(ctx context.Context) (out []string, err error) {
	api, err := c.newClient()
	if err != nil {
		return nil, err
	}
	for _, f := range cluster.Health(ctx, api).Findings {
		out = append(out, f.String())
	}
	return out, nil
}

// Encryption implements report.Cluster.
func (c siteCluster) Encryption(ctx context.Context) (string, error) {
	api, err := c.newClient()
	if err != nil {
		return "", err
	}
	return cluster.EncryptionAtRest(ctx, api)
}

// Images implements report.Cluster.
func (c siteCluster) Images(ctx context.Context) (out []report.Image, err error) {
	api, err := c.newClient()
	if err != nil {
		return nil, err
	}
	images, err := cluster.RunningImages(ctx, api)
	for _, i := range images {
		out = append(out, report.Image{Pod: i.Pod, Name: i.Image, ID: i.ID, Always: i.Always})
	}
	return out, err
}

// shippingReport builds what the report reads.
func (o opener) shippingReport(ctx context.Context, lock host.NodeLock) (report.Ports, error) {
	node, _, err := o.openNode(ctx, false)
	if err != nil {
		return report.Ports{}, err
	}
	fs, runner := files.New("/"), run.New(run.Options{})
	return report.Ports{
		Node: node, Cluster: siteCluster{localCluster{files: fs}}, Lock: lock, Clock: flow.SystemClock{},
		Reports: systemReports{
			containers.New(containers.Options{Runner: runner, Units: node.Units, Log: o.log}),
			ostree.New(ostree.Options{Runner: runner, Files: fs, Log: o.log}),
		},
	}, nil
}
