package nodenetwork

// What the publisher may do in the cluster; config/rbac/node is generated from this. The admission policy of config/node
// restricts writes to the node's own object.
//
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkstates,verbs=get;list;watch;create
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkstates/status,verbs=patch
// +kubebuilder:rbac:groups="",resources=nodes,verbs=get;list;watch
