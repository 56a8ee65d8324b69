package seedgen

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	clusterv1 "open-cluster-management.io/api/cluster/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

const hubModule = "open-cluster-management.io/api"

var shared = apitest.New(apitest.Options{
	CRDs: []string{"lca.openshift.io_*.yaml"},
	OpenShiftCRDs: []string{
		"apiservers.config.openshift.io", "clusteroperators.config.openshift.io", "infrastructures.config.openshift.io",
		"clusterversions.config.openshift.io", "proxies.config.openshift.io",
		"machineconfigs.machineconfiguration.openshift.io", "machineconfigpools.machineconfiguration.openshift.io",
	},
	ModuleCRDs:  map[string][]string{hubModule: {"operator/v1/*_klusterlets.crd.yaml"}},
	AddToScheme: []func(*runtime.Scheme) error{cluster.AddToScheme},
})

// hub is the API server of a hub, with the real definition of ManagedCluster.
var hub = apitest.New(apitest.Options{
	CRDs:        []string{"lca.openshift.io_ipconfigs.yaml"},
	ModuleCRDs:  map[string][]string{hubModule: {"cluster/v1/*_managedclusters.crd.yaml", "addon/v1alpha1/*_managedclusteraddons.crd.yaml"}},
	AddToScheme: []func(*runtime.Scheme) error{clusterv1.Install},
	Edit:        func(*apiextensionsv1.CustomResourceDefinition) {},
})

func TestMain(m *testing.M) {
	code := shared.Run(m)
	if hub.Stop() != nil {
		code = max(code, 1)
	}
	os.Exit(code)
}

const (
	managed   = "sno"
	clusterID = "0b1c2d3e-0000-4000-8000-000000000001"
	image     = "registry.example.com/seeds/sno:4.20.3"
	auth      = `{"auths":{"registry.example.com":{"auth":"cGxhbnRlZC1zZWNyZXQ6cHc="}}}`
)

// world is a cluster with a healthy API, its hub, a fake node, and the controller between them.
type world struct {
	t      testing.TB
	server *apitest.Server
	api    client.Client // the user's
	hub    client.Client // of the hub's administrator
	far    *apitest.Server
	node   *fakeNode
	r      *Reconciler
	now    time.Time
	// events the API took.
	events []string
	// budget is how many more changes succeed, of API, hub and node; nil is no limit.
	budget *int
	// away makes the hub silent.
	away     bool
	who      rest.ImpersonationConfig
	registry *prometheus.Registry
}

func newWorld(t testing.TB) *world {
	t.Helper()
	server := shared.ServerOrMemory(t)
	w := &world{t: t, server: server, api: server.Client, node: newFakeNode(), now: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)}
	w.node.writing = w.spend
	w.deleteSeedGenerator()
	t.Cleanup(w.deleteSeedGenerator)
	w.serveKlusterlets(false)
	w.furnish()
	w.restart()
	require.Eventually(t, func() bool { // the API server follows new roles by and by
		_, err := w.r.ReadSecret(t.Context(), lcav1.SeedSecretName)
		return client.IgnoreNotFound(err) == nil
	}, 5*time.Minute, 50*time.Millisecond, "the account may read the Secret")
	return w
}

func (w *world) deleteSeedGenerator() {
	sg := &lcav1.SeedGenerator{ObjectMeta: metav1.ObjectMeta{Name: lcav1.SeedGeneratorName}}
	require.NoError(w.t, client.IgnoreNotFound(w.api.Delete(context.Background(), sg)))
}

// spend counts a change, or fails it as the death of the agent does.
func (w *world) spend() error {
	if w.budget != nil {
		if *w.budget == 0 {
			return errors.New("the agent is dead")
		}
		*w.budget--
	}
	return nil
}

// restart gives the world a new agent, as a restarted pod is one.
func (w *world) restart() {
	w.t.Helper()
	w.registry = prometheus.NewRegistry()
	metrics, err := NewMetrics(w.registry)
	require.NoError(w.t, err)
	c := w.connect(w.server, w.who)
	readSecret := func(ctx context.Context, name string) (*corev1.Secret, error) { // an API in memory has no tokens
		secret := &corev1.Secret{}
		return secret, w.api.Get(ctx, client.ObjectKey{Namespace: Namespace, Name: name}, secret)
	}
	if w.server.Config != nil {
		readSecret = AsAccount(w.server.Config, w.api)
	}
	w.r = &Reconciler{
		Client: c, Reader: c, ReadSecret: readSecret, Log: slog.New(slog.DiscardHandler), Node: w.node.node(), Metrics: metrics,
		Now: func() time.Time { return w.now }, Random: func() uint16 { return 0xbeef },
		Hub: func(kubeconfig []byte) (client.Client, string, error) {
			_, err := cluster.HubConfig(kubeconfig)
			if err != nil {
				return nil, "", err
			}
			return w.distant(w.connect(w.hubServer(), rest.ImpersonationConfig{})), "https://hub.example.com:6443", nil
		},
	}
}

// hubServer is the hub's API: one for the world, also where it is in memory.
func (w *world) hubServer() *apitest.Server {
	w.t.Helper()
	if w.far == nil {
		w.far = hub.ServerOrMemory(w.t)
	}
	return w.far
}

// connect makes a client whose changes count.
func (w *world) connect(server *apitest.Server, who rest.ImpersonationConfig) client.WithWatch {
	base := server.Client
	if server.Config != nil { // an API in memory knows no rights
		config := rest.CopyConfig(server.Config)
		config.QPS = -1
		config.Impersonate = who
		var err error
		base, err = client.NewWithWatch(config, client.Options{Scheme: server.Scheme})
		require.NoError(w.t, err)
	}
	return interceptor.NewClient(base, interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if e, ok := o.(*eventsv1.Event); ok {
				err := c.Create(ctx, o, opts...)
				if err == nil {
					w.events = append(w.events, e.Type+" "+e.Reason+": "+e.Note)
				}
				return err
			}
			if err := w.spend(); err != nil {
				return err
			}
			return c.Create(ctx, o, opts...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.DeleteOption) error {
			if err := w.spend(); err != nil {
				return err
			}
			return c.Delete(ctx, o, opts...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch, opts ...client.PatchOption) error {
			if err := w.spend(); err != nil {
				return err
			}
			return c.Patch(ctx, o, p, opts...)
		},
		SubResourcePatch: func(ctx context.Context, c client.Client, sub string, o client.Object, p client.Patch, opts ...client.SubResourcePatchOption) error {
			if err := w.spend(); err != nil {
				return err
			}
			return c.SubResource(sub).Patch(ctx, o, p, opts...)
		},
	})
}

// distant is a hub that can be away.
func (w *world) distant(c client.WithWatch) client.Client {
	away := errors.New("dial tcp 192.0.2.99:6443: connect: connection refused")
	return interceptor.NewClient(c, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, o client.Object, opts ...client.GetOption) error {
			if w.away {
				return away
			}
			return c.Get(ctx, key, o, opts...)
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, opts ...client.CreateOption) error {
			if w.away {
				return away
			}
			return c.Create(ctx, o, opts...)
		},
	})
}
