package v1

// Annotations of a policy by which a person steers its roll-out. Their values are generations, so that what was said of one edit
// does not hold for the next.
const (
	// ApprovedAnnotation holds the generation that a person approved, for policies with approval: Manual.
	ApprovedAnnotation = "lca.openshift.io/approved-generation"
	// ResumedAnnotation holds the generation whose roll-out continues after a failure paused it.
	ResumedAnnotation = "lca.openshift.io/resumed-generation"
	// PausedAnnotation, "true", stops further nodes from starting until it is removed.
	PausedAnnotation = "lca.openshift.io/paused"
)

// RevertFinalizer keeps a policy with onDelete: Revert until every node has reverted it.
const RevertFinalizer = "lca.openshift.io/revert"

// Labels of enactments and states, and the annotation, of kubernetes-nmstate.
const (
	// PolicyLabel of an enactment is the name of its policy.
	PolicyLabel = "nmstate.io/policy"
	// NodeLabel of an enactment is the name of its node.
	NodeLabel = "nmstate.io/node"
	// ForceRefreshLabel of a NodeNetworkState has its node publish at once when it changes.
	ForceRefreshLabel = "nmstate.io/force-nns-refresh"
)

// HandlerLabelKey and HandlerLabelValue are the label of kubernetes-nmstate's DaemonSet and of its pods. While there is one, the
// agents of this product leave the network alone: two agents must not act on one node.
const (
	HandlerLabelKey   = "component"
	HandlerLabelValue = "kubernetes-nmstate-handler"
)
