package main

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	capi "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lockv1 "github.com/lifecycle-agent/lifecycle-agent/api/ipam/v1alpha1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/contractversion"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/manifest"
)

// addressRecords reads everything of address management from the cluster.
func addressRecords(ctx context.Context, config *rest.Config) (*manifest.Inventory, error) {
	discover, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("connect to the API: %w", err)
	}
	version, err := contractversion.Find(discover)
	if err != nil {
		return nil, err
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{metal3.AddToScheme, contractversion.AddToScheme(version), lockv1.AddToScheme} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the API: %w", err)
	}
	return readRecords(ctx, api)
}

// readRecords lists every kind; the Cluster API's may not be installed. An address is made after its lock and released
// before it, and a claim outlives both, so addresses are listed first and claims last: what changes meanwhile looks at
// worst like a claim that waits.
func readRecords(ctx context.Context, api client.Reader) (*manifest.Inventory, error) {
	pools, claims, addresses := &metal3.IPPoolList{}, &metal3.IPClaimList{}, &metal3.IPAddressList{}
	contractClaims, contractAddresses, locks := &capi.IPAddressClaimList{}, &capi.IPAddressList{}, &lockv1.AddressLockList{}
	for _, l := range []struct {
		list     client.ObjectList
		optional bool
	}{{pools, false}, {addresses, false}, {contractAddresses, true}, {locks, false}, {claims, false}, {contractClaims, true}} {
		err := api.List(ctx, l.list)
		if err != nil && (!l.optional || !meta.IsNoMatchError(err)) {
			return nil, fmt.Errorf("list %T: %w", l.list, err)
		}
	}
	return &manifest.Inventory{
		Pools: toPointers(pools.Items), Claims: toPointers(claims.Items), Addresses: toPointers(addresses.Items),
		CAPIClaims: toPointers(contractClaims.Items), CAPIAddresses: toPointers(contractAddresses.Items), Locks: toPointers(locks.Items),
	}, nil
}

func toPointers[T any](items []T) []*T {
	out := make([]*T, len(items))
	for i := range items {
		out[i] = &items[i]
	}
	return out
}
