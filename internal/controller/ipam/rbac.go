package ipam

// What address management may do in the cluster; config/rbac is generated from this.
//
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipaddresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.lca.openshift.io,resources=addresslocks,verbs=get;list;watch;create;update;delete
//
// Whether a Cluster is paused:
//
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get
//
// Events are written beside the object:
//
// +kubebuilder:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
