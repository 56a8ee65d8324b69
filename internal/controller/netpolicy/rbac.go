package netpolicy

// What the operator may do with network policies, and no more; config/rbac is generated from this.
//
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies/status,verbs=patch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies/finalizers,verbs=update
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationenactments,verbs=get;list;watch;patch;delete
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationenactments/status,verbs=patch
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkstates,verbs=list;watch
//
// Nodes, their pools, and whether kubernetes-nmstate is there:
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigpools,verbs=list;watch
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigs,verbs=get
// +kubebuilder:rbac:groups=apps,resources=daemonsets,verbs=list
//
// Addresses for template values:
//
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;watch;create;delete
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipaddresses,verbs=get;list;watch
//
// Events on a cluster-scoped object live in the default namespace:
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
