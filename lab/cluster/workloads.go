package cluster

import (
	"path/filepath"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/nodefiles"
)

const (
	workloadsImage = "localhost/lab/workloads:1"

	// serviceAddress is where pods expect the API: the first address of the first service network.
	serviceAddress = "172.30.0.1"
)

// serviceSocket listens at the API's service address, in place of the kube-proxy or OVN that a cluster has. The route makes the
// address the node's own without any interface having it.
const serviceSocket = `[Unit]
Description=The API's address in the service network

[Socket]
ExecStartPre=/usr/sbin/ip route replace local ` + serviceAddress + `/32 dev lo
ListenStream=` + serviceAddress + `:443
FreeBind=yes

[Install]
WantedBy=sockets.target
`

// serviceProxy calls kube-apiserver at the service address too: by the address that a client has called, it picks its certificate.
const serviceProxy = `[Unit]
Description=Forward of the API's service address to kube-apiserver

[Service]
ExecStart=/usr/lib/systemd/systemd-socket-proxyd ` + serviceAddress + `:6443
`

// Workloads are what a node with the real kubelet needs beside its control plane to run Deployments and DaemonSets:
// kube-controller-manager and kube-scheduler as static pods, and the API's service address.
type Workloads struct {
	Image containerimage.Image
	// Files are those of the node by path.
	Files map[string]string
	// Units are to be enabled and started.
	Units []string
}

// NewWorkloads takes the programs from binDir.
func NewWorkloads(binDir string) (Workloads, error) {
	w := Workloads{
		Image: containerimage.Image{Names: []string{workloadsImage}, Files: map[string]string{}},
		Files: map[string]string{
			nodefiles.UnitDir + "kubernetes-service.socket":  serviceSocket,
			nodefiles.UnitDir + "kubernetes-service.service": serviceProxy,
		},
		Units: []string{"kubernetes-service.socket"},
	}
	for name, args := range workloadArgs() {
		pod, err := documents.Render(name, documents.WorkloadPod, map[string]any{"Name": name, "Image": workloadsImage, "Args": args})
		if err != nil {
			return Workloads{}, err
		}
		w.Files[nodefiles.ManifestsDir+"/"+name+"-pod.yaml"] = pod
		w.Image.Files["usr/bin/"+name] = filepath.Join(binDir, name)
	}
	return w, nil
}

// workloadArgs are the flags of the two programs. There is one of each, so none waits for a lease.
func workloadArgs() map[string][]string {
	common := []string{"--kubeconfig=" + nodefiles.KubeconfigDir + "/localhost.kubeconfig", "--leader-elect=false", "--bind-address=127.0.0.1", "--v=1"}
	return map[string][]string{
		"kube-scheduler": common,
		"kube-controller-manager": append([]string{
			"--controllers=daemonset-controller,deployment-controller,replicaset-controller,disruption-controller,endpointslice-controller," +
				"garbage-collector-controller,namespace-controller,serviceaccount-controller,root-ca-certificate-publisher-controller",
			"--root-ca-file=" + nodefiles.KubernetesDir + "/ca.crt",
		}, common...),
	}
}
