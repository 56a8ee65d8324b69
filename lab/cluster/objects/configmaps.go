package objects

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// configMaps are all ConfigMaps of the cluster that the node's files mirror, and the CA bundles.
func configMaps(s site.Site, id *pki.Identity, tx documents.Texts) ([]*corev1.ConfigMap, error) {
	maps := map[pki.ObjectKey]map[string]string{}
	for _, b := range pki.Bundles() {
		for _, key := range b.ConfigMaps {
			if maps[key] == nil {
				maps[key] = map[string]string{}
			}
			maps[key][b.Key] = string(id.Bundle(b.Signers...))
		}
	}
	addTexts(maps, s, tx)
	legacy, err := pki.PublicPEM(id.ServiceSA.Key)
	if err != nil {
		return nil, err
	}
	bound, err := pki.PublicPEM(id.BoundSA.Key)
	if err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "-1"} {
		maps[pki.ObjectKey{Namespace: pki.NSAPIServer, Name: "sa-token-signing-certs" + suffix}] = map[string]string{"service-account-001.pub": string(legacy)}
		maps[pki.ObjectKey{Namespace: pki.NSAPIServer, Name: "bound-sa-token-signing-certs" + suffix}] = map[string]string{"service-account-001.pub": string(bound)}
	}
	var out []*corev1.ConfigMap
	for key, data := range maps {
		out = append(out, &corev1.ConfigMap{
			TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"},
			ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}, Data: data,
		})
	}
	sort.Slice(out, func(i, j int) bool {
		return out[i].Namespace+"/"+out[i].Name < out[j].Namespace+"/"+out[j].Name
	})
	return out, nil
}

// addTexts adds the documents that carry the node's address, each with its revisioned copy where OpenShift keeps one.
func addTexts(maps map[pki.ObjectKey]map[string]string, s site.Site, tx documents.Texts) {
	etcdPod := map[string]string{"pod.yaml": tx.EtcdPod, "version": "1", "forceRedeploymentReason": ""}
	apiPod := map[string]string{"pod.yaml": tx.APIServerPod, "version": "1", "forceRedeploymentReason": ""}
	for _, suffix := range []string{"", "-1"} {
		maps[pki.ObjectKey{Namespace: pki.NSEtcd, Name: "etcd-pod" + suffix}] = etcdPod
		maps[pki.ObjectKey{Namespace: pki.NSEtcd, Name: "etcd-endpoints" + suffix}] = map[string]string{tx.EndpointKey: tx.EndpointValue}
		maps[pki.ObjectKey{Namespace: pki.NSAPIServer, Name: "config" + suffix}] = map[string]string{"config.yaml": tx.APIConfig}
		maps[pki.ObjectKey{Namespace: pki.NSAPIServer, Name: "kube-apiserver-pod" + suffix}] = apiPod
	}
	maps[pki.ObjectKey{Namespace: pki.NSEtcd, Name: "restore-etcd-pod"}] = map[string]string{"pod.yaml": tx.EtcdPod, "quorum-restore-pod.yaml": tx.EtcdPod}
	maps[pki.ObjectKey{Namespace: pki.NSEtcd, Name: "etcd-scripts"}] = map[string]string{"etcd.env": tx.EtcdEnv}
	maps[pki.ObjectKey{Namespace: "openshift-apiserver", Name: "config"}] = map[string]string{"config.yaml": fmt.Sprintf(
		`{"apiVersion":"openshiftcontrolplane.config.openshift.io/v1","kind":"OpenShiftAPIServerConfig","storageConfig":{"urls":[%q]}}`, s.EtcdURL())}
	for _, ns := range []string{"kube-system", pki.NSEtcd} {
		maps[pki.ObjectKey{Namespace: ns, Name: "cluster-config-v1"}] = map[string]string{"install-config": tx.InstallConfig}
	}
}
