package cluster

import (
	"sort"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const authPrefix = "auth.openshift.io/"

// secrets are all Secrets of the cluster that hold key material.
func secrets(s Site, id *identity) ([]*corev1.Secret, error) {
	var out []*corev1.Secret
	for _, spec := range signers() {
		if spec.Secret.Name != "" {
			out = append(out, tlsSecret(spec.Secret, id.cas[spec.ID], "signer"))
		}
	}
	all := opaque(objectKey{nsEtcd, "etcd-all-certs"}, map[string][]byte{})
	for _, spec := range leaves(s) {
		for _, key := range spec.Secrets {
			secret := tlsSecret(key, id.leaves[spec.ID], "target")
			if spec.Hostnames {
				secret.Annotations[authPrefix+"certificate-hostnames"] = hostnames(spec.Req)
			}
			out = append(out, secret)
		}
		if spec.Etcd {
			all.Data[spec.ID+".crt"], all.Data[spec.ID+".key"] = id.leaves[spec.ID].CertPEM, id.leaves[spec.ID].KeyPEM
		}
	}
	bound, err := publicPEM(id.boundSA.Key)
	if err != nil {
		return nil, err
	}
	return append(out, all, opaque(objectKey{nsEtcd, "etcd-all-certs-1"}, all.Data),
		opaque(objectKey{nsAPIServer, "node-kubeconfigs"}, nodeKubeconfigFiles(s, id)),
		opaque(objectKey{nsAPIServer, "bound-service-account-signing-key"}, map[string][]byte{"service-account.key": id.boundSA.KeyPEM, "service-account.pub": bound}),
		opaque(objectKey{"openshift-kube-controller-manager", "service-account-private-key"}, map[string][]byte{"service-account.key": id.serviceSA.KeyPEM}),
		opaque(objectKey{nsConfig, "pull-secret"}, map[string][]byte{corev1.DockerConfigJsonKey: []byte(pullSecret)}),
		kubeadmin()), nil
}

// tlsSecret is a certificate Secret with the notes that the certificate controllers of library-go leave.
func tlsSecret(key objectKey, kp *KeyPair, kind string) *corev1.Secret {
	return &corev1.Secret{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name,
			Labels: map[string]string{authPrefix + "managed-certificate-type": kind},
			Annotations: map[string]string{
				authPrefix + "certificate-not-before": kp.Cert.NotBefore.Format(time.RFC3339),
				authPrefix + "certificate-not-after":  kp.Cert.NotAfter.Format(time.RFC3339),
				authPrefix + "certificate-issuer":     kp.Cert.Issuer.CommonName,
			}},
		Type: corev1.SecretTypeTLS,
		Data: map[string][]byte{corev1.TLSCertKey: kp.CertPEM, corev1.TLSPrivateKeyKey: kp.KeyPEM},
	}
}

func opaque(key objectKey, data map[string][]byte) *corev1.Secret {
	secret := &corev1.Secret{
		TypeMeta:   metav1.TypeMeta{APIVersion: "v1", Kind: "Secret"},
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Type:       corev1.SecretTypeOpaque, Data: data,
	}
	if _, ok := data[corev1.DockerConfigJsonKey]; ok {
		secret.Type = corev1.SecretTypeDockerConfigJson
	}
	return secret
}

// kubeadmin is the installer's administrator. Its hash matches no password: nothing in the lab logs in by one, but the Secret must
// outlive an address change.
func kubeadmin() *corev1.Secret {
	return opaque(objectKey{"kube-system", "kubeadmin"}, map[string][]byte{
		"kubeadmin": []byte("$2a$10$labLabLabLabLabLabLabu1labLabLabLabLabLabLabLabLabLabLa"),
	})
}

// hostnames lists the SANs as the operators note them.
func hostnames(req leafRequest) string { return strings.Join(req.names(), ",") }

// names are the SANs in the operators' order: as text, sorted.
func (r leafRequest) names() []string {
	names := append([]string{}, r.DNS...)
	for _, ip := range r.IPs {
		names = append(names, ip.String())
	}
	sort.Strings(names)
	return names
}
