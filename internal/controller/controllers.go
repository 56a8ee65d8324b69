// Package controller lists every controller of the agent and the role that runs it. cmd/lifecycle-agent calls it; each
// controller has a folder of its own below, and none imports another.
package controller

import (
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/netenactment"
)

// Role is where a controller runs, which decides what it may do.
type Role string

const (
	// Operator runs once for the cluster, unprivileged: what needs no host.
	Operator Role = "operator"
	// Node runs on every node, privileged: what observes or changes its own node.
	Node Role = "node"
)

const (
	// Namespace is where the agent is deployed, and the lease of its operator role.
	Namespace = "openshift-lifecycle-agent"
	// OperatorLease is what the operator's replicas elect a leader by, and what shows nodes that one runs.
	OperatorLease = "lifecycle-agent.lca.openshift.io"
)

// Controller is a part of the agent that --controllers enables or disables by name.
type Controller struct {
	Name    string
	Role    Role
	Summary string
	setup   func(ctrl.Manager, Options) error
}

// All lists the controllers, in the order in which they are set up.
func All() []Controller {
	return []Controller{
		{"ipam", Operator, "allocates the addresses of pools to claims", addAddresses},
		{"hostnet", Operator, "claims addresses for machines and hosts and renders their Ignition configs", addHostNetworks},
		{"netpolicy", Operator, "rolls network policies out, node by node", addNetworkPolicies},
		{"netmachineconfig", Operator, "writes the MachineConfigs of network policies for machine config pools", addNetworkMachineConfigs},
		{"relocation", Operator, "brings a running cluster to what its site wants", addRelocation},
		{"ipconfig", Node, "changes the address of a single-node cluster", addIPConfig},
		{"seedgen", Node, "makes a seed image of a single-node cluster", addSeedGenerator},
		{"nodenetwork", Node, "publishes what the node's network is like", addNodeNetwork},
		{"netenactment", Node, "enacts network policies on the node", addNetEnactments},
	}
}

// Options are what the controllers need besides the manager.
type Options struct {
	Log *slog.Logger
	// Webhooks serves admission requests, with the certificate that the manager was given.
	Webhooks bool

	// NodeName and Host are the node that the agent runs on. The operator role leaves them and what follows empty.
	NodeName string
	Host     ipconfig.Node
	// Network is what network policies need of the node.
	Network netenactment.Node
	// Version of the program, as enactments and states name it.
	Version string
	// RecertImage is the image of the recert container engine that was shipped with the agent.
	RecertImage string
	// InstallCLI puts the agent's lca-cli on the node; nil leaves the node's own.
	InstallCLI func() error
}

// Setup adds controllers to the manager.
func Setup(mgr ctrl.Manager, controllers []Controller, o Options) error {
	for _, c := range controllers {
		if err := c.setup(mgr, o); err != nil {
			return fmt.Errorf("set up controller %s: %w", c.Name, err)
		}
		o.Log.Info("controller enabled", "controller", c.Name)
	}
	return nil
}

// Enabled picks the role's controllers as kube-controller-manager does: "name" enables one, "-name" disables it, and "*"
// enables all that are not named.
func Enabled(role Role, selectors []string) ([]Controller, error) {
	known := ofRole(role)
	for _, s := range selectors {
		if name := strings.TrimPrefix(s, "-"); s != "*" && !slices.Contains(names(known), name) {
			return nil, fmt.Errorf("unknown controller %q: role %s has %s", name, role, strings.Join(names(known), ", "))
		}
	}
	enabled := slices.DeleteFunc(known, func(c Controller) bool {
		return slices.Contains(selectors, "-"+c.Name) || !slices.Contains(selectors, c.Name) && !slices.Contains(selectors, "*")
	})
	if len(enabled) == 0 {
		return nil, errors.New("no controller is enabled: --controllers=" + strings.Join(selectors, ","))
	}
	return enabled, nil
}

func ofRole(role Role) []Controller {
	return slices.DeleteFunc(All(), func(c Controller) bool { return c.Role != role })
}

func names(list []Controller) []string {
	all := make([]string, 0, len(list))
	for _, c := range list {
		all = append(all, c.Name)
	}
	return all
}

// Describe lists the role's controllers for --help, one a line.
func Describe(role Role) string {
	var text strings.Builder
	list, width := ofRole(role), 0
	for _, name := range names(list) {
		width = max(width, len(name))
	}
	for _, c := range list {
		fmt.Fprintf(&text, "  %-*s  %s\n", width, c.Name, c.Summary)
	}
	return text.String()
}

func addIPConfig(mgr ctrl.Manager, o Options) error {
	m, err := ipconfig.NewMetrics(metrics.Registry, time.Now)
	if err != nil {
		return fmt.Errorf("register the ipconfig metrics: %w", err)
	}
	r := &ipconfig.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Log: o.Log,
		Node: o.Host, Metrics: m,
		Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) },
		RecertImage: o.RecertImage, InstallCLI: o.InstallCLI,
	}
	return mgr.Add(&servingNode{
		name: o.NodeName, kind: "IPConfig", reader: mgr.GetAPIReader(), log: o.Log, start: func() error { return r.SetupWithManager(mgr) },
	})
}
