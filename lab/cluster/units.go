package cluster

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
ExecStart=/usr/local/bin/lifecycle-agent node --node-name=%H --host-root=/ --kubeconfig=` + nodeKubeconfigs + `/localhost.kubeconfig
Restart=always
RestartSec=2s

[Install]
WantedBy=multi-user.target
`

// unitDir is where a node has its own units.
const unitDir = "/etc/systemd/system/"

// unit adds a unit that is started with the node.
func (t *tree) unit(name, text string) {
	t.put(unitDir+name, text)
	t.link(unitDir+"multi-user.target.wants/"+name, unitDir+name)
}
