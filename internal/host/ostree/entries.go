package ostree

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// entry is one boot loader entry of ostree's (Boot Loader Specification type 1).
type entry struct {
	file string
	// version orders the entries: the boot loader starts the highest.
	version int
	// target is the word behind ostree= in the kernel arguments, a link to a deployment.
	target string
	// options are the kernel arguments.
	options []string
}

// readEntries reads what the boot loader offers, in its order.
func (d *Deployments) readEntries() ([]entry, error) {
	names, err := d.files.List(host.BootEntries)
	if err != nil {
		return nil, fmt.Errorf("list boot loader entries: %w", err)
	}
	var all []entry
	for _, name := range names {
		// ostree looks at no other names either.
		if !strings.HasPrefix(name, "ostree-") || !strings.HasSuffix(name, ".conf") {
			continue
		}
		data, err := d.files.Read(path.Join(host.BootEntries, name))
		if err != nil {
			return nil, fmt.Errorf("read boot loader entry: %w", err)
		}
		e, err := parseEntry(name, string(data))
		if err != nil {
			return nil, err
		}
		all = append(all, e)
	}
	slices.SortFunc(all, func(a, b entry) int {
		return cmp.Or(cmp.Compare(b.version, a.version), strings.Compare(b.file, a.file))
	})
	return all, nil
}

func parseEntry(name, text string) (entry, error) {
	e := entry{file: name}
	var err error
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), " ")
		value = strings.TrimSpace(value)
		switch key {
		case "version":
			if e.version, err = strconv.Atoi(value); err != nil {
				return entry{}, fmt.Errorf("boot loader entry %s: version: %w", name, err)
			}
		case "options":
			e.options = append(e.options, strings.Fields(value)...)
			if t := ostreeWord(value); t != "" {
				e.target = t
			}
		}
	}
	if e.version == 0 || e.target == "" {
		return entry{}, fmt.Errorf("boot loader entry %s has no version or names no ostree deployment", name)
	}
	return e, nil
}

// ostreeWord finds the value of ostree= among kernel arguments.
func ostreeWord(cmdline string) string {
	for _, word := range strings.Fields(cmdline) {
		if v, ok := strings.CutPrefix(word, "ostree="); ok {
			return v
		}
	}
	return ""
}

// bootLink is the parts of /ostree/boot.V/STATEROOT/BOOTCHECKSUM/N. V changes with
// each rewrite of the boot loader's menu; stateroot and checksum of kernel and initramfs stay.
type bootLink struct{ stateroot, bootChecksum string }

func parseBootLink(target string) (bootLink, error) {
	parts := strings.Split(strings.Trim(target, "/"), "/")
	if len(parts) != 5 || parts[0] != "ostree" || !strings.HasPrefix(parts[1], "boot.") {
		return bootLink{}, fmt.Errorf("ostree=%s is not of the form /ostree/boot.V/STATEROOT/CHECKSUM/N", target)
	}
	return bootLink{parts[2], parts[3]}, nil
}

// resolveBootLink resolves a boot link to what it leads to.
func (d *Deployments) resolveBootLink(target string) (host.Deployment, error) {
	real, err := d.files.RealPath(path.Join(host.SysrootDir, target))
	if err != nil {
		return host.Deployment{}, fmt.Errorf("resolve ostree=%s: %w", target, err)
	}
	return parseDir(real)
}

// parseDir takes .../deploy/STATEROOT/deploy/CHECKSUM.SERIAL apart.
func parseDir(dir string) (host.Deployment, error) {
	parts := strings.Split(dir, "/")
	n := len(parts)
	if n < 4 || parts[n-2] != "deploy" || parts[n-4] != "deploy" {
		return host.Deployment{}, fmt.Errorf("%s is not the directory of a deployment", dir)
	}
	checksum, serial, ok := strings.Cut(parts[n-1], ".")
	number, err := strconv.Atoi(serial)
	if !ok || err != nil {
		return host.Deployment{}, fmt.Errorf("%s is not named CHECKSUM.SERIAL", dir)
	}
	return host.Deployment{Stateroot: parts[n-3], Checksum: checksum, Serial: number}, nil
}
