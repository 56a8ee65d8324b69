package relocation

import "github.com/lifecycle-agent/lifecycle-agent/internal/host"

// confined is what neither unit needs. Both call ostree, which writes to /boot, /etc and /sysroot, so ProtectSystem= is
// out.
const confined = `PrivateMounts=yes
PrivateTmp=no
ProtectKernelLogs=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
UMask=0077
`

// ReconfigureUnit waits for the site's configuration and carries it out. It is not ordered before kubelet, which it
// starts itself. Exit code 3 says that another try is of no use.
const ReconfigureUnit = `[Unit]
Description=Lifecycle Agent: make this node at home on its site
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/relocation.md
Wants=NetworkManager.service
After=NetworkManager.service dbus.service
ConditionPathExists=` + RecordFile + `

[Service]
Type=exec
ExecStart=` + host.CLI + ` relocation reconfigure
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=3
# No NoNewPrivileges=, RestrictNamespaces= or ProtectControlGroups=: podman may run etcd from here.
` + confined + `
[Install]
WantedBy=multi-user.target
`

// PageAddress is where the page is served: on every address of the node, because the site's is not known yet.
const PageAddress = "[::]:8443"

// PageUnit serves the page for as long as the node waits for a configuration or changes. It prints address and code to
// the console, and ends when the change is committed.
const PageUnit = `[Unit]
Description=Lifecycle Agent: the page on which a technician sets this node up
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/relocation.md
After=NetworkManager.service
ConditionPathExists=` + RecordFile + `

[Service]
Type=exec
ExecStart=` + host.CLI + ` relocation serve --listen ` + PageAddress + `
StandardOutput=journal+console
Restart=on-failure
RestartSec=5s
NoNewPrivileges=yes
` + confined + `
[Install]
WantedBy=multi-user.target
`

// MonitorUnit is the watchdog of a reconfiguration; the flow enables it. It must not have RestrictSUIDSGID: systemd answers
// openat2 with "function not implemented" then, and every file is opened by it.
const MonitorUnit = `[Unit]
Description=Lifecycle Agent: go back to the factory state when the reconfiguration is not proved in time
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/relocation.md
After=dbus.service

[Service]
Type=exec
ExecStart=` + host.CLI + ` relocation monitor
WatchdogSec=60s
WatchdogSignal=SIGKILL
Restart=on-failure
RestartSec=5s
RestartPreventExitStatus=3
NoNewPrivileges=yes
` + confined + `
[Install]
WantedBy=multi-user.target
`
