package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller"
)

// flags of both roles; each command declares those that its role has.
type flags struct {
	kubeconfig      string
	controllers     []string
	metrics, probes string
	secureMetrics   bool
	metricsCerts    string
	debug           bool

	leaderElection bool
	webhookCerts   string
	webhookPort    int

	nodeName, hostRoot string
}

func newOperatorCommand(serve serveRole) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "operator",
		Short: "Run the controllers of the cluster: pools, claims, machines' Ignition configs",
		Long: `Run the controllers that serve the whole cluster and need no access to a host.

One replica holds a lease and reconciles. The others answer admission requests and take over when it ends. The pod
needs no privilege.

Controllers:
` + controller.Describe(controller.Operator),
		Example: `  lifecycle-agent operator
  lifecycle-agent operator --controllers=ipam             # addresses alone
  lifecycle-agent operator --controllers='*,-hostnet'     # everything but machines and hosts`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return serve(cmd.Context(), controller.Operator, f) },
	}
	f.addFlags(cmd, ":8443", ":8081", true)
	set := cmd.Flags()
	set.BoolVar(&f.leaderElection, "leader-elect", true, "reconcile only while holding the lease; false for a single replica")
	set.StringVar(&f.webhookCerts, "webhook-certs", "",
		"directory with tls.crt and tls.key; serves the webhooks of config/webhook")
	set.IntVar(&f.webhookPort, "webhook-port", 9446, "port of the webhook")
	return cmd
}

func newNodeCommand(serve serveRole) *cobra.Command {
	var f flags
	cmd := &cobra.Command{
		Use:   "node",
		Short: "Run the controllers that observe or change this node: IPConfig, SeedGenerator",
		Long: `Run the controllers that observe or change the node they run on. They hand changes to lca-cli, which runs on the
node itself.

The pod is privileged, uses the host's process IDs and network, and mounts the host's root directory. A plain service
on the node uses the root directory itself.

Controllers:
` + controller.Describe(controller.Node),
		Example: `  lifecycle-agent node --node-name=$(NODE_NAME) --host-root=/host
  lifecycle-agent node --node-name=sno --kubeconfig=/etc/kubernetes/kubeconfig    # as a plain service`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if f.nodeName == "" {
				return errors.New("no node name: set NODE_NAME from spec.nodeName of the pod, or --node-name")
			}
			return serve(cmd.Context(), controller.Node, f)
		},
	}
	f.addFlags(cmd, "127.0.0.1:29443", "127.0.0.1:29444", false)
	set := cmd.Flags()
	set.StringVar(&f.nodeName, "node-name", os.Getenv("NODE_NAME"), "name of the node's Node object; $NODE_NAME by default")
	set.StringVar(&f.hostRoot, "host-root", defaultHostRoot(), "where the node's root directory is mounted; /host in the pod")
	return cmd
}

// addFlags adds the flags that both roles have.
func (f *flags) addFlags(cmd *cobra.Command, metrics, probes string, secure bool) {
	set := cmd.Flags()
	set.SortFlags = false
	set.StringSliceVar(&f.controllers, "controllers", []string{"*"},
		"controllers to run: '*' for all, 'name' to enable one, '-name' to disable one; a name takes precedence over '*'")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; empty uses the pod's service account")
	set.StringVar(&f.metrics, "metrics-bind-address", metrics, "address of Prometheus metrics; 0 serves none")
	set.BoolVar(&f.secureMetrics, "metrics-secure", secure, "serve metrics over HTTPS, to clients that RBAC allows to get /metrics")
	set.StringVar(&f.metricsCerts, "metrics-certs", "",
		"directory with tls.crt and tls.key for the metrics; the agent signs a certificate itself while there is none")
	set.StringVar(&f.probes, "health-probe-bind-address", probes, "address of /healthz and /readyz; 0 serves none")
	set.BoolVar(&f.debug, "debug", false, "log debug messages")
}

// defaultHostRoot is /host where a host's root directory is mounted there, as in the pod.
func defaultHostRoot() string {
	if info, err := os.Stat("/host/etc"); err == nil && info.IsDir() {
		return "/host"
	}
	return "/"
}
