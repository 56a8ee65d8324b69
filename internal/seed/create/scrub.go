package create

import (
	"errors"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Paths below /var that an image does not have: folders whose content is left out, files and folders that are left out
// themselves, and names that are left out anywhere. What a MachineConfig wrote ships.
var (
	emptied = []string{
		"tmp", "log", "lib/log", "crash", "spool/mail", "spool/cron", "spool/at", "spool/abrt", "lib/cni/bin", "lib/containers",
		"lib/kubelet/pods", "lib/kubelet/plugins", "lib/kubelet/plugins_registry", "lib/kubelet/device-plugins", "lib/ovn-ic/etc",
		"lib/NetworkManager", "lib/dhclient", "lib/dhcpcd", "lib/cloud", "lib/systemd/coredump", "lib/systemd/pstore", "lib/private",
		"lib/rhsm", "lib/insights", "lib/sss", "lib/ipsec/nss", "lib/etcd-backup", "lib/etcd-auto-backup", "lib/kdump",
	}
	leftOut = []string{
		"lib/lca", "lib/systemd/random-seed", "lib/systemd/credential.secret", "lib/random-seed", "seed_data", "ibu", "opt/openshift",
		"lib/ignition",
	}
	leftNames = []string{
		".bash_history", ".zsh_history", ".python_history", ".lesshst", ".viminfo", ".psql_history", ".mysql_history",
		".rediscli_history", ".wget-hsts", ".netrc", ".git-credentials", ".pgpass",
	}
)

// doomed are files and folders below /etc that belong to the seed's machine, or open something with its credentials.
var doomed = []string{
	"/etc/cni/multus/certs", "/etc/openvswitch/conf.db", "/etc/openvswitch/.conf.db.~lock~", "/etc/hostname", host.NMConnections,
	"/etc/machine-config-daemon/orig/usr/local/bin/kubelet.mcdorig",
	"/etc/ignition-machine-config-encapsulated.json", "/etc/ignition-machine-config-encapsulated.json.bak", "/etc/.ignition-result.json",
	"/etc/ignition", "/etc/cloud", "/etc/ostree/auth.json", "/etc/containers/auth.json", "/etc/docker/config.json",
	"/etc/pki/consumer", "/etc/pki/entitlement", "/etc/pki/entitlement-host", "/etc/insights-client/machine-id", "/etc/krb5.keytab",
	"/etc/ipsec.secrets", "/etc/ipsec.d", "/etc/wireguard", "/etc/chrony.keys", "/etc/iscsi/initiatorname.iscsi",
	"/etc/shadow-", "/etc/gshadow-", "/etc/passwd-", "/etc/group-",
}

// scrubFiles removes what belongs to the seed's machine. Each part of it can be repeated.
func (g *generation) scrubFiles(files host.Files) error {
	for _, p := range slices.Concat(doomed, inVar(leftOut)) {
		if err := g.removePath(files, p); err != nil {
			return err
		}
	}
	for _, scrub := range []func(host.Files) error{g.scrubHomes, g.scrubStore, lockPasswords, forgetMachine} {
		if err := scrub(files); err != nil {
			return err
		}
	}
	return g.replacePullSecret(files, host.KubeletConfigJSON)
}

func inVar(list []string) (out []string) {
	for _, p := range list {
		out = append(out, "/var/"+p)
	}
	return out
}

// removePath removes a file or folder of the copy. What a MachineConfig wrote stays, for the target has the same; what the system
// itself has in /etc becomes as the system has it, or the image would delete it on the target.
func (g *generation) removePath(files host.Files, p string) error {
	config, err := bringup.ReadMachineConfig(g.Files)
	if err != nil {
		return err
	}
	if err := g.scrubPath(files, config.Owned, p); err != nil {
		return fmt.Errorf("remove %s from the copy: %w", p, err)
	}
	return nil
}

func (g *generation) scrubPath(files host.Files, owned map[string]bool, p string) error {
	info, err := files.Stat(p)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	original, known := g.statOriginal(p)
	switch {
	case !info.IsDir() && owned[p]:
		return nil
	case !info.IsDir() && known && original.Mode().IsRegular() && info.Mode().IsRegular():
		return g.resetToOriginal(files, p, original.Mode())
	case !info.IsDir() || !known && !ownsBelow(owned, p):
		return files.Remove(p)
	}
	names, err := files.List(p)
	if err != nil {
		return err
	}
	for _, name := range names {
		if err := g.scrubPath(files, owned, path.Join(p, name)); err != nil {
			return err
		}
	}
	return nil
}

// statOriginal is what the system itself has in the place of a file of /etc.
func (g *generation) statOriginal(p string) (fs.FileInfo, bool) {
	rel, ok := strings.CutPrefix(p, "/etc/")
	if !ok {
		return nil, false
	}
	info, err := g.Files.Stat(g.originalPath(rel))
	return info, err == nil
}

func (g *generation) originalPath(rel string) string {
	return path.Join(g.booted.InDeployment("/usr/etc"), rel)
}

func (g *generation) resetToOriginal(files host.Files, p string, mode fs.FileMode) error {
	data, err := g.Files.Read(g.originalPath(strings.TrimPrefix(p, "/etc/")))
	if err != nil {
		return err
	}
	return files.Write(p, data, mode.Perm())
}

func ownsBelow(owned map[string]bool, dir string) bool {
	for file := range owned {
		if strings.HasPrefix(file, dir+"/") {
			return true
		}
	}
	return false
}

// homes are the folders of people; each has one below it, but for that of root.
const (
	homes    = "/var/home"
	rootHome = "/var/roothome"
)

// kept are the files of a home that say nothing about its owner's work.
var kept = []string{".bashrc", ".bash_profile", ".bash_logout", ".profile", ".cshrc", ".tcshrc"}

// scrubHomes leaves of homes what the system put there, and the keys that may log in.
func (g *generation) scrubHomes(files host.Files) error {
	people, err := files.List(homes)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list the homes of the copy: %w", err)
	}
	dirs := []string{rootHome}
	for _, name := range people {
		dirs = append(dirs, path.Join(homes, name))
	}
	for _, dir := range dirs {
		if err := g.scrubHome(files, dir); err != nil {
			return err
		}
	}
	return nil
}

