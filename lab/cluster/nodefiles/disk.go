package nodefiles

import (
	"fmt"
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

const (
	// KubernetesDir is where the control plane has its files.
	KubernetesDir = "/etc/kubernetes"
	resourcesDir  = KubernetesDir + "/static-pod-resources"
	// ManifestsDir is where the node agent finds static pods.
	ManifestsDir  = KubernetesDir + "/manifests"
	kubeletPKIDir = "/var/lib/kubelet/pki"

	// KubeconfigDir has the administrator's kubeconfigs.
	KubeconfigDir = resourcesDir + "/kube-apiserver-certs/secrets/node-kubeconfigs"
)

// New returns every file of a site except the binaries, etcd's data and what depends on the node's agent.
func New(s site.Site, id *pki.Identity, tx documents.Texts, mc documents.MachineConfigs) (*Tree, error) {
	t := newTree()
	putCertificates(t, s, id)
	if err := putServiceAccountKeys(t, id); err != nil {
		return nil, err
	}
	putPods(t, tx)
	for name, kc := range pki.NodeKubeconfigs(s, id) {
		t.secret(KubeconfigDir+"/"+name, kc)
	}
	putKubelet(t, s, id)
	t.secret("/etc/machine-config-daemon/currentconfig", mc.Rendered)
	t.put("/etc/default/sno_dnsmasq_configuration_overrides", dnsmasqOverrides(s))
	// A file that the machine-config daemon owns inside a directory that an address change empties.
	t.put("/var/lib/ovn-ic/etc/enable_dynamic_cpu_affinity", "")
	t.unit("lifecycle-agent.service", agentUnit)
	return t, nil
}

func putCertificates(t *Tree, s site.Site, id *pki.Identity) {
	for _, spec := range pki.Leaves(s) {
		for _, file := range spec.Files {
			t.secret(path.Join(resourcesDir, file+".crt"), id.Leaves[spec.ID].CertPEM)
			t.secret(path.Join(resourcesDir, file+".key"), id.Leaves[spec.ID].KeyPEM)
		}
	}
	for _, b := range pki.Bundles() {
		for _, dir := range b.Dirs {
			t.put(path.Join(resourcesDir, dir, b.Key), string(id.Bundle(b.Signers...)))
		}
	}
	t.put(KubernetesDir+"/kubelet-ca.crt", string(id.Bundle("admin", "csr", "to-kubelet", "control-plane", "node-admin")))
	t.put(KubernetesDir+"/ca.crt", string(id.Bundle("lb", "localhost", "service-network")))
}

func putServiceAccountKeys(t *Tree, id *pki.Identity) error {
	legacy, err := pki.PublicPEM(id.ServiceSA.Key)
	if err != nil {
		return err
	}
	bound, err := pki.PublicPEM(id.BoundSA.Key)
	if err != nil {
		return err
	}
	t.put(resourcesDir+"/kube-apiserver-pod-1/configmaps/sa-token-signing-certs/service-account-001.pub", string(legacy))
	t.put(resourcesDir+"/kube-apiserver-pod-1/configmaps/bound-sa-token-signing-certs/service-account-001.pub", string(bound))
	dir := resourcesDir + "/kube-apiserver-certs/secrets/bound-service-account-signing-key"
	t.secret(dir+"/service-account.key", id.BoundSA.KeyPEM)
	t.secret(dir+"/service-account.pub", bound)
	return nil
}

// putPods writes the two static pods and the revisioned copies that the operators' installers leave beside them.
func putPods(t *Tree, tx documents.Texts) {
	t.put(ManifestsDir+"/etcd-pod.yaml", tx.EtcdPod)
	t.put(ManifestsDir+"/kube-apiserver-pod.yaml", tx.APIServerPod)
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
func putKubelet(t *Tree, s site.Site, id *pki.Identity) {
	for _, kind := range []string{"client", "server"} {
		leaf := id.Leaves["kubelet-"+kind+"-node"]
		dated := fmt.Sprintf("kubelet-%s-%s.pem", kind, id.Made.UTC().Format("2006-01-02-15-04-05"))
		t.secret(kubeletPKIDir+"/"+dated, append(append([]byte{}, leaf.CertPEM...), leaf.KeyPEM...))
		t.link(kubeletPKIDir+"/kubelet-"+kind+"-current.pem", kubeletPKIDir+"/"+dated)
	}
	current := kubeletPKIDir + "/kubelet-client-current.pem"
	kc := pki.Kubeconfig("https://api-int."+s.Domain()+":6443", id.Bundle("lb"), pki.User{Name: "system:node:" + s.Hostname, CertFile: current, KeyFile: current})
	t.secret(KubernetesDir+"/kubeconfig", kc)
	t.secret("/var/lib/kubelet/kubeconfig", kc)
	t.secret("/var/lib/kubelet/config.json", []byte(documents.PullSecret))
}

func dnsmasqOverrides(s site.Site) string {
	return strings.Join([]string{
		"SNO_CLUSTER_NAME_OVERRIDE=" + s.ClusterName,
		"SNO_BASE_DOMAIN_OVERRIDE=" + s.BaseDomain,
		"SNO_DNSMASQ_IP_OVERRIDE=" + s.Primary().String(), "",
	}, "\n")
}
