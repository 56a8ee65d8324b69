//go:build interop

package interop

import (
	"context"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster"
)

// operator is one of OpenShift's, of which the control plane's certificates are.
type operator struct {
	// name is its project's in the organization openshift, and its program's.
	name string
	// configuration is the resource of which it has the object "cluster".
	configuration string
	// pod is the namespace of its static pod, whose manifest on the node is the file.
	pod, manifest string
	commands      []command
}

// command is a process of an operator: it is started once the objects exist, which it reads as files below /run.
type command struct {
	verb, namespace string
	reads           map[string]client.Object
}

func etcdOperator() operator {
	return operator{name: "cluster-etcd-operator", configuration: "Etcd", pod: "openshift-etcd", manifest: "etcd-pod.yaml",
		commands: []command{{verb: "operator", namespace: "openshift-etcd-operator", reads: map[string]client.Object{
			"secrets/etcd-client": secret("openshift-etcd", "etcd-client"), "configmaps/etcd-ca": configMap("openshift-etcd", "etcd-ca-bundle")}}}}
}

func apiServerOperator() operator {
	return operator{name: "cluster-kube-apiserver-operator", configuration: "KubeAPIServer", pod: "openshift-kube-apiserver",
		manifest: "kube-apiserver-pod.yaml", commands: []command{
			{verb: "operator", namespace: "openshift-kube-apiserver-operator"},
			{verb: "cert-regeneration-controller", namespace: "openshift-kube-apiserver"}}}
}

func controllerManagerOperator() operator {
	return operator{name: "cluster-kube-controller-manager-operator", configuration: "KubeControllerManager",
		pod: "openshift-kube-controller-manager", manifest: "kube-controller-manager-pod.yaml", commands: []command{
			{verb: "operator", namespace: "openshift-kube-controller-manager-operator"},
			{verb: "cert-recovery-controller", namespace: "openshift-kube-controller-manager"}}}
}

func serviceCAOperator() operator {
	return operator{name: "service-ca-operator", configuration: "ServiceCA", commands: []command{
		{verb: "operator", namespace: "openshift-service-ca-operator"},
		{verb: "controller", namespace: "openshift-service-ca", reads: map[string]client.Object{
			"secrets/signing-key": secret("openshift-service-ca", "signing-key"), "configmaps/signing-cabundle": configMap("openshift-service-ca", "signing-cabundle")}}}}
}

func secret(namespace, name string) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

func configMap(namespace, name string) *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
}

// moved settles a cluster, moves it, and returns it with the operators at work again, and its state before the move and after.
func moved(t *testing.T, from, to cluster.Site, operators ...operator) (c *operatedCluster, before, after map[string]string) {
	t.Helper()
	c = newOperatedCluster(t, from, operators...)
	c.start()
	c.furnish()
	c.startOperators()
	before = c.settle()
	c.stopOperators()
	c.stop()
	c.move(to)
	c.start()
	after = c.state()
	c.lookAgain()
	settled := c.settle()
	for _, name := range differences(after, settled) {
		place := strings.TrimSuffix(name, " has changed")
		t.Logf("%s: %s", name, firstChange(after[place], settled[place]))
	}
	require.Empty(t, differences(after, settled), "the operators leave the moved cluster as it is")
	t.Logf("%d Secrets, ConfigMaps and revisions are as the move left them", len(settled))
	return c, before, settled
}

// crossings are the moves that are tried. An operator ignores an etcd whose address is one of 192.0.2.0/24 or 2001:db8::/32.
var crossings = map[string]struct{ from, to cluster.Site }{
	"IPv4":             {site("203.0.113.10/24"), away},
	"IPv6":             {site("fd00:10::10/64"), site("fd00:77::20/64")},
	"IPv6 before IPv4": {site("fd00:10::10/64", "203.0.113.10/24"), awayDual},
}

// TestOperatorsKeepTheCertificatesOfAMovedCluster runs the operators of etcd and of kube-apiserver before and after a change of the
// address: they issue no certificate anew, change no bundle and start no revision. With the old address put back into what is noted of
// one certificate, the operator of etcd issues that one anew, and no other.
func TestOperatorsKeepTheCertificatesOfAMovedCluster(t *testing.T) {
	for name, crossing := range crossings {
		t.Run(name, func(t *testing.T) {
			c, before, after := moved(t, crossing.from, crossing.to, etcdOperator(), apiServerOperator())
			const serving, hostnames = "Secret openshift-etcd/etcd-serving-" + nodeName, "auth.openshift.io/certificate-hostnames"
			require.Contains(t, differences(before, after), serving+" has changed", "the move")
			for at, state := range map[string]map[string]string{crossing.from.EtcdURL(): before, crossing.to.EtcdURL(): after} {
				require.Contains(t, state["ConfigMap openshift-kube-apiserver/config"], at, "kube-apiserver's etcd")
			}
			s := secret("openshift-etcd", "etcd-serving-"+nodeName)
			require.NoError(t, c.Client.Get(t.Context(), client.ObjectKeyFromObject(s), s))
			now, old := crossing.to.Primary().String(), crossing.from.Primary().String()
			require.Contains(t, s.Annotations[hostnames], now)
			s.Annotations[hostnames] = strings.ReplaceAll(s.Annotations[hostnames], now, old)
			certificate := string(s.Data[corev1.TLSCertKey])
			require.NoError(t, c.Client.Update(t.Context(), s))
			await(t, func() bool { return c.noted(s, hostnames, now) && string(s.Data[corev1.TLSCertKey]) != certificate },
				"the operator issues a certificate anew whose names are not as they should be")
			changed := differences(after, c.settle())
			require.Contains(t, changed, "Etcd revision has changed")
			for _, kind := range []string{"peer", "serving-metrics"} {
				require.NotContains(t, changed, "Secret openshift-etcd/etcd-"+kind+"-"+nodeName+" has changed")
			}
		})
	}
}

// noted reports whether an annotation of a Secret mentions the address.
func (c *operatedCluster) noted(s *corev1.Secret, annotation, address string) bool {
	err := c.Client.Get(context.Background(), client.ObjectKeyFromObject(s), s)
	return err == nil && strings.Contains(s.Annotations[annotation], address)
}
