package ipconfig

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// sealed is the manifest of a furnished stateroot: it proves, after the reboot, that what
// was prepared is what booted.
type sealed struct {
	Operation string            `json:"operation"`
	Stateroot string            `json:"stateroot"`
	Files     map[string]string `json:"files"` // path in the new system -> sha256
}

// sealedFiles lists what must be whole, by its path in the new system.
func sealedFiles(files host.Files, r Request, prefix func(string) string) ([]string, error) {
	list := []string{
		host.PrePivotConfig, host.PostPivotConfig, host.AutoRollbackConfig, host.InitMonitorMode,
		host.NMState, host.RecertConfig, host.DnsmasqOverrides, host.KubeletConfigJSON,
	}
	if r.InstallIPConfigurationService {
		list = append(list, path.Join(host.UnitDir, host.UnitIPConfiguration))
	}
	if r.InstallInitMonitor {
		list = append(list, path.Join(host.UnitDir, host.UnitInitMonitor))
	}
	crypto, err := files.List(prefix(host.KubeconfigCrypto))
	if err != nil {
		return nil, fmt.Errorf("list the crypto material: %w", err)
	}
	for _, name := range crypto {
		list = append(list, path.Join(host.KubeconfigCrypto, name))
	}
	return slices.DeleteFunc(list, func(f string) bool {
		_, err := files.Stat(prefix(f))
		return err != nil && f == host.KubeletConfigJSON
	}), nil
}

func makeSeal(files host.Files, r Request, target host.Deployment) (sealed, error) {
	prefix := func(file string) string {
		if strings.HasPrefix(file, "/var/") {
			return host.InVar(r.NewStateroot, file)
		}
		return target.InDeployment(file)
	}
	list, err := sealedFiles(files, r, prefix)
	if err != nil {
		return sealed{}, err
	}
	s := sealed{Operation: r.OperationID, Stateroot: r.NewStateroot, Files: map[string]string{}}
	for _, file := range list {
		data, err := files.Read(prefix(file))
		if err != nil {
			return sealed{}, fmt.Errorf("seal %s: %w", file, err)
		}
		s.Files[file] = digest(data)
	}
	return s, nil
}

// verify says whether the running system is the sealed one.
func (s sealed) verify(files host.Files, booted string) error {
	if booted != s.Stateroot {
		return fmt.Errorf("stateroot %s is booted but %s was sealed", booted, s.Stateroot)
	}
	for file, want := range s.Files {
		data, err := files.Read(file)
		if err != nil {
			return fmt.Errorf("sealed file %s: %w", file, err)
		}
		if digest(data) != want {
			return fmt.Errorf("%s is not what was sealed before the reboot", file)
		}
	}
	return nil
}

func digest(data []byte) string {
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
