package lab

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/yaml"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// ErrNoCluster says that the lab's node runs no cluster.
var ErrNoCluster = errors.New("the lab has no kubeconfig")

// fieldOwner is who owns the fields that Apply sets (server-side apply).
const fieldOwner = "lab"

// RESTConfig returns the administrator's access to the node's cluster, seen from the LAN. The server is addressed where the
// node is now, not where it was when it was made, so it keeps working after the node has moved.
func (l *Lab) RESTConfig(ctx context.Context) (*rest.Config, error) {
	if _, err := os.Stat(l.Kubeconfig()); err != nil {
		return nil, fmt.Errorf("lab %s: %w", l.Name, ErrNoCluster)
	}
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the lab's kubeconfig: %w", err)
	}
	config.Dial = l.Net.DialContext
	config.Timeout = 60 * time.Second
	address, err := machine.Output(ctx, l.Machine, "cat", "/run/nodeip-configuration/primary-ip")
	if err != nil {
		return nil, fmt.Errorf("ask the node for its address: %w", err)
	}
	server, err := url.Parse(config.Host)
	if err != nil {
		return nil, fmt.Errorf("server in the lab's kubeconfig: %w", err)
	}
	server.Host = net.JoinHostPort(address, server.Port())
	config.Host = server.String()
	return config, nil
}

// Apply applies a stream of YAML or JSON documents and returns "kind/name" of those that were applied.
func (l *Lab) Apply(ctx context.Context, manifests io.Reader) ([]string, error) {
	config, err := l.RESTConfig(ctx)
	if err != nil {
		return nil, err
	}
	client, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	known, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(known))
	var applied []string
	decoder := yaml.NewYAMLOrJSONDecoder(manifests, 4096)
	for {
		object := &unstructured.Unstructured{}
		if err := decoder.Decode(object); errors.Is(err, io.EOF) {
			return applied, nil
		} else if err != nil {
			return applied, fmt.Errorf("read manifest: %w", err)
		}
		if len(object.Object) == 0 {
			continue
		}
		name := strings.ToLower(object.GetKind()) + "/" + object.GetName()
		if err := applyOne(ctx, client, mapper, object); err != nil {
			return applied, fmt.Errorf("apply %s: %w", name, err)
		}
		applied = append(applied, name)
	}
}

func applyOne(ctx context.Context, client dynamic.Interface, mapper *restmapper.DeferredDiscoveryRESTMapper, object *unstructured.Unstructured) error {
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	if err != nil {
		return err
	}
	body, err := json.Marshal(object)
	if err != nil {
		return err
	}
	force := true
	_, err = client.Resource(mapping.Resource).Namespace(object.GetNamespace()).Patch(ctx, object.GetName(), types.ApplyPatchType, body,
		metav1.PatchOptions{FieldManager: fieldOwner, Force: &force})
	return err
}
