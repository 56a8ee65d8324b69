package ipconfig

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ErrNoRequest means that no operation is prepared on this stateroot.
var ErrNoRequest = errors.New("no IP change is prepared on this stateroot")

// ErrBadRequest means that an operation is prepared, but what it is cannot be told.
var ErrBadRequest = errors.New("the request of the operation cannot be read")

// ReadRequest loads the request of the operation from the workspace.
func ReadRequest(files host.Files) (Request, error) {
	var r Request
	if err := readJSON(files, host.PrePivotConfig, &r); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Request{}, ErrNoRequest
		}
		return Request{}, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	if r.OperationID == "" || r.NewStateroot == "" || r.OldStateroot == "" || r.NewStateroot == r.OldStateroot {
		return Request{}, fmt.Errorf("%w: %s lacks operation-id, or new-stateroot-name and old-stateroot-name are not two names",
			ErrBadRequest, host.PrePivotConfig)
	}
	return r, nil
}

// ReadPostPivot loads ip-config-post-pivot.json. Without the file the native engine is meant.
func ReadPostPivot(files host.Files) (PostPivotConfig, error) {
	var c PostPivotConfig
	err := readJSON(files, host.PostPivotConfig, &c)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	return c, err
}

// ReadAutoRollback loads ip-config-autorollback-config.json. Where it cannot be read every
// protection is on, and the error is for the log: a lost or damaged file must not cost the way back.
func ReadAutoRollback(files host.Files) (AutoRollback, error) {
	var a AutoRollback
	err := readJSON(files, host.AutoRollbackConfig, &a)
	if err == nil {
		return a, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return AutoRollback{MonitorEnabled: true, EnabledComponents: map[string]bool{ComponentRun: true}}, err
}

func readJSON(files host.Files, path string, into any) error {
	data, err := files.Read(path)
	if err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(into); err != nil {
		return fmt.Errorf("decode %s: %w", path, err)
	}
	return nil
}

// WriteRequest stores the three request files of an operation.
func WriteRequest(files host.Files, r Request, post PostPivotConfig, auto AutoRollback) error {
	for _, f := range []struct {
		path  string
		value any
	}{{host.PostPivotConfig, post}, {host.AutoRollbackConfig, auto}, {host.PrePivotConfig, r}} {
		if err := writeJSON(files, f.path, f.value); err != nil {
			return err
		}
	}
	return nil
}

func writeJSON(files host.Files, path string, value any) error {
	data, err := json.MarshalIndent(value, "", "  ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", path, err)
	}
	if err := files.Write(path, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return nil
}
