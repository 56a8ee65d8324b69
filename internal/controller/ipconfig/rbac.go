package ipconfig

// What the operator may do in the cluster, and no more; config/rbac is generated from this.
// The API takes no resourceNames for list, watch and create.
//
// The object itself, which it creates, restores and reports on, but never deletes:
//
// +kubebuilder:rbac:groups=lca.openshift.io,resources=ipconfigs,verbs=get;list;watch;create;patch
// +kubebuilder:rbac:groups=lca.openshift.io,resources=ipconfigs/status,verbs=patch
// +kubebuilder:rbac:groups=lca.openshift.io,resources=imagebasedupgrades,resourceNames=upgrade,verbs=get
//
// Facts about the cluster:
//
// +kubebuilder:rbac:groups="",resources=nodes,verbs=list;watch
// +kubebuilder:rbac:groups="",namespace=kube-system,resources=configmaps,resourceNames=cluster-config-v1,verbs=get
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigs,resourceNames=50-master-dnsmasq-configuration,verbs=get
// +kubebuilder:rbac:groups=config.openshift.io,resources=apiservers;infrastructures;proxies,resourceNames=cluster,verbs=get
// +kubebuilder:rbac:groups=operator.openshift.io,resources=networks,resourceNames=cluster,verbs=get
//
// Its health; of MachineConfigs it reads names and labels:
//
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusterversions,resourceNames=version,verbs=get
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigs,verbs=list
// +kubebuilder:rbac:groups=config.openshift.io,resources=clusteroperators,verbs=list
// +kubebuilder:rbac:groups=machineconfiguration.openshift.io,resources=machineconfigpools,verbs=list
// +kubebuilder:rbac:groups=sriovnetwork.openshift.io,resources=sriovnetworknodestates,verbs=list
// +kubebuilder:rbac:groups=oadp.openshift.io,resources=dataprotectionapplications,verbs=list
// +kubebuilder:rbac:groups=velero.io,resources=backupstoragelocations,verbs=list
// +kubebuilder:rbac:groups=operators.coreos.com,resources=clusterserviceversions,verbs=list
// +kubebuilder:rbac:groups=certificates.k8s.io,resources=certificatesigningrequests,verbs=list
//
// Events on a cluster-scoped object live in the default namespace:
//
// +kubebuilder:rbac:groups=events.k8s.io,namespace=default,resources=events,verbs=create
