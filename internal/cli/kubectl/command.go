// Package kubectl is "kubectl lca": an address change asked for and followed over the Kubernetes API, from any machine. It knows the
// API alone; what needs the node is lca-cli's. cmd/kubectl-lca wires it.
package kubectl

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
)

// Namespace is where the agent is deployed.
const Namespace = "openshift-lifecycle-agent"

// Cluster is a connection to a cluster.
type Cluster struct {
	// Client reads and writes objects, Kube reads logs.
	Client client.Client
	Kube   kubernetes.Interface
	// Server is the URL of the API, for messages.
	Server string
}

// Wiring is what the verbs need.
type Wiring struct {
	Out   io.Writer
	Clock flow.Clock
	// Connect reads a kubeconfig; empty texts are its defaults.
	Connect func(kubeconfig, kubeContext string) (Cluster, error)

	kubeconfig, kubeContext string
}

// Command is the program.
func Command(w Wiring) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "kubectl-lca",
		Short: "Change the address of a single-node cluster, and follow the change",
		Long: `Change the address of a single-node cluster, and follow the change, over the Kubernetes API.
The verbs fleet, ipam, network, relocation and seed write and check files, and need no cluster.

kubectl and oc run this program as "kubectl lca" and "oc lca" when it is in the PATH.`,
		Annotations:  map[string]string{cobra.CommandDisplayNameAnnotation: "kubectl lca"},
		SilenceUsage: true, SilenceErrors: true,
	}
	set := cmd.PersistentFlags()
	set.StringVar(&w.kubeconfig, "kubeconfig", "", "kubeconfig file (default: as kubectl)")
	set.StringVar(&w.kubeContext, "context", "", "context of the kubeconfig (default: its current one)")
	cmd.AddCommand(w.newStatusCommand(), w.newPlanCommand(), w.newRehearseCommand(), w.newChangeCommand(), w.newRollbackCommand(),
		w.newCommitCommand(), w.newLogsCommand(), w.newMustGatherCommand())
	return cmd
}

func (w *Wiring) connectCluster() (Cluster, error) {
	c, err := w.Connect(w.kubeconfig, w.kubeContext)
	if err != nil {
		return Cluster{}, fmt.Errorf("connect to the cluster: %w", err)
	}
	return c, nil
}

// requestTimeout bounds one call to an API that goes away during a change.
const requestTimeout = 20 * time.Second

// getIPConfig reads the IPConfig.
func (c Cluster) getIPConfig(ctx context.Context) (*lcav1.IPConfig, error) {
	ctx, cancel := context.WithTimeout(ctx, requestTimeout)
	defer cancel()
	ipc := &lcav1.IPConfig{}
	err := c.Client.Get(ctx, client.ObjectKey{Name: lcav1.IPConfigName}, ipc)
	switch {
	case apierrors.IsNotFound(err):
		return nil, fmt.Errorf("ipconfig %s does not exist yet: the agent of the node role creates it; see its pods with "+
			"\"kubectl get pods -n %s\"", lcav1.IPConfigName, Namespace)
	case err != nil:
		return nil, fmt.Errorf("get ipconfig %s from %s: %w", lcav1.IPConfigName, c.Server, err)
	}
	return ipc, nil
}
