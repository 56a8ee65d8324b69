package ipconfig

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// hintKey is the variable by which nodeip-configuration is told the network of the node's own address: any
// address in it. Without a good one it takes the interface of the default route.
const hintKey = "KUBELET_NODEIP_HINT"

// moveHint has the new stateroot look for its address in the new network. A file that a MachineConfig owns stays:
// one that is not as it says degrades the node's pool.
func (p *PrePivot) moveHint(target host.Deployment, families []Family) error {
	file := target.InDeployment(host.NodeIPHint)
	text, owned, err := readHint(p.Node.Files, file)
	if err != nil || text == "" {
		return err
	}
	moved, said := moveHints(text, families, owned)
	if moved == text {
		return nil
	}
	info, err := p.Node.Files.Stat(file)
	if err != nil {
		return fmt.Errorf("look at %s: %w", file, err)
	}
	if !info.Mode().IsRegular() {
		p.Node.Log.Warn("node IP hint: the file is a link, which may lead out of the new stateroot; it stays", "file", file)
		return nil
	}
	if err := p.Node.Files.Write(file, []byte(moved), info.Mode().Perm()); err != nil {
		return fmt.Errorf("write the node IP hint: %w", err)
	}
	p.Node.Log.Info("node IP hint", "op", p.Request.OperationID, "what", said)
	return nil
}

// foretellHint says what a change would make of the hint of the system that runs.
func foretellHint(files host.Files, r Request) (string, error) {
	families, err := r.Families()
	if err != nil {
		return "", err
	}
	text, owned, err := readHint(files, host.NodeIPHint)
	if err != nil {
		return "", err
	}
	_, said := moveHints(text, families, owned)
	return said, nil
}

// readHint reads the file of the hint, empty where there is none, and whether a MachineConfig owns it.
func readHint(files host.Files, file string) (text string, owned bool, err error) {
	data, err := files.Read(file)
	if errors.Is(err, fs.ErrNotExist) {
		return "", false, nil
	}
	if err != nil {
		return "", false, fmt.Errorf("read the node IP hint: %w", err)
	}
	all, err := machineConfigFiles(files)
	return string(data), all[host.NodeIPHint], err
}

// moveHints rewrites each hint in the text of an environment file (systemd.exec(5)), and says what becomes of the
// last of them, which is the one that counts.
func moveHints(text string, families []Family, owned bool) (moved, said string) {
	var out strings.Builder
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, "=")
		if strings.TrimSpace(key) != hintKey {
			out.WriteString(line)
			continue
		}
		hint := strings.Trim(strings.TrimSpace(value), `"'`)
		next, why := nextHint(hint, families)
		switch {
		case next == hint:
			said = fmt.Sprintf("%s stays %s: %s", hintKey, hint, why)
		case owned:
			said = fmt.Sprintf("%s stays %s: a MachineConfig owns %s. Until it says %s there, the node takes the address of its "+
				"default route", hintKey, hint, host.NodeIPHint, next)
			next = hint
		default:
			said = fmt.Sprintf("%s %s -> %s", hintKey, hint, next)
		}
		if next != hint {
			line = strings.Replace(line, hint, next, 1)
		}
		out.WriteString(line)
	}
	return out.String(), said
}

// nextHint is the hint after the change, or the same and why.
func nextHint(hint string, families []Family) (next, why string) {
	at, err := netip.ParseAddr(hint)
	if err != nil {
		return hint, "it is not an IP address"
	}
	for _, f := range families {
		if f.Network.Contains(at) {
			return hint, "it is in the machine network " + f.Network.Masked().String()
		}
	}
	for _, f := range families {
		if f.CurrentNetwork.IsValid() && f.CurrentNetwork.Contains(at) {
			return f.Network.Masked().Addr().String(), ""
		}
	}
	return hint, "it is in no machine network that the change leaves"
}
