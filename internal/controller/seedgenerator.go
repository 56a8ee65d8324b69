package controller

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/seedgen"
)

func addSeedGenerator(mgr ctrl.Manager, o Options) error {
	m, err := seedgen.NewMetrics(metrics.Registry)
	if err != nil {
		return fmt.Errorf("register the seedgen metrics: %w", err)
	}
	r := &seedgen.Reconciler{
		Client: mgr.GetClient(), Reader: mgr.GetAPIReader(), Log: o.Log, Metrics: m,
		Node: seedgen.Node{Files: o.Host.Files, Disk: o.Host.Disk, Deployments: o.Host.Deployments, Units: o.Host.Units,
			Transients: o.Host.Transients, Lock: o.Host.Lock},
		Now: time.Now, Random: func() uint16 { return uint16(rand.Uint32()) }, CLI: o.CLI,
		Hub: seedgen.ConnectHub, Resources: func() ([]schema.GroupResource, error) { return namespacedResources(mgr.GetConfig()) },
	}
	return mgr.Add(&servingNode{
		name: o.NodeName, kind: "SeedGenerator", reader: mgr.GetAPIReader(), log: o.Log, start: func() error { return r.SetupWithManager(mgr) },
	})
}

// namespacedResources lists the resources of the API that have namespaces and can be listed. A group whose server does not
// answer is left out: its objects are not in etcd.
func namespacedResources(config *rest.Config) ([]schema.GroupResource, error) {
	api, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API: %w", err)
	}
	lists, err := api.ServerPreferredNamespacedResources()
	var partial *discovery.ErrGroupDiscoveryFailed
	if err != nil && !errors.As(err, &partial) {
		return nil, fmt.Errorf("discover the resources of the API: %w", err)
	}
	var all []schema.GroupResource
	for _, l := range lists {
		at, err := schema.ParseGroupVersion(l.GroupVersion)
		if err != nil {
			return nil, fmt.Errorf("parse the group %s: %w", l.GroupVersion, err)
		}
		for _, resource := range l.APIResources {
			all = append(all, schema.GroupResource{Group: at.Group, Resource: resource.Name})
		}
	}
	return all, nil
}
