package relocation

// What the agent may do in a cluster that has the component config/components/relocation, and no more: what the parts of
// internal/relocation/reconcile change. Bound there alone, so that a hub gives none of it away.
//
// +kubebuilder:rbac:groups=rhsyseng.github.io,resources=clusterrelocations,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=rhsyseng.github.io,resources=clusterrelocations/status,verbs=patch
// +kubebuilder:rbac:groups=rhsyseng.github.io,resources=clusterrelocations/finalizers,verbs=update
//
// Secrets are named by the user and by Kubernetes' own places; Manifests of a hub bring objects of kinds of its own:
//
// +kubebuilder:rbac:groups="",resources=secrets;configmaps,verbs=get;create;update;patch;delete
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers;ingresses;images;dnses;proxies,resourceNames=cluster,verbs=get;update
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusterversions,resourceNames=version,verbs=get
// +kubebuilder:rbac:groups=config.openshift.io,resources=imagedigestmirrorsets;imagetagmirrorsets,verbs=get;create;update;delete
// +kubebuilder:rbac:groups=operator.openshift.io,resources=imagecontentsourcepolicies,verbs=get;create;update;delete
// +kubebuilder:rbac:groups=operator.openshift.io,resources=ingresscontrollers,verbs=get;update
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes,verbs=get;list;update
// +kubebuilder:rbac:groups=route.openshift.io,resources=routes/custom-host,verbs=create;update
// +kubebuilder:rbac:groups=operators.coreos.com,resources=catalogsources,verbs=get;create;update;delete
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigs,verbs=get;create;update;delete
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigpools,verbs=list
