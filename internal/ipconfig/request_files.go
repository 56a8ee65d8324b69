package ipconfig

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// ErrNoRequest means that no operation is prepared on this stateroot.
var ErrNoRequest = errors.New("no IP change is prepared on this stateroot")

// ErrBadRequest means that an operation is prepared, but its request cannot be read.
var ErrBadRequest = errors.New("the request of the operation cannot be read")

// ReadRequest loads the request of the operation from the workspace.
func ReadRequest(files host.Files) (Request, error) {
	var r Request
	if err := operation.ReadJSON(files, RequestFile, &r); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return Request{}, ErrNoRequest
		}
		return Request{}, fmt.Errorf("%w: %w", ErrBadRequest, err)
	}
	if r.OperationID == "" || r.NewStateroot == "" || r.OldStateroot == "" || r.NewStateroot == r.OldStateroot {
		return Request{}, fmt.Errorf("%w: %s lacks operation-id, or new-stateroot-name and old-stateroot-name are not two names",
			ErrBadRequest, RequestFile)
	}
	return r, nil
}

// ReadPostPivot loads ip-config-post-pivot.json. Without the file the native engine is meant.
func ReadPostPivot(files host.Files) (PostPivotConfig, error) {
	var c PostPivotConfig
	err := operation.ReadJSON(files, PostPivotFile, &c)
	if errors.Is(err, fs.ErrNotExist) {
		return c, nil
	}
	return c, err
}

// ReadAutoRollback loads ip-config-autorollback-config.json. Where it cannot be read every
// protection is on, and the error is for the log: a lost or damaged file must not cost the way back.
func ReadAutoRollback(files host.Files) (AutoRollback, error) {
	var a AutoRollback
	err := operation.ReadJSON(files, AutoRollbackFile, &a)
	if err == nil {
		return a, nil
	}
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return AutoRollback{MonitorEnabled: true, EnabledComponents: map[string]bool{ComponentRun: true}}, err
}

// WriteRequest stores the three request files of an operation.
func WriteRequest(files host.Files, r Request, post PostPivotConfig, auto AutoRollback) error {
	for _, f := range []struct {
		path  string
		value any
	}{{PostPivotFile, post}, {AutoRollbackFile, auto}, {RequestFile, r}} {
		if err := operation.WriteJSON(files, f.path, f.value); err != nil {
			return err
		}
	}
	return nil
}
