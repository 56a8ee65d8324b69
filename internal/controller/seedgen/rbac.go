package seedgen

// What the agent may do in the cluster for seed images, and no more; config/rbac is generated from this. It changes nothing of
// the cluster but the status and annotations of its own object.
//
// +kubebuilder:rbac:groups=lca.openshift.io,resources=seedgenerators,verbs=get;list;watch;patch
// +kubebuilder:rbac:groups=lca.openshift.io,resources=seedgenerators/status,verbs=patch
// +kubebuilder:rbac:groups="",namespace=openshift-lifecycle-agent,resources=serviceaccounts/token,resourceNames=lifecycle-agent-seed,verbs=create
//
// Facts for the checks:
//
// +kubebuilder:rbac:groups="",resources=nodes;namespaces;persistentvolumes,verbs=list
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=configmaps,resourceNames=cluster-config-v1,verbs=get
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers;infrastructures;proxies,resourceNames=cluster,verbs=get
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusterversions,resourceNames=version,verbs=get
// +kubebuilder:rbac:groups=lca.openshift.io,resources=imagebasedupgrades,resourceNames=upgrade,verbs=get
// +kubebuilder:rbac:groups=lca.openshift.io,resources=ipconfigs,resourceNames=ipconfig,verbs=get
// +kubebuilder:rbac:groups=operator.open-cluster-management.io,resources=klusterlets,verbs=list
// +kubebuilder:rbac:groups=local.storage.openshift.io,resources=localvolumes,verbs=list
// +kubebuilder:rbac:groups=lvm.topolvm.io,resources=lvmclusters,verbs=list
// +kubebuilder:rbac:groups=nmstate.io,resources=nodenetworkconfigurationpolicies,verbs=list
// +kubebuilder:rbac:groups=performance.openshift.io,resources=performanceprofiles,verbs=list
//
// What the image says of the cluster, and what it must not have:
//
// The two ConfigMaps are in OpenShift's own namespaces. A Role there could not be applied to a cluster without these.
//
// +kubebuilder:rbac:groups="",resources=configmaps,resourceNames=user-ca-bundle;default-ingress-cert,verbs=get
// +kubebuilder:rbac:groups=config.openshift.io,resources=imagedigestmirrorsets;imagetagmirrorsets,verbs=list
// +kubebuilder:rbac:groups=operator.openshift.io,resources=imagecontentsourcepolicies,verbs=list
// +kubebuilder:rbac:groups=operators.coreos.com,resources=catalogsources;clusterserviceversions,verbs=list
// +kubebuilder:rbac:groups="",resources=pods,verbs=list
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigs;machineconfigpools,verbs=list
//
// Its health:
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators,verbs=list
// +kubebuilder:rbac:groups=sriovnetwork.openshift.io,resources=sriovnetworknodestates,verbs=list
// +kubebuilder:rbac:groups=oadp.openshift.io,resources=dataprotectionapplications,verbs=list
// +kubebuilder:rbac:groups=velero.io,resources=backupstoragelocations,verbs=list
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=list
//
// Events on a cluster-scoped object live in the default namespace:
//
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create
