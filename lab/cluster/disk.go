package cluster

import (
	"fmt"
	"path"
	"strings"
)

const (
	kubernetesDir = "/etc/kubernetes"
	resourcesDir  = kubernetesDir + "/static-pod-resources"
	manifestsDir  = kubernetesDir + "/manifests"
	kubeletPKIDir = "/var/lib/kubelet/pki"

	nodeKubeconfigs = resourcesDir + "/kube-apiserver-certs/secrets/node-kubeconfigs"

	// pullSecret is a well-formed placeholder: the lab pulls nothing.
	pullSecret = `{"auths":{"registry.example.com":{"auth":"bGFiOmxhYg==","email":"lab@example.com"}}}`
)

// diskTree is every file of a site except the binaries, etcd's data and what depends on the node's agent.
func diskTree(s Site, id *identity, tx texts, mc machineConfigs) (*tree, error) {
	t := newTree()
	putCertificates(t, s, id)
	if err := putServiceAccountKeys(t, id); err != nil {
		return nil, err
	}
	putPods(t, tx)
	for name, kc := range nodeKubeconfigFiles(s, id) {
		t.secret(nodeKubeconfigs+"/"+name, kc)
	}
	putKubelet(t, s, id)
	t.secret("/etc/machine-config-daemon/currentconfig", mc.rendered)
	t.put("/etc/default/sno_dnsmasq_configuration_overrides", dnsmasqOverrides(s))
	// A file that the machine-config daemon owns inside a directory that an address change empties.
	t.put("/var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity", "")
	t.unit("lifecycle-agent.service", agentUnit)
	return t, nil
}

func putCertificates(t *tree, s Site, id *identity) {
	for _, spec := range leaves(s) {
		for _, file := range spec.Files {
			t.secret(path.Join(resourcesDir, file+".crt"), id.leaves[spec.ID].CertPEM)
			t.secret(path.Join(resourcesDir, file+".key"), id.leaves[spec.ID].KeyPEM)
		}
	}
	for _, b := range bundles() {
		for _, dir := range b.Dirs {
			t.put(path.Join(resourcesDir, dir, b.Key), string(id.bundle(b.Signers...)))
		}
	}
	t.put(kubernetesDir+"/kubelet-ca.crt", string(id.bundle("admin", "csr", "to-kubelet", "control-plane", "node-admin")))
	t.put(kubernetesDir+"/ca.crt", string(id.bundle("lb", "localhost", "service-network")))
}

func putServiceAccountKeys(t *tree, id *identity) error {
	legacy, err := publicPEM(id.serviceSA.Key)
	if err != nil {
		return err
	}
	bound, err := publicPEM(id.boundSA.Key)
	if err != nil {
		return err
	}
	t.put(resourcesDir+"/kube-apiserver-pod-1/configmaps/sa-token-signing-certs/service-account-001.pub", string(legacy))
	t.put(resourcesDir+"/kube-apiserver-pod-1/configmaps/bound-sa-token-signing-certs/service-account-001.pub", string(bound))
	dir := resourcesDir + "/kube-apiserver-certs/secrets/bound-service-account-signing-key"
	t.secret(dir+"/service-account.key", id.boundSA.KeyPEM)
	t.secret(dir+"/service-account.pub", bound)
	return nil
}

// putPods writes the two static pods and the revisioned copies that the operators' installers leave beside them.
func putPods(t *tree, tx texts) {
	t.put(manifestsDir+"/etcd-pod.yaml", tx.EtcdPod)
	t.put(manifestsDir+"/kube-apiserver-pod.yaml", tx.APIServerPod)
	api, etcd, certs := resourcesDir+"/kube-apiserver-pod-1", resourcesDir+"/etcd-pod-1", resourcesDir+"/etcd-certs"
	t.put(api+"/kube-apiserver-pod.yaml", tx.APIServerPod)
	t.put(api+"/configmaps/kube-apiserver-pod/pod.yaml", tx.APIServerPod)
	t.put(api+"/configmaps/kube-apiserver-pod/version", "1")
	t.put(api+"/configmaps/config/config.yaml", tx.APIConfig)
	t.put(etcd+"/etcd-pod.yaml", tx.EtcdPod)
	t.put(etcd+"/configmaps/etcd-pod/pod.yaml", tx.EtcdPod)
	t.put(etcd+"/configmaps/etcd-pod/version", "1")
	t.put(etcd+"/configmaps/etcd-endpoints/"+tx.EndpointKey, tx.EndpointValue)
	t.put(certs+"/configmaps/restore-etcd-pod/pod.yaml", tx.EtcdPod)
	t.put(certs+"/configmaps/restore-etcd-pod/quorum-restore-pod.yaml", tx.EtcdPod)
	t.exec(certs+"/configmaps/etcd-scripts/etcd.env", tx.EtcdEnv)
}

// putKubelet writes what the kubelet keeps: its certificates as dated files behind "current" links, its kubeconfig and the
// pull secret.
func putKubelet(t *tree, s Site, id *identity) {
	for _, kind := range []string{"client", "server"} {
		leaf := id.leaves["kubelet-"+kind+"-node"]
		dated := fmt.Sprintf("kubelet-%s-%s.pem", kind, id.made.UTC().Format("2006-01-02-15-04-05"))
		t.secret(kubeletPKIDir+"/"+dated, append(append([]byte{}, leaf.CertPEM...), leaf.KeyPEM...))
		t.link(kubeletPKIDir+"/kubelet-"+kind+"-current.pem", kubeletPKIDir+"/"+dated)
	}
	current := kubeletPKIDir + "/kubelet-client-current.pem"
	kc := kubeconfig("https://api-int."+s.Domain()+":6443", id.bundle("lb"), kubeUser{Name: "system:node:" + s.Hostname, CertFile: current, KeyFile: current})
	t.secret(kubernetesDir+"/kubeconfig", kc)
	t.secret("/var/lib/kubelet/kubeconfig", kc)
	t.secret("/var/lib/kubelet/config.json", []byte(pullSecret))
}

func dnsmasqOverrides(s Site) string {
	return strings.Join([]string{
		"SNO_CLUSTER_NAME_OVERRIDE=" + s.ClusterName,
		"SNO_BASE_DOMAIN_OVERRIDE=" + s.BaseDomain,
		"SNO_DNSMASQ_IP_OVERRIDE=" + s.Primary().String(), "",
	}, "\n")
}
