package main

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/webhook"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	relocationv1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/contractversion"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/ipam"
)

// readyTimeout bounds a readiness check: kubelet waits one second.
const readyTimeout = 500 * time.Millisecond

// newManager connects to the API server.
func newManager(f flags) (ctrl.Manager, error) {
	config, err := clientConfig(f.kubeconfig)
	if err != nil {
		return nil, err
	}
	config.QPS, config.Burst = 50, 100 // after a reboot all steps of a change are reported at once
	if f.nodeName == "" {              // the operator, of which one replica serves the claims of a whole cluster
		config.QPS, config.Burst = ipam.ClientQPS, ipam.ClientBurst
	}
	version, err := contractVersion(config)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, cluster.AddToScheme, lcav1.AddToScheme, metal3.AddToScheme,
		contractversion.AddToScheme(version), lockv1.AddToScheme,
		nmstatev1.AddToScheme, nmstatev1beta1.AddToScheme, relocationv1beta1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	mgr, err := ctrl.NewManager(config, ctrl.Options{
		Scheme:                        scheme,
		Metrics:                       metricsOptions(f),
		HealthProbeBindAddress:        f.probes,
		WebhookServer:                 webhook.NewServer(webhook.Options{Port: f.webhookPort, CertDir: f.webhookCerts}), // listens if used
		LeaderElection:                f.leaderElection,
		LeaderElectionID:              controller.OperatorLease,
		LeaderElectionNamespace:       controller.Namespace,
		LeaderElectionReleaseOnCancel: true, // the program ends when the manager does
		Cache:                         cache.Options{DefaultTransform: cache.TransformStripManagedFields()},
	})
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	if err := errors.Join(mgr.AddHealthzCheck("ping", healthz.Ping), mgr.AddReadyzCheck("caches",
		newSyncCheck(mgr.GetCache()))); err != nil {
		return nil, fmt.Errorf("add the health checks: %w", err)
	}
	return mgr, nil
}

// contractVersion asks the API server which version of the Cluster API's claims it serves: a type has one version in a scheme.
func contractVersion(config *rest.Config) (string, error) {
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return "", fmt.Errorf("connect to the API: %w", err)
	}
	return contractversion.Find(api)
}

// clientConfig reads a kubeconfig, or what Kubernetes gives a pod where none is named.
func clientConfig(kubeconfig string) (*rest.Config, error) {
	if kubeconfig == "" {
		config, err := rest.InClusterConfig()
		if err != nil {
			return nil, fmt.Errorf("read the pod's service account: %w", err)
		}
		return config, nil
	}
	config, err := clientcmd.BuildConfigFromFlags("", kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", kubeconfig, err)
	}
	return config, nil
}

// metricsOptions has a secure endpoint ask the API server who calls and whether they may.
func metricsOptions(f flags) server.Options {
	o := server.Options{BindAddress: f.metrics, SecureServing: f.secureMetrics}
	if f.secureMetrics {
		o.FilterProvider = byRBAC
	}
	if f.metricsCerts != "" {
		certificates := &servingCertificates{dir: f.metricsCerts}
		o.TLSOpts = []func(*tls.Config){func(c *tls.Config) { c.GetCertificate = certificates.getCertificate }}
	}
	return o
}

// newSyncCheck reports ready when the caches are filled: the controllers act on nothing before.
func newSyncCheck(c cache.Cache) healthz.Checker {
	return func(r *http.Request) error {
		ctx, cancel := context.WithTimeout(r.Context(), readyTimeout)
		defer cancel()
		if !c.WaitForCacheSync(ctx) {
			return errors.New("the caches are not filled yet")
		}
		return nil
	}
}
