package kernel

import (
	"fmt"
	"io/fs"
	"path/filepath"
	"strings"
)

// Attributes are the files by which the kernel shows and takes settings; host.Files has the methods.
type Attributes interface {
	Read(path string) ([]byte, error)
	// Append writes into the file there is, as an attribute demands: it cannot be replaced by another file.
	Append(path string, data []byte, mode fs.FileMode) error
}

// ClearPrimary takes the primary port of a bond away. NetworkManager sets the kernel's option and never unsets it.
func ClearPrimary(a Attributes, bond string) error { return SetPrimary(a, bond, "") }

// SetPrimary makes a port the primary one of a bond; "" for none. A bond that is as asked for is not written to.
func SetPrimary(a Attributes, bond, port string) error {
	file := filepath.Join("/sys/class/net", bond, "bonding", "primary")
	have, err := a.Read(file)
	if err != nil {
		return fmt.Errorf("read the primary port of %s: %w", bond, err)
	}
	if strings.TrimSpace(string(have)) == port {
		return nil
	}
	if err := a.Append(file, []byte(port+"\n"), 0o644); err != nil {
		return fmt.Errorf("set the primary port of %s to %q: %w", bond, port, err)
	}
	return nil
}
