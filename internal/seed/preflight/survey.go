package preflight

import (
	"context"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

// Surveyor finds out about a node what the checks must know of it. It changes nothing.
type Surveyor struct {
	Files       host.Files
	Disk        seed.Disk
	Deployments interface {
		CanSetDefault(ctx context.Context) error
	}
	Lock interface {
		Holder(ctx context.Context) (h host.Holder, held bool, err error)
	}
}

// Files that the surveyor reads.
const (
	fipsEnabled = "/proc/sys/crypto/fips_enabled"
	cpuInfo     = "/proc/cpuinfo"
)

// Look adds what is known of the node.
func (s Surveyor) Look(ctx context.Context, f *Facts) {
	if f.Unknown == nil {
		f.Unknown = map[string]string{}
	}
	f.SetDefault = s.Deployments.CanSetDefault(ctx)
	s.lookAtStorage(f)
	script, _ := s.Files.Read(dnsmasqScript)
	f.DnsmasqScript = string(script)
	if f.PullSecret, _ = s.Files.Read(host.KubeletConfigJSON); f.PullSecret == nil {
		f.Unknown[CheckPullSecret] = host.KubeletConfigJSON + " cannot be read"
	}
	if text, err := s.Files.Read(fipsEnabled); err == nil {
		f.FIPS = strings.TrimSpace(string(text)) == "1"
	}
	if text, err := s.Files.Read(cpuInfo); err == nil {
		f.CPUs, f.Cores, f.Sockets = countCPUs(string(text))
	}
	if h, held, err := s.Lock.Holder(ctx); err != nil {
		f.Unknown[CheckNodeBusy] = err.Error()
	} else if held && h.Flow() != seed.FlowCreate {
		f.NodeBusy = h.String()
	}
	var err error
	if f.Need, f.Free, err = seed.RoomForCopy(ctx, s.Disk); err != nil {
		f.Unknown[CheckDiskSpace] = err.Error()
	}
}

// lookAtStorage reads what is mounted for containers.
func (s Surveyor) lookAtStorage(f *Facts) {
	have, err := seed.ReadContainerStorage(s.Files)
	if err != nil {
		f.Unknown[CheckContainerStorage] = err.Error()
		return
	}
	f.ContainerStorage, f.ContainerStorageOwn = have.Source, have.Own
}

// countCPUs counts in the format of /proc/cpuinfo. A machine that reports no topology has one core for each CPU.
func countCPUs(text string) (cpus, cores, sockets int) {
	type core struct{ socket, id string }
	seenCores, seenSockets := map[core]bool{}, map[string]bool{}
	socket := ""
	for line := range strings.Lines(text) {
		key, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch strings.TrimSpace(key) {
		case "processor":
			cpus++
		case "physical id":
			socket, seenSockets[value] = value, true
		case "core id":
			seenCores[core{socket, value}] = true
		}
	}
	if len(seenCores) == 0 {
		return cpus, cpus, min(cpus, 1)
	}
	return cpus, len(seenCores), len(seenSockets)
}
