package change

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// installUnits gives the new deployment its services, and keeps kubelet there
// down until post-pivot starts it.
func (p *PrePivot) installUnits(ctx context.Context) error {
	old, target, err := p.stateroots().Deployments(ctx, p.Deployments)
	if err != nil {
		return err
	}
	units := map[string]string{}
	if p.Request.InstallIPConfigurationService {
		units[ipconfig.UnitIPConfiguration] = ipConfigurationUnit
	}
	if p.Request.InstallInitMonitor {
		units[ipconfig.UnitInitMonitor] = initMonitorUnit
	}
	for name, text := range units {
		if err := p.installUnit(ctx, target, name, withWayBack(text, old)); err != nil {
			return err
		}
	}
	if p.wantsLastResort() {
		if err := p.installLastResort(ctx, old, target); err != nil {
			return err
		}
		if err := p.installUnit(ctx, target, ipconfig.UnitEmergency, emergencyUnit); err != nil {
			return err
		}
	}
	if err := p.Foreign.DisableIn(ctx, target.Dir(), host.UnitKubelet); err != nil {
		return fmt.Errorf("disable %s in the new deployment: %w", host.UnitKubelet, err)
	}
	return nil
}

// withWayBack names the way back in a unit: with it a rollback needs neither request nor journal.
func withWayBack(unit string, old host.Deployment) string {
	return strings.Replace(unit, "[Unit]\n", "[Unit]\n"+ipconfig.UnitKeyOldStateroot+"="+old.Stateroot+"\n"+
		ipconfig.UnitKeyOldDeployment+"="+old.ID()+"\n", 1)
}

func (p *PrePivot) installUnit(ctx context.Context, target host.Deployment, name, text string) error {
	return stateroot.InstallUnit(ctx, p.Files, p.Foreign, target, name, text)
}

func (p *PrePivot) writeUnit(target host.Deployment, name, text string) error {
	return stateroot.WriteUnit(p.Files, target, name, text)
}

// armWatchdog keeps the room that a rollback needs, notes until when the watchdog is expected to wait, and hands the journal over.
func (p *PrePivot) armWatchdog(context.Context) error {
	if err := stateroot.KeepBallast(p.Files, p.Request.NewStateroot); err != nil {
		return err
	}
	deadline := p.Clock.Now().Add(p.Auto.Timeout()).UTC().Truncate(time.Second)
	if err := p.Note(ipconfig.FlowPrePivot, "watchdog armed", deadline); err != nil {
		return err
	}
	return stateroot.HandJournal(p.Files, p.Request.OperationID, p.Request.NewStateroot)
}

// dropBallast leaves the new stateroot's ballast to the removal of the stateroot.
func (p *PrePivot) dropBallast(context.Context) error { return stateroot.DropBallast(p.Files) }

// sealedFiles lists what must be whole, by its path in the new system.
func (p *PrePivot) sealedFiles(prefix func(string) string) ([]string, error) {
	files, r := p.Files, p.Request
	list := []string{
		ipconfig.RequestFile, ipconfig.PostPivotFile, ipconfig.AutoRollbackFile, ipconfig.MonitorModeFile,
		ipconfig.NMStateFile, host.RecertConfig, host.DnsmasqOverrides, host.KubeletConfigJSON,
	}
	if r.InstallIPConfigurationService {
		list = append(list, path.Join(host.UnitDir, ipconfig.UnitIPConfiguration))
	}
	if r.InstallInitMonitor {
		list = append(list, path.Join(host.UnitDir, ipconfig.UnitInitMonitor))
	}
	if p.wantsLastResort() {
		list = append(list, ipconfig.LastResortScript,
			path.Join(host.UnitDir, ipconfig.UnitLastResort), path.Join(host.UnitDir, ipconfig.UnitLastResortTimer),
			path.Join(host.UnitDir, ipconfig.UnitEmergency))
	}
	crypto, err := files.List(prefix(ipconfig.CryptoDir))
	if err != nil {
		return nil, fmt.Errorf("list the crypto material: %w", err)
	}
	for _, name := range crypto {
		list = append(list, path.Join(ipconfig.CryptoDir, name))
	}
	return slices.DeleteFunc(list, func(f string) bool {
		_, err := files.Stat(prefix(f))
		return err != nil && f == host.KubeletConfigJSON
	}), nil
}

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
# It reports every five seconds; a process that is stopped cannot be ended by a signal that it could handle.
WatchdogSec=60s
WatchdogSignal=SIGKILL
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
