package lab

import (
	"context"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// Status is what "lab status" shows. Fields that only the node itself knows are empty while it is off or booting.
type Status struct {
	Name    string        `json:"name"`
	Machine machine.Kind  `json:"machine"`
	State   machine.State `json:"state"`
	// System is systemd's own judgement: starting, running, degraded, stopping.
	System string `json:"system,omitempty"`
	// Addresses are those of br-ex and the uplink, one "interface address" each.
	Addresses []string `json:"addresses,omitempty"`
	// PrimaryIP is what nodeip-configuration chose in this boot.
	PrimaryIP string `json:"primaryIP,omitempty"`
	// Deployments are the lines of "ostree admin status".
	Deployments []string `json:"deployments,omitempty"`
	Directory   string   `json:"directory"`
	Console     string   `json:"console"`
}

// Status asks the machine and the node.
func (l *Lab) Status(ctx context.Context) (Status, error) {
	state, err := l.Machine.State(ctx)
	if err != nil {
		return Status{}, err
	}
	s := Status{Name: l.Name, Machine: l.Kind, State: state, Directory: l.Dir, Console: l.Machine.ConsoleLog()}
	if state.BootID == "" {
		return s, nil
	}
	ask := func(argv ...string) string {
		result, err := l.Machine.Exec(ctx, machine.Command{Argv: argv})
		if err != nil {
			return ""
		}
		return strings.TrimSpace(result.Stdout)
	}
	s.System = ask("systemctl", "is-system-running")
	s.PrimaryIP = ask("cat", "/run/nodeip-configuration/primary-ip")
	for line := range strings.Lines(ask("ostree", "admin", "status")) {
		s.Deployments = append(s.Deployments, strings.TrimRight(line, "\n"))
	}
	s.Addresses = addresses(ask("ip", "-br", "address", "show", "scope", "global"))
	return s, nil
}

// addresses turns lines of "ip -br address" (interface, state, addresses) into "interface address" items.
func addresses(text string) []string {
	var items []string
	for line := range strings.Lines(text) {
		fields := strings.Fields(line)
		for i := 2; i < len(fields); i++ {
			if strings.Contains(fields[i], "/") {
				device, _, _ := strings.Cut(fields[0], "@") // a veth shows its peer's number there
				items = append(items, device+" "+fields[i])
			}
		}
	}
	return items
}

func firstLine(text string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return line
}
