package nodefiles

// nodeletUnit starts nodelet in the kubelet's place, under the kubelet's name, because the product stops, masks and enables
// "kubelet.service". It is ordered like OpenShift's: kubelet-dependencies.target brings network, addresses and dnsmasq.
const nodeletUnit = `[Unit]
Description=Node agent of the lab, in place of the Kubernetes Kubelet
Requires=kubelet-dependencies.target
After=kubelet-dependencies.target

[Service]
Type=notify
NotifyAccess=main
ExecStart=/usr/local/bin/nodelet
KillMode=mixed
TimeoutStartSec=infinity
TimeoutStopSec=90s
Restart=always
RestartSec=2s

[Install]
WantedBy=multi-user.target
`

// agentUnit runs the agent's node role as a plain unit. That is quicker than a pod and works without containers; the scenario of
// the two roles runs both as pods. systemd restarts it for as long as the API is down, as kubelet would a pod.
const agentUnit = `[Unit]
Description=Lifecycle Agent
After=kubelet.service
StartLimitIntervalSec=0
ConditionFileIsExecutable=/usr/local/bin/lifecycle-agent

[Service]
ExecStart=/usr/local/bin/lifecycle-agent node --node-name=%H --host-root=/ --kubeconfig=` + KubeconfigDir + `/localhost.kubeconfig
Restart=always
RestartSec=2s

[Install]
WantedBy=multi-user.target
`

// UnitDir is where a node has its own units.
const UnitDir = "/etc/systemd/system/"

// Nodelet is what only a node with the lab's stand-in for the kubelet has.
func Nodelet() *Tree {
	t := newTree()
	t.unit("kubelet.service", nodeletUnit)
	return t
}

// unit adds a unit that is started with the node.
func (t *Tree) unit(name, text string) {
	t.put(UnitDir+name, text)
	t.link(UnitDir+"multi-user.target.wants/"+name, UnitDir+name)
}
