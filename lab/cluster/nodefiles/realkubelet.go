package nodefiles

import "github.com/lifecycle-agent/lifecycle-agent/lab/cluster/containerimage"

// The units and settings of a node with the real kubelet. docs/decisions/0002-real-kubelet.md says which of the settings a
// container as a machine makes necessary, and by which message each shows when it is missing.

// ImageArchive is where a new node finds its container image, below /var; the import removes it.
const ImageArchive = "lib/lab/images/control-plane.tar"

// kubeletUnit is ordered like OpenShift's: kubelet-dependencies.target brings network, addresses and dnsmasq. Like there,
// the addresses come through the environment, so that a node that has moved registers where it is.
const kubeletUnit = `[Unit]
Description=Kubernetes Kubelet
Requires=kubelet-dependencies.target crio.service
Wants=lab-images.service
After=kubelet-dependencies.target crio.service lab-images.service

[Service]
Type=notify
EnvironmentFile=/run/nodeip-configuration/kubelet.env
ExecStart=/usr/local/bin/kubelet --config=/etc/kubernetes/kubelet.conf --kubeconfig=/var/lib/kubelet/kubeconfig \
  --node-ip=${KUBELET_NODE_IPS} --v=1
TimeoutStartSec=5min
Restart=always
RestartSec=2s

[Install]
WantedBy=multi-user.target
`

// imagesUnit loads the node's container image once: after a move /var, and the runtime's store in it, has come along.
const imagesUnit = `[Unit]
Description=Import of the container image that the lab's static pods run
Requires=containerd.service
After=containerd.service
Before=kubelet.service
ConditionPathExists=/var/` + ImageArchive + `

[Service]
Type=oneshot
RemainAfterExit=yes
ExecStart=/usr/bin/ctr --namespace k8s.io images import /var/` + ImageArchive + `
ExecStart=/usr/bin/rm /var/` + ImageArchive + `

[Install]
WantedBy=multi-user.target
`

// rolesUnit does what upstream's kubelet may not and the lab has no controller for; the script says what.
const rolesUnit = `[Unit]
Description=Roles and taints of the node
After=kubelet.service

[Service]
ExecStart=/usr/libexec/node/node-roles
Restart=always

[Install]
WantedBy=multi-user.target
`

// kubeletConfig has no QoS cgroups because a container's cgroup tree has no controllers, and a short syncFrequency because a
// mirror pod that a fresh API refused is tried again only then. Disk limits are off: the disk is the build host's.
const kubeletConfig = `apiVersion: kubelet.config.k8s.io/v1beta1
kind: KubeletConfiguration
staticPodPath: /etc/kubernetes/manifests
containerRuntimeEndpoint: unix:///run/containerd/containerd.sock
authentication:
  anonymous: {enabled: false}
  webhook: {enabled: false}
  x509: {clientCAFile: /etc/kubernetes/kubelet-ca.crt}
authorization: {mode: AlwaysAllow}
tlsCertFile: /var/lib/kubelet/pki/kubelet-server-current.pem
tlsPrivateKeyFile: /var/lib/kubelet/pki/kubelet-server-current.pem
cgroupsPerQOS: false
enforceNodeAllocatable: []
failSwapOn: false
syncFrequency: 3s
imageGCHighThresholdPercent: 100
evictionHard: {nodefs.available: 0%, nodefs.inodesFree: 0%, imagefs.available: 0%, imagefs.inodesFree: 0%}
`

// containerdConfig leaves alone what a container must not touch: cgroups and the out-of-memory score.
const containerdConfig = `version = 2
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "` + containerimage.Pause + `"
  disable_cgroup = true
  restrict_oom_score_adj = true
[plugins."io.containerd.grpc.v1.cri".cni]
  bin_dir = "/usr/lib/cni"
`

// networkConfig connects each pod that is not on the host network to the node by a pair of its own, without address
// translation: such a pod reaches the node and what the node serves. Its addresses are forgotten at boot, as the pairs are.
const networkConfig = `{"cniVersion": "1.0.0", "name": "lab", "plugins": [{"type": "ptp", "ipam": {
  "type": "host-local", "dataDir": "/run/cni", "routes": [{"dst": "0.0.0.0/0"}], "ranges": [[{"subnet": "10.128.0.0/23"}]]}}]}
`

// podInterfaces keeps NetworkManager away from the pods' pairs, as its udev rule does on a machine where udev runs.
const podInterfaces = `[device-pods]
match-device=interface-name:veth*
managed=0
`

// Kubelet is what only a node with the real kubelet has.
func Kubelet() *Tree {
	t := newTree()
	t.unit("kubelet.service", kubeletUnit)
	t.unit("lab-images.service", imagesUnit)
	t.unit("node-roles.service", rolesUnit)
	const containerd = "/usr/lib/systemd/system/containerd.service"
	t.link(UnitDir+"multi-user.target.wants/containerd.service", containerd)
	// The product knows the container runtime by CRI-O's name.
	t.link(UnitDir+"crio.service", containerd)
	t.put("/etc/containerd/config.toml", containerdConfig)
	t.put("/etc/cni/net.d/10-lab.conflist", networkConfig)
	t.put("/etc/NetworkManager/conf.d/30-pods.conf", podInterfaces)
	t.put(KubernetesDir+"/kubelet.conf", kubeletConfig)
	return t
}
