package cluster

import (
	"fmt"
	"sort"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// configMaps are all ConfigMaps of the cluster that the node's files mirror, and the CA bundles.
func configMaps(s Site, id *identity, tx texts) ([]*corev1.ConfigMap, error) {
	maps := map[objectKey]map[string]string{}
	for _, b := range bundles() {
		for _, key := range b.ConfigMaps {
			if maps[key] == nil {
				maps[key] = map[string]string{}
			}
			maps[key][b.Key] = string(id.bundle(b.Signers...))
		}
	}
	addTexts(maps, s, tx)
	legacy, err := publicPEM(id.serviceSA.Key)
	if err != nil {
		return nil, err
	}
	bound, err := publicPEM(id.boundSA.Key)
	if err != nil {
		return nil, err
	}
	for _, suffix := range []string{"", "-1"} {
		maps[objectKey{nsAPIServer, "sa-token-signing-certs" + suffix}] = map[string]string{"service-account-001.pub": string(legacy)}
		maps[objectKey{nsAPIServer, "bound-sa-token-signing-certs" + suffix}] = map[string]string{"service-account-001.pub": string(bound)}
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
func addTexts(maps map[objectKey]map[string]string, s Site, tx texts) {
	etcdPod := map[string]string{"pod.yaml": tx.EtcdPod, "version": "1", "forceRedeploymentReason": ""}
	apiPod := map[string]string{"pod.yaml": tx.APIServerPod, "version": "1", "forceRedeploymentReason": ""}
	for _, suffix := range []string{"", "-1"} {
		maps[objectKey{nsEtcd, "etcd-pod" + suffix}] = etcdPod
		maps[objectKey{nsEtcd, "etcd-endpoints" + suffix}] = map[string]string{tx.EndpointKey: tx.EndpointValue}
		maps[objectKey{nsAPIServer, "config" + suffix}] = map[string]string{"config.yaml": tx.APIConfig}
		maps[objectKey{nsAPIServer, "kube-apiserver-pod" + suffix}] = apiPod
	}
	maps[objectKey{nsEtcd, "restore-etcd-pod"}] = map[string]string{"pod.yaml": tx.EtcdPod, "quorum-restore-pod.yaml": tx.EtcdPod}
	maps[objectKey{nsEtcd, "etcd-scripts"}] = map[string]string{"etcd.env": tx.EtcdEnv}
	maps[objectKey{"openshift-apiserver", "config"}] = map[string]string{"config.yaml": fmt.Sprintf(
		`{"apiVersion":"openshiftcontrolplane.config.openshift.io/v1","kind":"OpenShiftAPIServerConfig","storageConfig":{"urls":[%q]}}`, s.EtcdURL())}
	for _, ns := range []string{"kube-system", nsEtcd} {
		maps[objectKey{ns, "cluster-config-v1"}] = map[string]string{"install-config": tx.InstallConfig}
	}
}
