// Package change holds the flows of an IP change: pre-pivot, post-pivot, rollback and cleanup, each a plan over the step
// libraries, and the preview of one. docs/flows.md lists their steps.
//
// lca-cli runs them. The package acts through internal/operation and the ports of internal/host: it imports no adapter,
// no Kubernetes client, no controller.
package change
