package hosttest

import (
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// linkLimit is how many links a path may lead through, as Linux has it.
const linkLimit = 40

// volatile says that a physical path lives in memory and is gone at each boot.
func volatile(p string) bool {
	for _, top := range []string{"/run", "/proc", "/sys", "/dev", "/tmp"} {
		if within(p, top) {
			return true
		}
	}
	return false
}

// moved lists what ostree systems keep below /var under another name.
var moved = [...][2]string{
	{"/usr/local", "/var/usrlocal"}, {"/home", "/var/home"}, {"/opt", "/var/opt"},
	{"/srv", "/var/srv"}, {"/root", "/var/roothome"}, {"/mnt", "/var/mnt"},
}

// physical maps a clean path of the booted system, free of links, to the disk.
func (n *Node) physical(p string) string {
	if volatile(p) || within(p, "/ostree") || within(p, "/boot") || p == "/" {
		return p
	}
	if within(p, host.SysrootDir) {
		return path.Join("/", strings.TrimPrefix(p, host.SysrootDir))
	}
	for _, m := range moved {
		if within(p, m[0]) {
			p = m[1] + strings.TrimPrefix(p, m[0])
		}
	}
	if within(p, "/var") {
		return host.InVar(n.booted.stateroot, p)
	}
	return n.booted.inDeployment(p)
}

// resolve follows a path of the booted system to its place on the disk. Links
// are taken as inside the system's root, so none leads out of it; a link at
// the end is followed only if follow is set.
func (n *Node) resolve(p string, follow bool) (string, error) {
	if !path.IsAbs(p) {
		return "", &fs.PathError{Op: "resolve", Path: p, Err: syscall.EINVAL}
	}
	at, pending := "/", parts(p)
	for hops := 0; len(pending) > 0; {
		next := path.Join(at, pending[0])
		pending = pending[1:]
		in, ok := n.disk.live[n.physical(next)]
		if !ok || !in.isLink() || len(pending) == 0 && !follow {
			at = next
			continue
		}
		if hops++; hops > linkLimit {
			return "", &fs.PathError{Op: "resolve", Path: p, Err: syscall.ELOOP}
		}
		if path.IsAbs(in.link) {
			at = "/"
		}
		pending = append(parts(in.link), pending...)
	}
	return n.physical(at), nil
}

// parts splits a path; ".." at the root stays at the root.
func parts(p string) []string {
	if path.IsAbs(p) {
		p = path.Clean(p)
	}
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// readOnly says that the booted system has the place mounted read-only: /usr.
func (n *Node) readOnly(physical string) bool {
	return within(physical, n.booted.inDeployment("/usr"))
}

// look finds an entry by its path in the booted system.
func (n *Node) look(p string, follow bool) (string, inode, error) {
	at, err := n.resolve(p, follow)
	if err != nil {
		return "", inode{}, err
	}
	in, ok := n.disk.live[at]
	if !ok {
		return at, inode{}, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	return at, in, nil
}
