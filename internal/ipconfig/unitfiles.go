package ipconfig

import "github.com/lifecycle-agent/lifecycle-agent/internal/host"

// ipConfigurationUnit finishes the change in the new stateroot. It is restarted
// while its flow has tries left; exit code 3 says that another try is of no use. It is not ordered
// before kubelet, which it starts itself: the start would wait for its own end. Kubelet is
// disabled in this deployment until then. Neither unit depends on a file of the request: without it the
// node must still go back.
const ipConfigurationUnit = `[Unit]
Description=Lifecycle Agent: finish the IP configuration of this stateroot
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/ipconfig.md
Wants=NetworkManager.service
After=NetworkManager.service dbus.service

[Service]
Type=oneshot
ExecStart=` + host.CLI + ` ip-config post-pivot
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=3
TimeoutStartSec=infinity
PrivateMounts=yes
PrivateTmp=no
UMask=0077

[Install]
WantedBy=multi-user.target
`

// initMonitorUnit is the watchdog. It waits for no network: a network that never
// comes is what it is there for.
const initMonitorUnit = `[Unit]
Description=Lifecycle Agent: roll back when the change is not proved in time
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/ipconfig.md
After=dbus.service

[Service]
Type=exec
ExecStart=` + host.CLI + ` init-monitor --monitor
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=3
PrivateMounts=yes
NoNewPrivileges=yes
RestrictRealtime=yes
LockPersonality=yes
UMask=0077

[Install]
WantedBy=multi-user.target
`
