package hostnet

// What this controller may do in the cluster; config/rbac is generated from this.
//
// +kubebuilder:rbac:groups=machine.openshift.io,resources=machines,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=machine.openshift.io;cluster.x-k8s.io,resources=machines/status,verbs=patch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=cluster.x-k8s.io,resources=clusters,verbs=get
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines,verbs=get;list;watch
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts,verbs=get;list;watch
// +kubebuilder:rbac:groups=machine.openshift.io;cluster.x-k8s.io,resources=machines/finalizers,verbs=update
// +kubebuilder:rbac:groups=infrastructure.cluster.x-k8s.io,resources=metal3machines/finalizers,verbs=update
// +kubebuilder:rbac:groups=metal3.io,resources=baremetalhosts/finalizers,verbs=update
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims,verbs=get;list;watch;create;patch;delete
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ipclaims/status,verbs=patch
// +kubebuilder:rbac:groups=ipam.metal3.io,resources=ippools;ipaddresses,verbs=get;list;watch
// +kubebuilder:rbac:groups=ipam.lca.openshift.io,resources=addresslocks,verbs=get;list;watch;delete
//
// Secrets with configs, those of roles to read and those of hosts to write, are in config/rbac/operator/machine_secrets.yaml, apart
// from the rest, so that a cluster can limit that right to the namespaces of its machines.
