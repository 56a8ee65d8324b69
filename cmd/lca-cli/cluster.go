package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/change"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/preflight"
)

// operatorNamespace is where a recert pull secret is looked for.
const operatorNamespace = "openshift-lifecycle-agent"

// requestTimeout bounds a single call to an API server that may be half dead.
const requestTimeout = 10 * time.Second

// localCluster is this node's API server, reached over loopback with the node's own kubeconfig.
type localCluster struct {
	files *files.Files
}

func (c localCluster) newClient() (kube.Client, error) {
	data, err := c.files.Read(host.LocalKubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", host.LocalKubeconfig, err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(data)
	if err != nil {
		return nil, fmt.Errorf("decode %s: %w", host.LocalKubeconfig, err)
	}
	config.Timeout = requestTimeout
	scheme := runtime.NewScheme()
	if err := errors.Join(cluster.AddToScheme(scheme), lcav1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("register types: %w", err)
	}
	return kube.Connect(config, scheme)
}

// Inputs implements change.Cluster.
func (c localCluster) Inputs(ctx context.Context, pullSecretRef string) (change.Inputs, error) {
	api, err := c.newClient()
	if err != nil {
		return change.Inputs{}, err
	}
	in, err := cluster.ReadRecertInputs(ctx, api)
	if err != nil {
		return change.Inputs{}, fmt.Errorf("read the inputs of recert: %w", err)
	}
	node, err := cluster.SingleNode(ctx, api)
	if err != nil {
		return change.Inputs{}, fmt.Errorf("read the Node object: %w", err)
	}
	out := change.Inputs{
		InstallConfig: in.InstallConfig, IngressCN: in.IngressCN, Crypto: map[string][]byte{},
		NodeAddresses: cluster.InternalIPs(node),
	}
	for _, f := range in.Files {
		out.Crypto[f.Name] = f.Data
	}
	out.PullSecret, err = c.pullSecret(ctx, api, pullSecretRef)
	return out, err
}

func (c localCluster) pullSecret(ctx context.Context, api kube.Client, ref string) ([]byte, error) {
	if ref == "" {
		data, err := c.files.Read(host.KubeletConfigJSON)
		if errors.Is(err, fs.ErrNotExist) {
			return nil, nil
		}
		return data, err
	}
	var s corev1.Secret
	if err := api.Get(ctx, types.NamespacedName{Namespace: operatorNamespace, Name: ref}, &s); err != nil {
		return nil, fmt.Errorf("read pull secret %s/%s: %w", operatorNamespace, ref, err)
	}
	data, ok := s.Data[corev1.DockerConfigJsonKey]
	if !ok {
		return nil, fmt.Errorf("pull secret %s/%s has no key %s", operatorNamespace, ref, corev1.DockerConfigJsonKey)
	}
	return data, nil
}

// Facts implements change.Cluster.
func (c localCluster) Facts(ctx context.Context) (preflight.Facts, error) {
	api, err := c.newClient()
	if err != nil {
		return preflight.Facts{}, err
	}
	ic, err := cluster.ReadInstallConfig(ctx, api)
	if err != nil {
		return preflight.Facts{}, fmt.Errorf("read the install-config: %w", err)
	}
	settings, err := cluster.ReadNetworkSettings(ctx, api)
	if err != nil {
		return preflight.Facts{}, fmt.Errorf("read the network settings: %w", err)
	}
	f := preflight.Facts{
		ControlPlaneNodes: 1, ClusterNetworks: ic.ClusterNetworks, ServiceNetworks: ic.ServiceNetworks,
		JoinNetworks: settings.InternalNetworks, Proxy: preflight.Proxy(settings.Proxy),
	}
	if f.DnsmasqMachineConfig, err = cluster.HasDnsmasqMachineConfig(ctx, api); err != nil {
		return preflight.Facts{}, fmt.Errorf("look for the dnsmasq MachineConfig: %w", err)
	}
	if f.Encryption, err = cluster.EncryptionAtRest(ctx, api); err != nil {
		return preflight.Facts{}, fmt.Errorf("read the encryption of etcd: %w", err)
	}
	node, err := cluster.SingleNode(ctx, api)
	var topology *cluster.TopologyError
	if errors.As(err, &topology) {
		f.ControlPlaneNodes, f.OtherNodes, err = topology.ControlPlane, topology.Workers, nil
	}
	if node != nil {
		f.Current.IPv4, f.Current.IPv6 = cluster.Addresses(node, ic)
	}
	return f, err
}

// Ready implements change.Cluster.
func (c localCluster) Ready(ctx context.Context) error {
	api, err := c.newClient()
	if err != nil {
		return err
	}
	_, err = cluster.SingleNode(ctx, api)
	return err
}

// NodeReady implements change.Cluster.
func (c localCluster) NodeReady(ctx context.Context, boot string) error {
	api, err := c.newClient()
	if err != nil {
		return err
	}
	node, err := cluster.SingleNode(ctx, api)
	if err != nil {
		return err
	}
	return cluster.ReadyInBoot(node, boot)
}
