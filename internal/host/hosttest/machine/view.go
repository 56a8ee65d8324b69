package machine

import (
	"io/fs"
	"path"
	"strings"
	"syscall"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// linkLimit is how many links a path may lead through, as Linux has it.
const linkLimit = 40

// Volatile says that a physical path lives in memory and is gone at each boot.
func Volatile(p string) bool {
	for _, top := range []string{"/run", "/proc", "/sys", "/dev", "/tmp"} {
		if Within(p, top) {
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

// Physical maps a clean path of the booted system, free of links, to the disk.
func (n *Machine) Physical(p string) string {
	if Volatile(p) || Within(p, "/ostree") || Within(p, "/boot") || p == "/" {
		return p
	}
	if Within(p, host.SysrootDir) {
		return path.Join("/", strings.TrimPrefix(p, host.SysrootDir))
	}
	for _, m := range moved {
		if Within(p, m[0]) {
			p = m[1] + strings.TrimPrefix(p, m[0])
		}
	}
	b := n.mountedRoots()
	if Within(p, "/var") {
		return b.stateroot + p
	}
	return b.deployment + p
}

// roots are where the booted system's root and its /var lie on the disk.
type roots struct {
	of                    host.Deployment
	deployment, stateroot string
}

// mountedRoots joins the paths anew only when another deployment was booted: a crash matrix resolves millions of them.
func (n *Machine) mountedRoots() roots {
	if n.roots.of != n.Booted || n.roots.deployment == "" {
		n.roots = roots{n.Booted, n.Booted.Dir(), host.StaterootDir(n.Booted.Stateroot)}
	}
	return n.roots
}

// Resolve follows a path of the booted system to its place on the disk. Links
// are taken as inside the system's root, so none leads out of it; a link at
// the end is followed only if follow is set.
func (n *Machine) Resolve(p string, follow bool) (string, error) {
	if !path.IsAbs(p) {
		return "", &fs.PathError{Op: "resolve", Path: p, Err: syscall.EINVAL}
	}
	at, pending := "/", parts(p)
	for hops := 0; len(pending) > 0; {
		next := descend(at, pending[0])
		pending = pending[1:]
		in, ok := n.Disk.Live[n.Physical(next)]
		if !ok || !in.isLink() || len(pending) == 0 && !follow {
			at = next
			continue
		}
		if hops++; hops > linkLimit {
			return "", &fs.PathError{Op: "resolve", Path: p, Err: syscall.ELOOP}
		}
		if path.IsAbs(in.Link) {
			at = "/"
		}
		pending = append(parts(in.Link), pending...)
	}
	return n.Physical(at), nil
}

// descend is path.Join for a clean folder and one name.
func descend(at, name string) string {
	switch {
	case name == "." || name == "..":
		return path.Join(at, name)
	case at == "/":
		return at + name
	}
	return at + "/" + name
}

// parts splits a path; ".." at the root stays at the root.
func parts(p string) []string {
	if path.IsAbs(p) {
		p = path.Clean(p)
	}
	return strings.FieldsFunc(p, func(r rune) bool { return r == '/' })
}

// ReadOnly says that the booted system has the place mounted read-only: /usr.
func (n *Machine) ReadOnly(physical string) bool {
	return Within(physical, n.mountedRoots().deployment+"/usr")
}

// Look finds an entry by its path in the booted system.
func (n *Machine) Look(p string, follow bool) (string, Inode, error) {
	at, err := n.Resolve(p, follow)
	if err != nil {
		return "", Inode{}, err
	}
	in, ok := n.Disk.Live[at]
	if !ok {
		return at, Inode{}, &fs.PathError{Op: "open", Path: p, Err: fs.ErrNotExist}
	}
	return at, in, nil
}
