package objects

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// The operators re-issue what differs in one of these from what they would make.
func TestServingCertificatesAreAsTheOperatorsMakeThem(t *testing.T) {
	s := site.Site{}.WithDefaults()
	annotated := map[string]string{}
	id, err := pki.NewIdentity(s, time.Now())
	require.NoError(t, err)
	list, err := secrets(s, id)
	require.NoError(t, err)
	for _, secret := range list {
		if names := secret.Annotations[authPrefix+"certificate-hostnames"]; names != "" {
			annotated[secret.Name] = names
		}
	}
	require.Equal(t, "192.0.2.10,localhost", annotated["etcd-peer-sno"])
	require.Equal(t, "127.0.0.1,192.0.2.10,::1,etcd.kube-system.svc,etcd.kube-system.svc.cluster.local,"+
		"etcd.openshift-etcd.svc,etcd.openshift-etcd.svc.cluster.local,localhost", annotated["etcd-serving-sno"])
	for _, name := range []string{"external-loadbalancer-serving-certkey", "internal-loadbalancer-serving-certkey",
		"localhost-serving-cert-certkey", "service-network-serving-certkey", "localhost-recovery-serving-certkey"} {
		require.NotEmpty(t, annotated[name], name)
	}
	require.Equal(t, "192.0.2.10", id.Leaves["etcd-peer-sno"].Cert.Subject.CommonName)
	require.Equal(t, "127.0.0.1", id.Leaves["etcd-serving-sno"].Cert.Subject.CommonName)
}
