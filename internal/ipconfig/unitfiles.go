package ipconfig

import "github.com/lifecycle-agent/lifecycle-agent/internal/host"

// confined is what neither unit needs: home folders, the kernel's log, its clock and modules, foreign machine code. Both
// call ostree, which writes to /boot, /etc and /sysroot, so ProtectSystem= is out; both read /var/tmp of the host.
const confined = `PrivateMounts=yes
PrivateTmp=no
ProtectHome=tmpfs
ProtectKernelLogs=yes
RestrictRealtime=yes
LockPersonality=yes
SystemCallArchitectures=native
CapabilityBoundingSet=~CAP_SYS_MODULE CAP_SYS_TIME CAP_SYS_BOOT CAP_SYS_RAWIO CAP_SYS_PACCT CAP_SYS_TTY_CONFIG
CapabilityBoundingSet=~CAP_SYSLOG CAP_WAKE_ALARM CAP_BLOCK_SUSPEND CAP_AUDIT_CONTROL CAP_AUDIT_READ CAP_LEASE CAP_PERFMON
UMask=0077
`

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
# No NoNewPrivileges=, RestrictNamespaces= or ProtectControlGroups=: podman may run etcd from here.
RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET AF_INET6 AF_PACKET
` + confined + `
[Install]
WantedBy=multi-user.target
`

// initMonitorUnit is the watchdog. It waits for no network: a network that never
// comes is what it is there for. It must not have RestrictSUIDSGID: systemd answers openat2 with "function
// not implemented" then, and every file is opened by it.
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
NoNewPrivileges=yes
# ostree has mounts of its own made while it writes.
RestrictNamespaces=mnt
RestrictAddressFamilies=AF_UNIX AF_NETLINK AF_INET AF_INET6
ProtectControlGroups=yes
ProtectKernelTunables=yes
ProtectHostname=yes
` + confined + `
[Install]
WantedBy=multi-user.target
`
