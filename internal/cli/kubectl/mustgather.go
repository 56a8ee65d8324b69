package kubectl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"path"
	"strings"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// kinds are collected whole. Secrets and pods are not: both carry what must not leave the cluster.
var kinds = []schema.GroupVersionKind{
	{Group: "lca.openshift.io", Version: "v1", Kind: "IPConfig"},
	{Group: "lca.openshift.io", Version: "v1", Kind: "SeedGenerator"},
	{Group: "ipam.metal3.io", Version: "v1alpha1", Kind: "IPPool"},
	{Group: "ipam.metal3.io", Version: "v1alpha1", Kind: "IPClaim"},
	{Group: "ipam.metal3.io", Version: "v1alpha1", Kind: "IPAddress"},
	{Group: "ipam.lca.openshift.io", Version: "v1alpha1", Kind: "AddressLock"},
	{Group: "nmstate.io", Version: "v1", Kind: "NodeNetworkConfigurationPolicy"},
	{Group: "nmstate.io", Version: "v1beta1", Kind: "NodeNetworkConfigurationEnactment"},
	{Group: "nmstate.io", Version: "v1beta1", Kind: "NodeNetworkState"},
	{Group: "rhsyseng.github.io", Version: "v1beta1", Kind: "ClusterRelocation"},
}

// gatheredLines of each pod's log.
const gatheredLines = 5000

func (w *Wiring) newMustGatherCommand() *cobra.Command {
	var file string
	cmd := &cobra.Command{
		Use: "must-gather", Args: cobra.NoArgs, Short: "Collect the agent's objects, events and logs into one archive, without secrets",
		Long: "Collect over the API, for support. What lies on the node is not in it: run \"lca-cli must-gather\" there. Keys,\n" +
			"tokens and passwords are blanked; read the archive before you hand it on.",
		Example: "  kubectl lca must-gather --file lca.tar.gz",
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := w.connectCluster()
			if err != nil {
				return err
			}
			now := w.Clock.Now().UTC()
			root := "lca-" + now.Format("20060102-150405")
			if file == "" {
				file = root + ".tar.gz"
			}
			err = archive.Save(file, func(to io.Writer) error {
				a := archive.New(to, root, now, operation.Redact)
				if err := c.collectAll(cmd.Context(), a); err != nil {
					return err
				}
				return a.Close()
			})
			if err == nil {
				fmt.Fprintln(w.Out, file)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&file, "file", "", "the archive to write (default: lca-TIME.tar.gz in this folder)")
	return cmd
}

func (c Cluster) collectAll(ctx context.Context, a *archive.Archive) error {
	for _, kind := range kinds {
		data, err := c.dumpObjects(ctx, kind)
		if meta.IsNoMatchError(err) {
			continue // not installed here
		}
		if err := a.Add(path.Join("objects", strings.ToLower(kind.Kind)+"."+kind.Group+".yaml"), data, err); err != nil {
			return err
		}
	}
	for _, namespace := range []string{corev1.NamespaceDefault, Namespace} {
		data, err := c.dumpEvents(ctx, namespace)
		if err := a.Add(path.Join("events", namespace+".txt"), data, err); err != nil {
			return err
		}
	}
	return c.collectLogs(ctx, a)
}

func (c Cluster) dumpObjects(ctx context.Context, kind schema.GroupVersionKind) ([]byte, error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	if err := c.Client.List(ctx, list); err != nil {
		return nil, err
	}
	var out bytes.Buffer
	for _, o := range list.Items {
		o.SetManagedFields(nil)
		data, err := yaml.Marshal(o.Object)
		if err != nil {
			return nil, fmt.Errorf("encode %s %s: %w", kind.Kind, o.GetName(), err)
		}
		out.WriteString("---\n")
		out.Write(data)
	}
	return out.Bytes(), nil
}

// dumpEvents are those of the agent's objects, one a line; the default namespace has those of objects without one.
func (c Cluster) dumpEvents(ctx context.Context, namespace string) ([]byte, error) {
	var list corev1.EventList
	if err := c.Client.List(ctx, &list, client.InNamespace(namespace)); err != nil {
		return nil, fmt.Errorf("list the events of namespace %s: %w", namespace, err)
	}
	var out bytes.Buffer
	for _, e := range list.Items {
		at := e.LastTimestamp.Time
		if at.IsZero() {
			at = e.EventTime.Time
		}
		fmt.Fprintf(&out, "%s %s %s/%s %s: %s\n", at.UTC().Format("2006-01-02T15:04:05Z"), e.Type,
			e.InvolvedObject.Kind, e.InvolvedObject.Name, e.Reason, e.Message)
	}
	return out.Bytes(), nil
}

// collectLogs adds the logs of the agent's pods, of the containers that run and of those before, and in what state the pods are.
func (c Cluster) collectLogs(ctx context.Context, a *archive.Archive) error {
	pods, err := c.listPods(ctx)
	var states bytes.Buffer
	for _, p := range pods {
		fmt.Fprintf(&states, "%s on %s: %s\n", p.Name, p.Spec.NodeName, p.Status.Phase)
		for _, s := range p.Status.ContainerStatuses {
			fmt.Fprintf(&states, "  %s ready %t, %d restarts, image %s\n", s.Name, s.Ready, s.RestartCount, s.ImageID)
		}
		for _, previous := range []bool{false, true} {
			name := path.Join("logs", p.Name+".log")
			if previous {
				name = path.Join("logs", p.Name+".previous.log")
			}
			var log bytes.Buffer
			logErr := c.copyLog(ctx, &log, p.Name, gatheredLines, previous)
			if previous && logErr != nil {
				continue // most containers have none before
			}
			if err := a.Add(name, log.Bytes(), logErr); err != nil {
				return err
			}
		}
	}
	return a.Add("pods.txt", states.Bytes(), err)
}
