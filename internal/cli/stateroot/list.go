package stateroot

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/snapshot"
)

// Listing is the answer of "stateroot list".
type Listing struct {
	Stateroots []Stateroot `json:"stateroots"`
}

// Stateroot is one system of the node.
type Stateroot struct {
	Name string `json:"name"`
	// Deployment is what boots in it; empty where none is deployed.
	Deployment string `json:"deployment,omitempty"`
	Booted     bool   `json:"booted"`
	Default    bool   `json:"default"`
}

func listStateroots(ctx context.Context, n snapshot.Ports) (Listing, error) {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return Listing{}, fmt.Errorf("list deployments: %w", err)
	}
	names, err := n.Deployments.Stateroots(ctx)
	if err != nil {
		return Listing{}, fmt.Errorf("list stateroots: %w", err)
	}
	var out Listing
	for _, name := range names {
		s := Stateroot{Name: name}
		if d, ok := host.FirstOf(all, name); ok {
			s.Deployment = d.ID()
		}
		for _, d := range all {
			s.Booted = s.Booted || d.Stateroot == name && d.Booted
			s.Default = s.Default || d.Stateroot == name && d.Default
		}
		out.Stateroots = append(out.Stateroots, s)
	}
	return out, nil
}

// Text implements output.Answer.
func (l Listing) Text(w io.Writer) error {
	tw := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(tw, "STATEROOT\tRUNS\tBOOTS NEXT\tDEPLOYMENT")
	for _, s := range l.Stateroots {
		fmt.Fprintf(tw, "%s\t%s\t%s\t%.20s\n", s.Name, yesOrDash(s.Booted), yesOrDash(s.Default), s.Deployment)
	}
	return tw.Flush()
}

func yesOrDash(yes bool) string {
	if yes {
		return "yes"
	}
	return "-"
}
