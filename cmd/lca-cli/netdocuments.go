package main

import (
	"context"
	"errors"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// networkPorts are what the network verbs need of the node.
func networkPorts(node host.Node) func(context.Context) (network.Ports, error) {
	return func(context.Context) (network.Ports, error) {
		both, ok := node.Network.(interface {
			host.NetworkTransaction
			host.NetworkPlanner
		})
		if !ok {
			return network.Ports{}, errors.New("the network of this node cannot be changed in steps")
		}
		return network.Ports{Network: node.Network, Transaction: both, Planner: both, Prober: node.Prober}, nil
	}
}
