// Package definition has the objects of other projects as far as this product writes them: policies, placements and
// ManifestWorks of Open Cluster Management, and roll-outs of the Topology Aware Lifecycle Manager. The fields and their
// spelling are those of the projects' definitions.
//
// The domain fleet calls it; it imports apimachinery only.
package definition
