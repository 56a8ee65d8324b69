package seed

import (
	"fmt"
	"path"
	"runtime"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	cpuDir      = "/sys/devices/system/cpu"
	fipsEnabled = "/proc/sys/crypto/fips_enabled"
)

// ReadNodeFacts reads what the kernel says of the machine.
func ReadNodeFacts(files host.Files) (NodeFacts, error) {
	f := NodeFacts{Arch: runtime.GOARCH}
	names, err := files.List(cpuDir)
	if err != nil {
		return f, fmt.Errorf("list the processors: %w", err)
	}
	cores, sockets := map[string]bool{}, map[string]bool{}
	for _, name := range names {
		number := strings.TrimPrefix(name, "cpu")
		if number == name || number == "" || strings.Trim(number, "0123456789") != "" {
			continue
		}
		f.CPUs++
		socket := readLine(files, path.Join(cpuDir, name, "topology/physical_package_id"))
		sockets[socket] = true
		cores[socket+" "+readLine(files, path.Join(cpuDir, name, "topology/core_id"))] = true
	}
	f.Cores, f.Sockets = len(cores), len(sockets)
	f.Isolated = readLine(files, path.Join(cpuDir, "isolated"))
	f.FIPS = readLine(files, fipsEnabled) == "1"
	return f, nil
}

// readLine is the content of a small file, empty where there is none.
func readLine(files host.Files, file string) string {
	data, err := files.Read(file)
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(data))
}

// Complete fills what is empty from what the node says.
func (f NodeFacts) Complete(node NodeFacts) NodeFacts {
	if f.CPUs == 0 {
		f.CPUs, f.Cores, f.Sockets = node.CPUs, node.Cores, node.Sockets
	}
	if f.Isolated == "" {
		f.Isolated = node.Isolated
	}
	if f.Arch == "" {
		f.Arch = node.Arch
	}
	f.FIPS = f.FIPS || node.FIPS
	return f
}
