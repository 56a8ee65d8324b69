package objects

import (
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

const authPrefix = "auth.openshift.io/"

// secrets are all Secrets of the cluster that hold key material.
func secrets(s site.Site, id *pki.Identity) ([]*corev1.Secret, error) {
	var out []*corev1.Secret
	for _, spec := range pki.Signers() {
		if spec.Secret.Name != "" {
			out = append(out, tlsSecret(spec.Secret, id.CAs[spec.ID], "signer"))
		}
	}
	all := opaque(pki.ObjectKey{Namespace: pki.NSEtcd, Name: "etcd-all-certs"}, map[string][]byte{})
	for _, spec := range pki.Leaves(s) {
		for _, key := range spec.Secrets {
			secret := tlsSecret(key, id.Leaves[spec.ID], "target")
			if spec.Hostnames {
				secret.Annotations[authPrefix+"certificate-hostnames"] = hostnames(spec.Req)
			}
			out = append(out, secret)
		}
		if spec.Etcd {
			all.Data[spec.ID+".crt"], all.Data[spec.ID+".key"] = id.Leaves[spec.ID].CertPEM, id.Leaves[spec.ID].KeyPEM
		}
	}
	bound, err := pki.PublicPEM(id.BoundSA.Key)
	if err != nil {
		return nil, err
	}
	return append(out, all, opaque(pki.ObjectKey{Namespace: pki.NSEtcd, Name: "etcd-all-certs-1"}, all.Data),
		opaque(pki.ObjectKey{Namespace: pki.NSAPIServer, Name: "node-kubeconfigs"}, pki.NodeKubeconfigs(s, id)),
		opaque(pki.ObjectKey{Namespace: pki.NSAPIServer, Name: "bound-service-account-signing-key"}, map[string][]byte{"service-account.key": id.BoundSA.KeyPEM, "service-account.pub": bound}),
		opaque(pki.ObjectKey{Namespace: "openshift-kube-controller-manager", Name: "service-account-private-key"}, map[string][]byte{"service-account.key": id.ServiceSA.KeyPEM}),
		opaque(pki.ObjectKey{Namespace: pki.NSConfig, Name: "pull-secret"}, map[string][]byte{corev1.DockerConfigJsonKey: []byte(documents.PullSecret)}),
		kubeadmin()), nil
}

// tlsSecret is a certificate Secret with the notes that the certificate controllers of library-go leave.
func tlsSecret(key pki.ObjectKey, kp *pki.KeyPair, kind string) *corev1.Secret {
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

func opaque(key pki.ObjectKey, data map[string][]byte) *corev1.Secret {
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
	return opaque(pki.ObjectKey{Namespace: "kube-system", Name: "kubeadmin"}, map[string][]byte{
		"kubeadmin": []byte("$2a$10$labLabLabLabLabLabLabu1labLabLabLabLabLabLabLabLabLabLa"),
	})
}

// hostnames lists the SANs as the operators note them.
func hostnames(req pki.LeafRequest) string { return strings.Join(req.Names(), ",") }
