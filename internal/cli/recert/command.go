// Package recert holds the verbs of "lca-cli recert", which read and change the certificates and addresses of a stopped cluster, or only
// read those of a running one. cmd/lca-cli builds them; they parse flags and call the domain package of the same name. They must not
// import an adapter.
package recert

import (
	"context"
	"fmt"
	"io"
	"log/slog"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/output"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

// Source is where a verb finds the cluster.
type Source struct {
	// Root is the root directory of the node; "/" for the node this program runs on.
	Root string
	// Data is etcd's data directory below Root, opened by the cluster's own etcd on a private socket.
	Data string
	// Endpoint is an etcd that runs already and is used instead; its certificates default to the node's own.
	Endpoint, Cert, CA string
	// Write: the verb changes the cluster.
	Write bool
}

// Wiring is what main gives the verbs.
type Wiring struct {
	// Ports opens the cluster; nothing is touched before a verb reads.
	Ports func(s Source) (recert.Ports, error)
	// Stopped returns why the cluster of this node must not be changed now; nil when it may be.
	Stopped func(ctx context.Context) error
	// Lock takes the node's lock for a verb.
	Lock func(ctx context.Context, holder string) (release func(), err error)
	Log  *slog.Logger
	// Answers go to Out, narration to the log.
	Out io.Writer
}

// Command is "recert" with its verbs.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "recert",
		Short: "Find, change and verify the certificates and addresses of a stopped cluster",
		Long: "Work on etcd's data and the files of a node whose cluster is stopped, as configured in recert_config.json.\n" +
			"plan, verify and scan change nothing; with --endpoint they also read a running cluster.",
	}
	cmd.AddCommand(newPlanCommand(w), newApplyCommand(w), newVerifyCommand(w), newScanCommand(w))
	return cmd
}

// call is one use of a verb.
type call struct {
	source Source
	config string
	format string
}

// newVerbCommand makes a command with the flags that all verbs share.
func newVerbCommand(name, short, long string, run func(context.Context, call, output.Format) error) *cobra.Command {
	c := &call{}
	cmd := &cobra.Command{
		Use: name, Args: cobra.NoArgs, Short: short, Long: long,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f, err := output.Parse(c.format)
			if err != nil {
				return err
			}
			return run(cmd.Context(), *c, f)
		},
	}
	flags := cmd.Flags()
	flags.StringVarP(&c.format, "output", "o", string(output.Text), "text, yaml or json")
	flags.StringVar(&c.config, "config", host.RecertConfig, "configuration file, a path below --root")
	flags.StringVar(&c.source.Root, "root", "/", "root directory of the node")
	flags.StringVar(&c.source.Data, "etcd-data", host.EtcdData, "etcd's data directory, below --root")
	commandline.URL(flags, &c.source.Endpoint, "endpoint", "URL of a running etcd, instead of --etcd-data")
	flags.StringVar(&c.source.Cert, "cert", "", "client certificate for --endpoint, its key beside it as .key (default: the node's own)")
	flags.StringVar(&c.source.CA, "cacert", "", "authorities for --endpoint (default: the node's own)")
	return cmd
}

// openEngine opens the cluster.
func (w Wiring) openEngine(s Source) (*recert.Engine, recert.Ports, error) {
	ports, err := w.Ports(s)
	if err != nil {
		return nil, recert.Ports{}, fmt.Errorf("open the cluster: %w", err)
	}
	return recert.New(ports), ports, nil
}
