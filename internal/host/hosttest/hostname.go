package hosttest

import (
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Hostname is the node's host.Hostname.
func (n *Node) Hostname() host.Hostname { return hostname{n} }

type hostname struct{ n *Node }

func (h hostname) Hostname(context.Context) (string, error) {
	data, err := h.n.Files().Read(host.HostnameFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "localhost", nil
	}
	return strings.TrimSpace(string(data)), err
}

func (h hostname) SetHostname(_ context.Context, name string) error {
	return h.n.Files().Write(host.HostnameFile, []byte(name+"\n"), 0o644)
}
