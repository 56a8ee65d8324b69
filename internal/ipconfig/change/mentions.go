package change

import (
	"fmt"
	"net/netip"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// sitePlaces are the files and folders in which sites write addresses that no part of the cluster maintains.
var sitePlaces = [...]string{
	"/etc/hosts", "/etc/chrony.conf", "/etc/chrony.d", "/etc/containers/registries.conf", "/etc/containers/registries.conf.d",
	"/etc/systemd/system",
}

// writtenAtBoot is the drop-in that nodeip-configuration writes anew at each boot.
const writtenAtBoot = "20-nodenet.conf"

// maxSiteFile bounds what is read of one file: people write no longer ones.
const maxSiteFile = 1 << 20

// findMentions names the lines of those files with an address that the change leaves: the node's own, or one of its network. Not the
// text of a line, which may hold a secret.
func findMentions(files host.Files, families []ipconfig.Family) (out []string) {
	for _, place := range sitePlaces {
		for _, file := range filesBelow(files, place) {
			data, err := files.Read(file)
			if err != nil || len(data) > maxSiteFile {
				out = append(out, file+" was not looked into")
				continue
			}
			n := 0
			for line := range strings.Lines(string(data)) {
				n++
				for _, a := range addressesIn(line) {
					if isLeft(a, families) {
						out = append(out, fmt.Sprintf("%s:%d names %s", file, n, a))
					}
				}
			}
		}
	}
	return out
}

// filesBelow are the regular files at a path or below it, links left out: what they lead to is the system's.
func filesBelow(files host.Files, at string) (out []string) {
	info, err := files.Stat(at)
	switch {
	case err != nil || path.Base(at) == writtenAtBoot:
		return nil
	case info.Mode().IsRegular():
		return []string{at}
	case !info.IsDir():
		return nil
	}
	names, err := files.List(at)
	if err != nil {
		return nil
	}
	for _, name := range names {
		out = append(out, filesBelow(files, path.Join(at, name))...)
	}
	return out
}

// addressesIn are the addresses in a line that is no comment, each once.
func addressesIn(line string) (out []netip.Addr) {
	if strings.HasPrefix(strings.TrimSpace(line), "#") {
		return nil
	}
	for _, word := range strings.FieldsFunc(line, func(r rune) bool { return !strings.ContainsRune("0123456789abcdefABCDEF:.", r) }) {
		a, err := netip.ParseAddr(strings.TrimRight(word, "."))
		if err != nil {
			var with netip.AddrPort
			with, err = netip.ParseAddrPort(word)
			a = with.Addr()
		}
		if err == nil && !slices.Contains(out, a) {
			out = append(out, a)
		}
	}
	return out
}

func isLeft(a netip.Addr, families []ipconfig.Family) bool {
	for _, f := range families {
		moved := f.CurrentAddress.IsValid() && f.CurrentAddress != f.Address
		if moved && (a == f.CurrentAddress || f.CurrentNetwork.IsValid() && f.CurrentNetwork.Contains(a) && !f.Network.Contains(a)) {
			return true
		}
	}
	return false
}
