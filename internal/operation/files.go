package operation

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ReadJSON decodes a file and refuses keys that the value does not have.
func ReadJSON(files host.Files, file string, into any) error {
	data, err := files.Read(file)
	if err != nil {
		return fmt.Errorf("read %s: %w", file, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("decode %s: %w", file, err)
	}
	return nil
}

// WriteJSON replaces a file that only root may read.
func WriteJSON(files host.Files, file string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", file, err)
	}
	if err := files.Write(file, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}
