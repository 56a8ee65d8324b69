package machineconfig

import (
	"fmt"
	"strings"

	ignition "github.com/coreos/ignition/v2/config/v3_2/types"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
)

// Overlay says where the profiles that NetworkManager sees are put together.
type Overlay struct {
	// Lower are the profiles that MachineConfigs own, and that a node boots with.
	Lower string
	// Merged is where NetworkManager reads and writes.
	Merged string
	// Upper and Work are on one tmpfs, so that what is written is gone after a reboot.
	Upper, Work string
	// SELinux is the context of everything below Merged; empty leaves labels to the file systems.
	SELinux string
}

// DefaultOverlay has a name without hyphens for the merged folder: systemd presets misread the escaped name of a mount unit that has.
func DefaultOverlay() Overlay {
	return Overlay{
		Lower: "/etc/NetworkManager/system-connections", Merged: "/etc/NetworkManager/systemConnectionsMerged",
		Upper: "/run/nm-system-connections", Work: "/run/nm-system-connections-work",
		SELinux: "system_u:object_r:NetworkManager_etc_rw_t:s0",
	}
}

// OverlayName of the MachineConfig of a role's overlay.
func OverlayName(role string) string { return "99-" + role + "-network-overlay" }

// MachineConfig renders the overlay: NetworkManager's drop-in, the folders, and the mount before NetworkManager starts.
func (o Overlay) MachineConfig(role string) (*mcv1.MachineConfig, error) {
	if err := o.checkFolders(); err != nil {
		return nil, err
	}
	unit, yes := o.Unit(), true
	contents := o.UnitText()
	return renderConfig(OverlayName(role), role, ignition.Config{
		Storage: ignition.Storage{Files: []ignition.File{
			embeddedFile("/etc/NetworkManager/conf.d/99-kni.conf", o.DropIn(), 0o644),
			embeddedFile("/etc/tmpfiles.d/nm-system-connections.conf", o.Tmpfiles(), 0o644),
		}},
		Systemd: ignition.Systemd{Units: []ignition.Unit{{Name: unit, Enabled: &yes, Contents: &contents}}},
	})
}

// checkFolders refuses what the kernel or systemd would refuse at boot, when the node has no network yet.
func (o Overlay) checkFolders() error {
	for name, path := range map[string]string{"lower": o.Lower, "merged": o.Merged, "upper": o.Upper, "work": o.Work} {
		if !strings.HasPrefix(path, "/") || strings.ContainsAny(path, " ,:\n\t\"'\\") {
			return fmt.Errorf("%s folder %q of the overlay must be an absolute path without blanks, commas and colons", name, path)
		}
	}
	top := func(path string) string { return strings.SplitN(path, "/", 3)[1] }
	if top(o.Upper) != top(o.Work) {
		return fmt.Errorf("upper folder %s and work folder %s of the overlay must be on one file system", o.Upper, o.Work)
	}
	if strings.HasPrefix(o.Merged+"/", o.Lower+"/") || strings.HasPrefix(o.Lower+"/", o.Merged+"/") {
		return fmt.Errorf("merged folder %s and lower folder %s of the overlay must not contain each other", o.Merged, o.Lower)
	}
	return nil
}

// DropIn is NetworkManager's configuration.
func (o Overlay) DropIn() string { return "[keyfile]\npath=" + o.Merged + "\n" }

// Tmpfiles has the folders made at boot, upper and work folder empty.
func (o Overlay) Tmpfiles() string {
	return fmt.Sprintf("D %s 0755 root root\nD %s 0755 root root\nd %s 0755 root root\n", o.Upper, o.Work, o.Merged)
}

// Unit is the name of the mount unit, which systemd wants to be made of the path.
func (o Overlay) Unit() string { return escapePath(o.Merged) + ".mount" }

// UnitText is the mount unit.
func (o Overlay) UnitText() string {
	options := fmt.Sprintf("lowerdir=%s,upperdir=%s,workdir=%s", o.Lower, o.Upper, o.Work)
	if o.SELinux != "" {
		options += fmt.Sprintf(`,context="%s"`, o.SELinux)
	}
	return fmt.Sprintf(`[Unit]
Description=NetworkManager profiles, those of this boot over those of the machine config
RequiresMountsFor=%s
After=systemd-tmpfiles-setup.service
Before=NetworkManager.service

[Mount]
What=overlay
Where=%s
Type=overlay
Options=%s

[Install]
WantedBy=NetworkManager.service multi-user.target
`, o.Lower, o.Merged, options)
}

// escapePath does what systemd-escape --path does.
func escapePath(path string) string {
	var out strings.Builder
	for i, c := range []byte(strings.Trim(path, "/")) {
		switch {
		case c == '/':
			out.WriteByte('-')
		case c >= 'a' && c <= 'z', c >= 'A' && c <= 'Z', c >= '0' && c <= '9', c == '_', c == ':', c == '.' && i > 0:
			out.WriteByte(c)
		default:
			fmt.Fprintf(&out, `\x%02x`, c)
		}
	}
	return out.String()
}
