// Package cluster gives a lab node the control-plane state that an OpenShift single node carries: the same files in the same
// places, the same objects under the same etcd keys and encodings, and a PKI of the same shape. Provision writes all of it on
// the mounted trees of a node that is not running. When the node boots, its agent runs it: the real kubelet, or lab/cmd/nodelet.
//
// The parts are rooms: site names the node, pki makes the keys and certificates, documents the texts that carry the address,
// objects what the API holds, nodefiles what the disk holds, containerimage the image of the pods. This package runs etcd and
// kube-apiserver on the build host to fill the database, keeps the result, and copies it to a node.
//
// It is called by the lab's machine builder and by tests. It must not import the product's domain packages: the lab is what
// the product is measured against, so it states OpenShift's layout on its own.
//
// # Where the node's address lives
//
// These places and no others carry the address (A = every address, P = the primary one), for a site with host name sno. NS/x
// abbreviates namespace/name; "res" is /etc/kubernetes/static-pod-resources.
//
//	on disk
//	P  /etc/kubernetes/manifests/etcd-pod.yaml                                   env of container etcd (see below)
//	P  res/etcd-pod-1/etcd-pod.yaml                                              the same text
//	P  res/etcd-pod-1/configmaps/etcd-pod/pod.yaml                               the same text
//	P  res/etcd-certs/configmaps/restore-etcd-pod/{pod,quorum-restore-pod}.yaml  the same text
//	P  res/etcd-certs/configmaps/etcd-scripts/etcd.env                           ALL_ETCD_ENDPOINTS, ETCDCTL_ENDPOINTS, NODE_*
//	P  res/etcd-pod-1/configmaps/etcd-endpoints/<member ID in hexadecimal>  the file holds the bare address
//	P  res/kube-apiserver-pod-1/configmaps/config/config.yaml                    apiServerArguments.etcd-servers
//	A  res/etcd-certs/secrets/etcd-all-certs/etcd-{peer,serving,serving-metrics}-sno.crt   certificates (SAN; the CN of the peer's)
//	A  res/etcd-pod-1/secrets/etcd-all-certs/...                                 the same certificates
//	A  res/kube-apiserver-certs/secrets/external-loadbalancer-serving-certkey/tls.crt      certificate (SAN); lab only
//	A  /var/lib/kubelet/pki/kubelet-server-current.pem                           certificate (SAN) and key; symlink to a dated file
//	P  /etc/default/sno_dnsmasq_configuration_overrides                          SNO_DNSMASQ_IP_OVERRIDE
//	P  /etc/machine-config-daemon/currentconfig                                  inside the dnsmasq files' data URLs
//
//	in etcd (prefix /kubernetes.io; p = protobuf, j = JSON)
//	P p /configmaps/openshift-etcd/etcd-endpoints[-1]   one data key, the member ID in hexadecimal
//	P p /configmaps/openshift-etcd/etcd-pod[-1], restore-etcd-pod   data pod.yaml (and quorum-restore-pod.yaml)
//	P p /configmaps/openshift-etcd/etcd-scripts         data etcd.env
//	P p /configmaps/openshift-kube-apiserver/config[-1]   data config.yaml
//	P p /configmaps/openshift-apiserver/config          data config.yaml, storageConfig.urls
//	- p /configmaps/openshift-kube-apiserver/kube-apiserver-pod   none: HOST_IP comes from the downward API
//	- p /configmaps/{kube-system,openshift-etcd}/cluster-config-v1   data install-config: machineNetwork (not the address)
//	A p /secrets/openshift-etcd/etcd-{peer,serving,serving-metrics}-sno   tls.crt, annotation auth.openshift.io/certificate-hostnames
//	A p /secrets/openshift-etcd/etcd-all-certs[-1]      the same six files as on disk
//	A p /secrets/openshift-kube-apiserver/external-loadbalancer-serving-certkey   tls.crt, the same annotation; lab only
//	P j /operator.openshift.io/kubeapiservers/cluster   spec.observedConfig.apiServerArguments.etcd-servers
//	P j /operator.openshift.io/openshiftapiservers/cluster   spec.observedConfig.storageConfig.urls
//	P j /operator.openshift.io/authentications/cluster  spec.observedConfig.oauthAPIServer.apiServerArguments.etcd-servers
//	P j /operator.openshift.io/networks/cluster         annotation networkoperator.openshift.io/ovn-cluster-initiator
//	P j /machineconfiguration.openshift.io/machineconfigs/{50-master-dnsmasq-configuration,rendered-master-*}   data URLs
//	P p /deployments/openshift-oauth-apiserver/apiserver   container argument --etcd-servers
//	    written while the node runs, gone or re-made after a restart:
//	A p /minions/sno, /leases/kube-node-lease/sno, /pods/openshift-{etcd,kube-apiserver}/*-sno (the agent)
//	P p /services/endpoints/default/kubernetes, /endpointslices/default/kubernetes, /masterleases/<P> (kube-apiserver)
//	P   etcd member sno: peerURLs https://<P>:2380, clientURLs https://<P>:2379
//
// The etcd pod names an address in env NODE_sno_IP, NODE_sno_ETCD_URL_HOST (IPv6 in brackets), ALL_ETCD_ENDPOINTS and
// ETCDCTL_ENDPOINTS; its command refers to those variables. kube-apiserver's pod takes HOST_IP from status.hostIP and etcd's URLs
// from config.yaml, so nothing in it changes with the address.
//
// # Signers
//
// Each signer is a Secret with tls.crt and tls.key (a CA and its key), unless marked "bundle only": its key left the cluster.
//
//	openshift-kube-apiserver-operator/loadbalancer-serving-signer       CN kube-apiserver-lb-signer
//	openshift-kube-apiserver-operator/localhost-serving-signer          CN kube-apiserver-localhost-signer
//	openshift-kube-apiserver-operator/service-network-serving-signer    CN kube-apiserver-service-network-signer
//	openshift-kube-apiserver-operator/localhost-recovery-serving-signer CN openshift-kube-apiserver-operator_localhost-recovery-serving-signer@N
//	openshift-kube-apiserver-operator/kube-apiserver-to-kubelet-signer  CN kube-apiserver-to-kubelet-signer
//	openshift-kube-apiserver-operator/kube-control-plane-signer         CN kube-control-plane-signer
//	openshift-kube-apiserver-operator/node-system-admin-signer          CN openshift-kube-apiserver-operator_node-system-admin-signer@N
//	openshift-kube-apiserver-operator/aggregator-client-signer          CN openshift-kube-apiserver-operator_aggregator-client-signer@N
//	openshift-kube-controller-manager-operator/csr-signer               CN kube-csr-signer_@N (signs the kubelet's two certificates)
//	openshift-etcd/etcd-signer, etcd-metric-signer                      CN openshift-etcd_etcd-signer@N, openshift-etcd_etcd-metric-signer@N
//	openshift-ingress-operator/router-ca                                CN ingress-operator@N
//	openshift-config/admin-kubeconfig-client-ca (ConfigMap)             CN admin-kubeconfig-signer (bundle only)
//
// # What is not like the field
//
// The pods' commands are exec lists rather than shell scripts, and name only the containers the lab has binaries for. The
// authorization modes are those of upstream Kubernetes. The external load balancer's certificate also names the node's
// addresses, so that somebody outside, who does not use the node's DNS, can verify the server by address.
package cluster
