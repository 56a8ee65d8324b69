package cluster

// kubeletUnit starts nodelet in the kubelet's place, under the kubelet's name, because the product stops, masks and enables
// "kubelet.service". It is ordered like OpenShift's: kubelet-dependencies.target brings network, addresses and dnsmasq.
const kubeletUnit = `[Unit]
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

// agentUnit runs the operator as a plain unit: the lab has no pods to run it in.
const agentUnit = `[Unit]
Description=Lifecycle Agent
After=kubelet.service
ConditionFileIsExecutable=/usr/local/bin/lifecycle-agent

[Service]
ExecStart=/usr/local/bin/lifecycle-agent --host-root / --kubeconfig ` + nodeKubeconfigs + `/localhost.kubeconfig
Restart=always
RestartSec=2s

[Install]
WantedBy=multi-user.target
`

func putUnits(t *tree) {
	const dir = "/etc/systemd/system/"
	for name, text := range map[string]string{"kubelet.service": kubeletUnit, "lifecycle-agent.service": agentUnit} {
		t.put(dir+name, text)
		t.link(dir+"multi-user.target.wants/"+name, dir+name)
	}
}
