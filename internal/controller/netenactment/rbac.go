package netenactment

// What the controller may do in the cluster; config/rbac/node is generated from this. The admission policy of config/node
// restricts writes to the node's own enactments.
//
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies,verbs=get;list;watch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationenactments,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationenactments/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
//
// Which policies cannot have an enactment, on the node's own NodeNetworkState:
//
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkstates,verbs=patch
//
// Whether kubernetes-nmstate runs on this node:
//
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
//
// Whether an operator is there to let the node start:
//
// +kubebuilder:rbac:groups=coordination.k8s.io,namespace=openshift-lifecycle-agent,resources=leases,resourceNames=lifecycle-agent.lca.openshift.io,verbs=get
//
// Events on a cluster-scoped object live in the default namespace:
//
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create
