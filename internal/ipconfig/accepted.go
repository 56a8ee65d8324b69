package ipconfig

import (
	"fmt"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// WriteAccepted records that this node accepted a change, before anything else knows its operation.
func WriteAccepted(files host.Files, id string) error {
	if err := files.Write(AcceptedFile, []byte(id+"\n"), 0o600); err != nil {
		return fmt.Errorf("record operation %s as accepted: %w", id, err)
	}
	return nil
}

// Accepted says that this node accepted the operation last. A status that names another one was made elsewhere: it came back from a
// backup, or with a copy of the cluster.
func Accepted(files host.Files, id string) bool {
	data, err := files.Read(AcceptedFile)
	return err == nil && strings.TrimSpace(string(data)) == id
}
