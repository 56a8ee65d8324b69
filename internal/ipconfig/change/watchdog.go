package change

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Monitor is the watchdog of an operation in the new stateroot; see stateroot.Watchdog. Where its record cannot be read,
// lca-last-resort.timer sets the limit.
type Monitor struct {
	Files   host.Files
	Clock   flow.Clock
	Log     *slog.Logger
	Request ipconfig.Request
	Auto    ipconfig.AutoRollback
	// Alive reports at each turn that the watchdog works; nil reports nothing. systemd kills a watchdog that does not report.
	Alive func()

	dog *stateroot.Watchdog
}

// Watch returns nil when the watchdog is switched off or the change is proved, an error when ctx ended
// first, and the cause of the rollback when the limit is reached.
func (m *Monitor) Watch(ctx context.Context) (cause string, err error) {
	if !m.Auto.MonitorEnabled {
		m.Log.Info("the watchdog is switched off by annotation", "op", m.Request.OperationID)
		return "", nil
	}
	err = m.ensureWatchdog().Watch(ctx)
	if errors.Is(err, stateroot.ErrOver) {
		m.Log.Info("the change is proved; the watchdog ends", "op", m.Request.OperationID)
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return m.rollbackCause(), nil
}

// rollbackCause also says which step was not done and what it waited for, or what a change that is proved still waits for.
func (m *Monitor) rollbackCause() string {
	cause := ipconfig.CauseWatchdog + m.Auto.Timeout().String()
	if h, found, err := ipconfig.ReadHealth(m.Files, m.Request.OperationID); err == nil && found && !h.Healthy {
		cause += "; the cluster can be reached, but is not healthy: " + h.Missing
	}
	return cause + unfinishedStep(m.Files, m.Request.OperationID)
}

func (m *Monitor) ensureWatchdog() *stateroot.Watchdog {
	if m.dog == nil {
		m.dog = &stateroot.Watchdog{
			Files: m.Files, Clock: m.Clock, Log: m.Log, Operation: m.Request.OperationID,
			Record: ipconfig.WatchedFile, Limit: m.Auto.Timeout(), Alive: m.Alive,
			Over: func() bool { return isDisarmed(m.Files, m.Request, m.Auto) },
		}
	}
	return m.dog
}

// lastResortMargin is how much longer than the watchdog the last resort waits in a boot: the watchdog's own rollback, with
// its evidence, must have had the time to end.
const lastResortMargin = 15 * time.Minute

// wantsLastResort says whether the node may go back by time: not where the administrator has disabled the watchdog.
func (p *PrePivot) wantsLastResort() bool {
	return p.Request.InstallInitMonitor && p.Auto.MonitorEnabled
}

// installLastResort gives the new stateroot a way back that needs systemd, ostree and a shell, but not lca-cli, which both
// other units are. It is armed as long as the watchdog is enabled.
func (p *PrePivot) installLastResort(ctx context.Context, back, target host.Deployment) error {
	check, err := p.checkOfCLI(target)
	if err != nil {
		return err
	}
	script := target.InDeployment(ipconfig.LastResortScript)
	if err := p.Files.Write(script, []byte(p.lastResortScript(back, p.oneTime().Usable(ctx) == nil)), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", script, err)
	}
	timer := fmt.Sprintf(lastResortTimer, int((p.Auto.Timeout() + lastResortMargin).Seconds()))
	for _, unit := range []struct{ name, text string }{
		{ipconfig.UnitLastResort, lastResortUnit},
		{ipconfig.UnitLastResortTimer, timer},
		{ipconfig.UnitCheckCLI, fmt.Sprintf(checkCLIUnit, check)},
	} {
		if err := p.writeUnit(target, unit.name, unit.text); err != nil {
			return err
		}
	}
	if err := p.Foreign.EnableIn(ctx, target.Dir(), ipconfig.UnitCheckCLI); err != nil {
		return fmt.Errorf("enable %s in the new deployment: %w", ipconfig.UnitCheckCLI, err)
	}
	return nil
}

// checkOfCLI is the command that compares the new stateroot's lca-cli with the one that runs now. Where lca-cli is part of
// the operating system, ostree has checked it.
func (p *PrePivot) checkOfCLI(target host.Deployment) (string, error) {
	data, err := p.Files.Read(host.CLIInVar)
	if errors.Is(err, fs.ErrNotExist) {
		return "/usr/bin/true", nil
	}
	if err != nil {
		return "", fmt.Errorf("read %s: %w", host.CLIInVar, err)
	}
	sum := sha256.Sum256(data)
	file, text := target.InDeployment(ipconfig.CLIChecksum), hex.EncodeToString(sum[:])+"  "+host.CLIInVar+"\n"
	if err := p.Files.Write(file, []byte(text), 0o600); err != nil {
		return "", fmt.Errorf("write %s: %w", file, err)
	}
	return "/usr/bin/sha256sum --check --status " + ipconfig.CLIChecksum, nil
}

// checkedFile says that the check has passed once: later the agent may rightly install another version.
const checkedFile = host.Workspace + "/lca-cli.checked"

// lastResortScript boots the old stateroot. It leaves the logs there, which is all that explains what happened. Where the new system
// boots once, a reboot alone leads back: whatever ostree needs may be what is broken.
func (p *PrePivot) lastResortScript(back host.Deployment, once bool) string {
	id, old := p.Request.OperationID, p.Request.OldStateroot
	rebootAlone := "false"
	if once {
		rebootAlone = "true"
	}
	return strings.NewReplacer(
		"@REBOOT_ALONE@", rebootAlone,
		"@OLD@", old, "@DEPLOYMENT@", back.ID(),
		"@LOG@", path.Join(host.SysrootDir, host.InVar(old, ipconfig.LastResortLog)),
		"@JOURNAL@", operation.JournalPath(id),
		"@HANDED@", path.Join(host.SysrootDir, host.InVar(old, operation.PivotedJournalPath(id))),
	).Replace(lastResortText)
}

const lastResortText = `# Written by lifecycle-agent: boots stateroot @OLD@ again, without lca-cli.
mount -o remount,rw /sysroot
mount -o remount,rw /boot
rm -f ` + stateroot.Ballast + ` ` + stateroot.BootBallast + `
{
  echo "last resort: ${1:-lca-cli did not bring the change to an end}"
  journalctl --no-pager --boot --lines=200 --unit=ip-configuration.service --unit=lca-init-monitor.service \
    --unit=lca-check-cli.service
  systemctl --no-pager --failed
} >@LOG@
cp @JOURNAL@ @HANDED@
index=$(ostree admin status | awk -v os=@OLD@ -v id=@DEPLOYMENT@ '
  /^[* ] [^ ]+ [0-9a-f]+\.[0-9]+/ { if ($1 == os && $2 == id || $2 == os && $3 == id) { print n + 0; exit } n++ }')
[ -n "$index" ] || @REBOOT_ALONE@ || { echo "deployment @DEPLOYMENT@ of @OLD@ is missing: there is no way back" >&2; exit 1; }
[ "${index:-0}" = 0 ] || ostree admin set-default "$index" || exit
sync
systemctl --no-block reboot
`

const lastResortUnit = `[Unit]
Description=Lifecycle Agent: last resort: boot the former stateroot without lca-cli
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/ipconfig.md
ConditionPathExists=` + host.UnitDir + `/multi-user.target.wants/` + ipconfig.UnitInitMonitor + `

[Service]
Type=oneshot
ExecStart=/bin/sh ` + ipconfig.LastResortScript + `
Restart=on-failure
RestartSec=60s
PrivateMounts=yes
UMask=0077
`

// lastResortTimer counts from the start of the kernel: a clock that is wrong does not move it.
const lastResortTimer = `[Unit]
Description=Lifecycle Agent: last resort, when the watchdog itself does not work

[Timer]
OnBootSec=%d
AccuracySec=1s
Unit=` + ipconfig.UnitLastResort + `
`

// emergencyUnit leads back from a new system that ends in emergency or rescue mode, where neither the watchdog nor the timer runs.
// The time is for a person at the console, who can stop it.
const emergencyUnit = `[Unit]
Description=Lifecycle Agent: boot the former stateroot from emergency or rescue mode, after five minutes
Documentation=https://github.com/lifecycle-agent/lifecycle-agent/blob/main/docs/operate/recover-by-hand.md
DefaultDependencies=no
ConditionPathExists=` + host.UnitDir + `/multi-user.target.wants/` + ipconfig.UnitInitMonitor + `

[Service]
Type=exec
StandardOutput=journal+console
ExecStart=/bin/sh -c "echo 'The change of the address is not proved: the former system boots in five minutes, ` +
	`unless you enter: systemctl stop ` + ipconfig.UnitEmergency + `'; sleep 300; ` +
	`exec /bin/sh ` + ipconfig.LastResortScript + ` 'the new system ended in emergency or rescue mode'"
UMask=0077

[Install]
WantedBy=emergency.target rescue.target
`

const checkCLIUnit = `[Unit]
Description=Lifecycle Agent: check that lca-cli reached this stateroot whole
ConditionPathExists=` + host.UnitDir + `/multi-user.target.wants/` + ipconfig.UnitInitMonitor + `
ConditionPathExists=!` + checkedFile + `
Wants=` + ipconfig.UnitLastResortTimer + `
Before=` + ipconfig.UnitIPConfiguration + ` ` + ipconfig.UnitInitMonitor + `
OnFailure=` + ipconfig.UnitLastResort + `

[Service]
Type=oneshot
ExecStart=%s
ExecStartPost=/usr/bin/touch ` + checkedFile + `
UMask=0077

[Install]
WantedBy=multi-user.target
`
