// Command kubectl-lca is the plugin "kubectl lca". This package only wires; nothing may import it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/commandline"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/fleet"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/kubectl"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/network"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/seedfiles"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/sitefiles"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/version"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	ctrl.SetLogger(logr.Discard())
	err := commandline.Execute(ctx, newRootCommand(os.Stdout), os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintf(os.Stderr, "kubectl lca: %s\n", operation.Redact([]byte(err.Error())))
		os.Exit(exitCode(err))
	}
}

func exitCode(err error) int {
	var usage *commandline.UsageError
	if errors.As(err, &usage) {
		return commandline.UsageExit
	}
	return 1
}

func newRootCommand(out io.Writer) *cobra.Command {
	cmd := kubectl.Command(kubectl.Wiring{Out: out, Clock: flow.SystemClock{}, Connect: connectCluster})
	cmd.Version = version.Get().String()
	cmd.AddCommand(newFileCommands(out, func(ctx context.Context) (*manifest.Inventory, error) {
		flag := func(name string) string { return cmd.PersistentFlags().Lookup(name).Value.String() }
		config, err := readKubeconfig(flag("kubeconfig"), flag("context"))
		if err != nil {
			return nil, err
		}
		return addressRecords(ctx, config)
	})...)
	return cmd
}

// newFileCommands are the verbs that plan and render on a workstation: they read and write files, and but for "ipam fsck" need no
// cluster.
func newFileCommands(out io.Writer, records func(context.Context) (*manifest.Inventory, error)) []*cobra.Command {
	random := rand.NewPCG(rand.Uint64(), rand.Uint64())
	return []*cobra.Command{
		ipam.Command(ipam.Wiring{In: os.Stdin, Out: out, Now: time.Now, Rand: random, Cluster: records}),
		fleet.Command(fleet.Wiring{Out: out}),
		sitefiles.Command(sitefiles.ConfigWiring{In: os.Stdin, Out: out}, sitefiles.SitesWiring{Out: out, Now: time.Now, Rand: random}),
		network.DocumentsCommand(network.Documents{In: os.Stdin, Out: out}),
		seedfiles.Command(seedfiles.Wiring{Out: out, ReadInput: os.ReadFile}),
	}
}

// readKubeconfig finds the cluster as kubectl does: the flag, $KUBECONFIG, ~/.kube/config.
func readKubeconfig(kubeconfig, kubeContext string) (*rest.Config, error) {
	rules := clientcmd.NewDefaultClientConfigLoadingRules()
	rules.ExplicitPath = kubeconfig
	config, err := clientcmd.NewNonInteractiveDeferredLoadingClientConfig(rules,
		&clientcmd.ConfigOverrides{CurrentContext: kubeContext}).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("read the kubeconfig: %w", err)
	}
	return config, nil
}

func connectCluster(kubeconfig, kubeContext string) (kubectl.Cluster, error) {
	config, err := readKubeconfig(kubeconfig, kubeContext)
	if err != nil {
		return kubectl.Cluster{}, err
	}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), lcav1.AddToScheme(scheme)); err != nil {
		return kubectl.Cluster{}, fmt.Errorf("register types: %w", err)
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return kubectl.Cluster{}, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	kube, err := kubernetes.NewForConfig(config)
	if err != nil {
		return kubectl.Cluster{}, fmt.Errorf("make a client for %s: %w", config.Host, err)
	}
	return kubectl.Cluster{Client: api, Kube: kube, Server: config.Host}, nil
}
