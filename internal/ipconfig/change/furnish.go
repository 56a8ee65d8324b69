package change

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig/kernelargs"
)

// configureStateroot writes into the new stateroot what makes it the new node.
func (p *PrePivot) configureStateroot(ctx context.Context) error {
	_, target, err := p.stateroots().Deployments(ctx, p.Deployments)
	if err != nil {
		return err
	}
	families, err := p.Request.Families()
	if err != nil {
		return err
	}
	families = ipconfig.PrimaryFirst(families, primaryAddress(p.Files, nil))
	if err := p.Resolver.SetOverride(target.Dir(), overrideAddress(families, p.filterAfter())); err != nil {
		return err
	}
	if err := p.Resolver.SetFilter(target.Dir(), p.Request.DNSFilterOutFamily); err != nil {
		return err
	}
	if err := p.moveHintFile(target, families); err != nil {
		return err
	}
	if err := bringup.RemoveNetworkState(p.Files, target); err != nil {
		return err
	}
	mode := host.InVar(p.Request.NewStateroot, ipconfig.MonitorModeFile)
	if err := p.Files.Write(mode, []byte(ipconfig.InitMonitorModeIPConfig), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", mode, err)
	}
	// The report of an earlier change would look like that of this one.
	for _, file := range []string{host.RecertSummary, ipconfig.SavedObjectFile} {
		if err := p.Files.Remove(host.InVar(p.Request.NewStateroot, file)); err != nil {
			return fmt.Errorf("remove %s from the new stateroot: %w", file, err)
		}
	}
	return nil
}

// filterAfter is the DNS filter that holds after the change.
func (p *PrePivot) filterAfter() string {
	if p.Request.DNSFilterOutFamily != "" {
		return p.Request.DNSFilterOutFamily
	}
	now, err := p.Resolver.Filter()
	if err != nil {
		p.Log.Warn("the present DNS filter cannot be read; assuming none", "error", err)
	}
	return now
}

// overrideAddress is what the cluster's own names resolve to: dnsmasq takes one
// address, so on dual-stack the first whose family is not filtered out.
func overrideAddress(families []ipconfig.Family, filter string) netip.Addr {
	for _, f := range families {
		if filter == "ipv4" && f.Address.Is4() || filter == "ipv6" && f.Address.Is6() {
			continue
		}
		return f.Address
	}
	return families[0].Address
}

// isHint says that the variable names the network of the node's own address to nodeip-configuration: any address in it.
// Without a valid one it takes the interface of the default route. NODEIP_HINT wins where it is set.
func isHint(variable string) bool {
	return variable == "NODEIP_HINT" || variable == "KUBELET_NODEIP_HINT"
}

// moveHintFile has the new stateroot look for its address in the new network. A file that a MachineConfig owns stays:
// one that is not as it says degrades the node's pool.
func (p *PrePivot) moveHintFile(target host.Deployment, families []ipconfig.Family) error {
	file := target.InDeployment(host.NodeIPHint)
	text, owned, err := readHint(p.Files, file)
	if err != nil || text == "" {
		return err
	}
	moved, said := moveHints(text, families, owned)
	if moved == text {
		return nil
	}
	info, err := p.Files.Stat(file)
	if err != nil {
		return fmt.Errorf("look at %s: %w", file, err)
	}
	if !info.Mode().IsRegular() {
		p.Log.Warn("node IP hint: the file is a link, which may lead out of the new stateroot; it stays", "file", file)
		return nil
	}
	if err := p.Files.Write(file, []byte(moved), info.Mode().Perm()); err != nil {
		return fmt.Errorf("write the node IP hint: %w", err)
	}
	p.Log.Info("node IP hint", "op", p.Request.OperationID, "what", said)
	return nil
}

// forecastHint says what a change would make of the hint of the system that runs.
func forecastHint(files host.Files, r ipconfig.Request) (string, error) {
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
	config, err := bringup.ReadMachineConfig(files)
	return string(data), config.Owned[host.NodeIPHint], err
}

// moveHints rewrites each hint in the text of an environment file (systemd.exec(5)), and says what becomes of them.
func moveHints(text string, families []ipconfig.Family, owned bool) (moved, said string) {
	var out strings.Builder
	var all []string
	for line := range strings.Lines(text) {
		variable, value, _ := strings.Cut(line, "=")
		if variable = strings.TrimSpace(variable); isHint(variable) {
			hint := strings.Trim(strings.TrimSpace(value), `"'`)
			next, why := moveHint(hint, families, owned)
			all = append(all, variable+" "+why)
			if next != hint {
				line = variable + "=" + strings.Replace(value, hint, next, 1)
			}
		}
		out.WriteString(line)
	}
	return out.String(), strings.Join(all, "; ")
}

// moveHint is one hint after the change, and what becomes of it.
func moveHint(hint string, families []ipconfig.Family, owned bool) (next, said string) {
	next, why := nextHint(hint, families)
	switch {
	case next == hint:
		return hint, fmt.Sprintf("stays %s: %s", hint, why)
	case owned:
		return hint, fmt.Sprintf("stays %s: a MachineConfig owns %s. Until it says %s there, the node takes the address of its "+
			"default route", hint, host.NodeIPHint, next)
	}
	return next, fmt.Sprintf("%s -> %s", hint, next)
}

// nextHint is the hint after the change, or the same and why.
func nextHint(hint string, families []ipconfig.Family) (next, why string) {
	at, err := netip.ParseAddr(hint)
	if err != nil {
		return hint, "it is not an IP address"
	}
	for _, f := range families {
		if f.OnLink().Contains(at) {
			return hint, "it is in the node's network " + f.OnLink().String()
		}
	}
	for _, f := range families {
		if f.CurrentNetwork.IsValid() && f.CurrentNetwork.Contains(at) {
			return f.OnLink().Addr().String(), ""
		}
	}
	return hint, "it is in no machine network that the change leaves"
}

// moveKernelArguments gives the new boot entry the arguments that it needs on the new network; the entry of the old system keeps
// its own. It refuses where the root of the new system would stay locked: no watchdog runs there.
func (p *PrePivot) moveKernelArguments(ctx context.Context) ([]string, error) {
	arguments, err := p.Deployments.KernelArguments(ctx)
	if err != nil {
		return nil, fmt.Errorf("read the kernel arguments: %w", err)
	}
	change, err := kernelargs.Of(p.Request)
	if err != nil {
		return nil, fmt.Errorf("move the kernel arguments: %w", err)
	}
	config, err := bringup.ReadMachineConfig(p.Files)
	if err != nil {
		return nil, fmt.Errorf("find the owner of the kernel arguments: %w", err)
	}
	change.Owned = config.KernelArguments
	moved := change.Move(arguments)
	if len(moved.Stuck) > 0 && kernelargs.NeedsNetwork(arguments) {
		return nil, flow.Permanent(fmt.Errorf("the root needs the network, and kernel arguments of the old network cannot be moved: %s",
			strings.Join(moved.Stuck, ", ")))
	}
	if !slices.Equal(moved.Arguments, arguments) {
		p.Log.Info("kernel arguments", "op", p.Request.OperationID, "moved", strings.Join(moved.Changed, ", "))
	}
	next := moved.Arguments
	if p.oneTime().Usable(ctx) == nil {
		next = kernelargs.RebootAfterPanic(next)
	}
	if slices.Equal(next, arguments) {
		return nil, nil
	}
	return next, nil
}
