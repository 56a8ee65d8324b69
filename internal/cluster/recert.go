package cluster

import (
	"context"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
)

// RecertFile is one file of the kubeconfig-crypto folder: the keys with which
// regenerated certificates stay acceptable to existing kubeconfigs. Data is a
// secret for every file but the certificate.
type RecertFile struct {
	Name string
	Data []byte
}

// RecertInputs is what recert needs from the API before the cluster is stopped.
type RecertInputs struct {
	Files []RecertFile
	// IngressCN is the subject common name of the ingress operator's CA.
	IngressCN string
	// InstallConfig is the install-config text.
	InstallConfig string
}

// source says where a crypto file is kept in the API.
type source struct {
	file, namespace, name, key string
	configMap                  bool
}

// adminClientCA is the file with the CA of the admin kubeconfig; the others hold keys.
const adminClientCA = "admin-kubeconfig-client-ca.crt"

const (
	apiserverOperatorNamespace = "openshift-kube-apiserver-operator"
	ingressOperatorNamespace   = "openshift-ingress-operator"
	routerCA                   = "router-ca"
)

// recertSources lists the files by the names that recert's use_key and use_cert rules refer to.
func recertSources() []source {
	operator, key := apiserverOperatorNamespace, corev1.TLSPrivateKeyKey
	return []source{
		{file: adminClientCA, namespace: "openshift-config", name: "admin-kubeconfig-client-ca", key: "ca-bundle.crt", configMap: true},
		{file: "loadbalancer-serving-signer.key", namespace: operator, name: "loadbalancer-serving-signer", key: key},
		{file: "localhost-serving-signer.key", namespace: operator, name: "localhost-serving-signer", key: key},
		{file: "service-network-serving-signer.key", namespace: operator, name: "service-network-serving-signer", key: key},
		{file: "ingresskey-ingress-operator.key", namespace: ingressOperatorNamespace, name: routerCA, key: key},
	}
}

// ReadRecertInputs reads them all. A missing object is an error that apierrors.IsNotFound recognises.
func ReadRecertInputs(ctx context.Context, r kube.Reader) (RecertInputs, error) {
	var in RecertInputs
	for _, s := range recertSources() {
		data, err := s.readData(ctx, r)
		if err != nil {
			return RecertInputs{}, fmt.Errorf("read %s: %w", s.file, err)
		}
		in.Files = append(in.Files, RecertFile{Name: s.file, Data: data})
	}
	cn, err := ingressCN(ctx, r)
	if err != nil {
		return RecertInputs{}, fmt.Errorf("read the name of the ingress CA: %w", err)
	}
	ic, err := ReadInstallConfig(ctx, r)
	if err != nil {
		return RecertInputs{}, fmt.Errorf("read the install-config: %w", err)
	}
	in.IngressCN, in.InstallConfig = cn, ic.Text
	return in, nil
}

// ingressCN is the common name of the ingress operator's CA.
func ingressCN(ctx context.Context, r kube.Reader) (string, error) {
	s := source{namespace: ingressOperatorNamespace, name: routerCA, key: corev1.TLSCertKey}
	data, err := s.readData(ctx, r)
	if err != nil {
		return "", err
	}
	certs, err := parseCertificates(data)
	if err != nil {
		return "", fmt.Errorf("key %s of secret %s/%s: %w", s.key, s.namespace, s.name, err)
	}
	return certs[0].Subject.CommonName, nil
}

func (s source) readData(ctx context.Context, r kube.Reader) ([]byte, error) {
	key := kube.Key{Namespace: s.namespace, Name: s.name}
	kind, data := "secret", []byte(nil)
	if s.configMap {
		var cm corev1.ConfigMap
		kind = "configmap"
		if err := r.Get(ctx, key, &cm); err != nil {
			return nil, fmt.Errorf("get configmap %s: %w", key, err)
		}
		data = []byte(cm.Data[s.key])
	} else {
		var secret corev1.Secret
		if err := r.Get(ctx, key, &secret); err != nil {
			return nil, fmt.Errorf("get secret %s: %w", key, err)
		}
		data = secret.Data[s.key]
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("%s %s has no key %s", kind, key, s.key)
	}
	return data, nil
}

// EarliestExpiry returns the earliest NotAfter of all certificates in the PEM
// files. Other blocks, such as the private key in a kubelet's combined file,
// are ignored. A file without any certificate is an error.
func EarliestExpiry(files ...[]byte) (time.Time, error) {
	var earliest time.Time
	for i, data := range files {
		certs, err := parseCertificates(data)
		if err != nil {
			return time.Time{}, fmt.Errorf("certificate file %d of %d: %w", i+1, len(files), err)
		}
		for _, c := range certs {
			if earliest.IsZero() || c.NotAfter.Before(earliest) {
				earliest = c.NotAfter
			}
		}
	}
	if earliest.IsZero() {
		return time.Time{}, errors.New("no certificate given")
	}
	return earliest, nil
}

func parseCertificates(data []byte) ([]*x509.Certificate, error) {
	var certs []*x509.Certificate
	for block, rest := pem.Decode(data); block != nil; block, rest = pem.Decode(rest) {
		if block.Type != "CERTIFICATE" {
			continue
		}
		c, err := x509.ParseCertificate(block.Bytes)
		if err != nil {
			return nil, fmt.Errorf("parse certificate: %w", err)
		}
		certs = append(certs, c)
	}
	if len(certs) == 0 {
		return nil, errors.New("holds no PEM certificate")
	}
	return certs, nil
}
