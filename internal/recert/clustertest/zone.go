package clustertest

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// zone makes what is called by the cluster's name: its zone, and the identifier of its infrastructure.
func (m *maker) zone() {
	zone, near := m.site.Zone(), "a"+m.site.oldZone()
	m.clusterObjects(zone)
	config := func(kind string) string { return "config.openshift.io/" + kind + "/cluster" }
	cluster := func(kind string, fields map[string]any) map[string]any {
		out := map[string]any{"apiVersion": "config.openshift.io/v1", "kind": kind, "metadata": map[string]any{"name": "cluster"}}
		for k, v := range fields {
			out[k] = v
		}
		return out
	}
	m.custom(config("ingresses"), cluster("Ingress", map[string]any{"spec": map[string]any{"domain": "apps." + zone, "appsDomain": "apps." + near},
		"status": map[string]any{"componentRoutes": []any{map[string]any{"currentHostnames": []any{"oauth-openshift.apps." + zone}}}}}))
	m.custom(config("consoles"), cluster("Console", map[string]any{"status": map[string]any{"consoleURL": "https://console.apps." + zone}}))
	m.custom("console.openshift.io/consoleclidownloads/oc", cluster("ConsoleCLIDownload", map[string]any{"spec": map[string]any{
		"links": []any{map[string]any{"href": "https://downloads.apps." + zone + "/amd64/oc.tar"}}}}))
	m.configMap("openshift-config-managed", "console-public", map[string]string{"consoleURL": "https://console.apps." + zone})
	m.configMap("openshift-ovn-kubernetes", "ovnkube-config", map[string]string{
		"ovnkube.conf": fmt.Sprintf("apiserver=\"https://api-int.%s:6443\"\nother=https://%s api.%s.evil\n", zone, near, m.site.oldZone())})
	m.configMap("openshift-kube-controller-manager", "config-7", map[string]string{"config.yaml": compact(map[string]any{
		"extendedArguments": map[string]any{"cluster-name": []string{m.site.Infra}}, "other": "c-x7k2p"})})
	m.configMap("openshift-kube-controller-manager", "kube-controller-manager-pod", map[string]string{
		"pod.yaml": fmt.Sprintf("args: exec kcm --cluster-name=%s -v=2 --cluster-name=c-x7k2p-2\n", m.site.Infra)})
	m.file("/etc/kubernetes/manifests/kube-controller-manager-pod.yaml", compact(map[string]any{"args": "--cluster-name=" + m.site.Infra}))
	m.file("/etc/kubernetes/apiserver-url.env", "KUBERNETES_SERVICE_HOST='api-int."+zone+"'\nKUBERNETES_SERVICE_PORT='6443'\n")
	m.secret("openshift-config-managed", "router-certs", map[string]string{"apps." + zone: m.issue(request{cn: "router", id: "router"}).CertPEM}, nil)
	m.secret("openshift-machine-api", "master-user-data-managed", map[string]string{
		"userData": compact(map[string]any{"source": "https://api-int." + zone + ":22623/config/master"})}, nil)
	m.configMap("ns", "user-zone", map[string]string{"note": "see https://app.apps." + m.site.oldZone()})
	m.daemonSet("openshift-multus", "multus", "api-int."+zone)
	m.daemonSet("ns", "users", "api-int."+m.site.oldZone())
	m.out.Keys["/openshift.io/routes/ns/app"] = asJSON(map[string]any{"kind": "Route", "apiVersion": "route.openshift.io/v1",
		"spec": map[string]any{"host": "app.apps." + zone, "path": "/" + near}, "status": map[string]any{"ingress": []any{map[string]any{"host": "app.apps." + zone}}}})
}

// clusterObjects are those that say what the cluster is called, and their copies in the machine's configuration.
func (m *maker) clusterObjects(zone string) {
	infra := map[string]any{"apiServerURL": "https://api." + zone + ":6443", "infrastructureName": m.site.Infra, "platform": "None"}
	m.custom("config.openshift.io/infrastructures/cluster", map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "Infrastructure",
		"metadata": map[string]any{"name": "cluster"}, "status": infra})
	m.custom("config.openshift.io/dnses/cluster", map[string]any{"apiVersion": "config.openshift.io/v1", "kind": "DNS",
		"metadata": map[string]any{"name": "cluster"}, "spec": map[string]any{"baseDomain": zone}})
	const mco = "machineconfiguration.openshift.io/"
	m.custom(mco+"controllerconfigs/copy", map[string]any{"apiVersion": mco + "v1", "kind": "ControllerConfig", "metadata": map[string]any{"name": "copy"},
		"spec": map[string]any{"dns": map[string]any{"spec": map[string]any{"baseDomain": zone}}, "infra": map[string]any{"status": infra}}})
	source := func(text string) map[string]any {
		return map[string]any{"source": "data:text/plain;charset=utf-8;base64," + encode64(text)}
	}
	files := []any{
		map[string]any{"path": "/etc/kubernetes/apiserver-url.env", "contents": source("KUBERNETES_SERVICE_HOST='api-int." + zone + "'\n")},
		map[string]any{"path": "/etc/users", "contents": source("api." + m.site.oldZone())}}
	m.custom(mco+"machineconfigs/01-master-kubelet", map[string]any{"apiVersion": mco + "v1", "kind": "MachineConfig",
		"metadata": map[string]any{"name": "01-master-kubelet"}, "spec": map[string]any{"config": map[string]any{"storage": map[string]any{"files": files}}}})
}

// daemonSet tells its pods a host.
func (m *maker) daemonSet(ns, name, host string) {
	m.object("daemonsets/"+ns+"/"+name, &appsv1.DaemonSet{TypeMeta: kind("apps/v1", "DaemonSet"), ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: appsv1.DaemonSetSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{Containers: []corev1.Container{{Name: "c",
			Env: []corev1.EnvVar{{Name: "KUBERNETES_SERVICE_HOST", Value: host}}}}}}}})
}
