package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	capi "github.com/lifecycle-agent/lifecycle-agent/api/capi/v1beta2"
	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
)

// namespace is where the operator is deployed, and its lease if there is one.
const namespace = "openshift-lifecycle-agent"

// webhookPort is beside those of metrics and probes; the pod is on the host's network.
const webhookPort = 9446

// syncPatience is how long an answer to "are you ready" may take: kubelet waits one second.
const syncPatience = 500 * time.Millisecond

// newManager connects to the API server.
func newManager(f flags) (ctrl.Manager, error) {
	config, err := clientcmd.BuildConfigFromFlags("", f.kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("connect to the API: %w", err)
	}
	config.QPS, config.Burst = 50, 100 // all steps of a change are told at once after the reboot
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		cluster.AddToScheme, lcav1.AddToScheme, metal3.AddToScheme, capi.AddToScheme, lockv1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                  scheme,
		Metrics:                 server.Options{BindAddress: f.metrics},
		HealthProbeBindAddress:  f.probes,
		WebhookServer:           webhook.NewServer(webhook.Options{Port: webhookPort, CertDir: f.webhookCerts}), // listens if used
		LeaderElection:          f.leaderElection,
		LeaderElectionID:        "lifecycle-agent.lca.openshift.io",
		LeaderElectionNamespace: namespace,
		Cache:                   cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches", synced(mgr.GetCache()))); err != nil {
		return nil, fmt.Errorf("add the health checks: %w", err)
	}
	return mgr, nil
}

// synced says whether the operator sees the cluster: before that it acts on nothing.
func synced(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), syncPatience)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
