package netpolicy

import (
	"bytes"
	"context"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// RecoverUnit settles an interrupted change of the network at boot, before NetworkManager reads its profiles.
const RecoverUnit = "lca-network-recover.service"

// recoverUnitText: DefaultDependencies=no, because NetworkManager may be ordered before basic.target on some nodes; it needs
// /var, where the journal is, and /etc, where the profiles are, to be mounted and writable.
const recoverUnitText = `[Unit]
Description=Lifecycle Agent: settle an interrupted change of the network
DefaultDependencies=no
RequiresMountsFor=/var/lib/lca /etc/NetworkManager
After=local-fs.target systemd-remount-fs.service
Before=NetworkManager.service network-pre.target shutdown.target
Conflicts=shutdown.target
Wants=network-pre.target
ConditionPathExists=/var/lib/lca/network/transaction.json
ConditionPathExists=` + host.CLI + `

[Service]
Type=oneshot
ExecStart=` + host.CLI + ` network recover --before-networkmanager
TimeoutStartSec=60

[Install]
WantedBy=NetworkManager.service multi-user.target
`

// InstallUnits installs and enables RecoverUnit in the system that runs. A unit that is in place is left alone.
func InstallUnits(ctx context.Context, files host.Files, units host.Units) error {
	path := host.UnitDir + "/" + RecoverUnit
	have, err := files.Read(path)
	if err == nil && bytes.Equal(have, []byte(recoverUnitText)) {
		return nil
	}
	if err := files.Write(path, []byte(recoverUnitText), 0o644); err != nil {
		return fmt.Errorf("install %s: %w", RecoverUnit, err)
	}
	if err := units.Enable(ctx, RecoverUnit); err != nil {
		return fmt.Errorf("enable %s: %w", RecoverUnit, err)
	}
	return nil
}