func (g *generation) scrubHome(files host.Files, dir string) error {
	names, err := files.List(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("list %s of the copy: %w", dir, err)
	}
	for _, name := range names {
		at := path.Join(dir, name)
		switch {
		case slices.Contains(kept, name):
		case name == ".ssh" && dir != rootHome:
			if err := g.scrubSSH(files, at); err != nil {
				return err
			}
		default:
			if err := g.removePath(files, at); err != nil {
				return err
			}
		}
	}
	return nil
}

// scrubSSH leaves the public keys that may log in.
func (g *generation) scrubSSH(files host.Files, dir string) error {
	names, err := files.List(dir)
	if err != nil {
		return fmt.Errorf("list %s of the copy: %w", dir, err)
	}
	for _, name := range names {
		if strings.HasPrefix(name, "authorized_keys") {
			continue
		}
		if err := g.removePath(files, path.Join(dir, name)); err != nil {
			return err
		}
	}
	return nil
}

// scrubStore removes what earlier runs of etcd left beside its data: etcd never reads it again.
func (g *generation) scrubStore(files host.Files) error {
	for dir, keep := range map[string]func(string) bool{
		"":            func(name string) bool { return name == "member" },
		"member/snap": func(name string) bool { return name == "db" || strings.HasSuffix(name, ".snap") },
		"member/wal":  func(name string) bool { return strings.HasSuffix(name, ".wal") },
	} {
		at := path.Join(host.EtcdData, dir)
		names, err := files.List(at)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("list %s of the copy: %w", at, err)
		}
		for _, name := range names {
			if keep(name) {
				continue
			}
			if err := files.Remove(path.Join(at, name)); err != nil {
				return fmt.Errorf("remove %s from the copy: %w", path.Join(at, name), err)
			}
		}
	}
	return nil
}

const shadow = "/etc/shadow"

// lockPasswords locks the accounts that have a password: the image's nodes get theirs by their site configuration, or keys.
func lockPasswords(files host.Files) error {
	data, err := files.Read(shadow)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s of the copy: %w", shadow, err)
	}
	lines := strings.Split(string(data), "\n")
	for i, line := range lines {
		fields := strings.Split(line, ":")
		if len(fields) > 1 && strings.Contains(fields[1], "$") {
			fields[1] = "!*"
			lines[i] = strings.Join(fields, ":")
		}
	}
	if locked := strings.Join(lines, "\n"); locked != string(data) {
		if err := files.Write(shadow, []byte(locked), 0o000); err != nil {
			return fmt.Errorf("lock the passwords of the copy: %w", err)
		}
	}
	return nil
}

// machineIDs are emptied: systemd makes another one at the first boot, and without the file it would also apply its presets.
var machineIDs = []string{"/etc/machine-id", "/var/lib/dbus/machine-id"}

func forgetMachine(files host.Files) error {
	for _, p := range machineIDs {
		info, err := files.Stat(p)
		if err != nil || !info.Mode().IsRegular() {
			continue
		}
		if err := files.Write(p, nil, 0o444); err != nil {
			return fmt.Errorf("empty %s in the copy: %w", p, err)
		}
	}
	return nil
}

// replacePullSecret replaces a pull secret that recert has left, where the cluster has no Secret of it.
func (g *generation) replacePullSecret(files host.Files, file string) error {
	data, err := files.Read(file)
	if errors.Is(err, fs.ErrNotExist) || err == nil && string(data) == seed.PlaceholderPullSecret {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read %s in the copy: %w", path.Base(file), err)
	}
	if err := files.Write(file, []byte(seed.PlaceholderPullSecret), 0o600); err != nil {
		return fmt.Errorf("replace the pull secret in the copy: %w", err)
	}
	return nil
}
