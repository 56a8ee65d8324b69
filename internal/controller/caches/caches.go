// Package caches says how the operator's caches are filled.
//
// Called by cmd/lifecycle-agent before it makes a client, and by benchmarks that measure
// what the operator does. It must not import a controller.
package caches

import "k8s.io/client-go/features"

// FillByList has every informer that this process makes from now on fill its cache by a LIST, not by a watch that begins with all
// objects (KEP-3157): docs/decisions/0041-caches-filled-by-lists.md says why. An environment that sets KUBE_FEATURE_WatchListClient
// is not heard.
func FillByList() { features.ReplaceFeatureGates(lists{features.FeatureGates()}) }

// lists are the feature gates as they were, but for one.
type lists struct{ features.Gates }

// Enabled implements features.Gates.
func (l lists) Enabled(key features.Feature) bool {
	return key != features.WatchListClient && l.Gates.Enabled(key)
}
