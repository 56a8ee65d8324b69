package ipconfig

import (
	"path"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// FindRequest loads the request of the operation on this node. A stateroot that this product made can roll back without
// it: where the file is lost or damaged there, the request holds only what the way back needs, and damage says what is
// wrong with the file.
func FindRequest(files host.Files, all []host.Deployment) (r Request, damage, err error) {
	r, err = ReadRequest(files)
	if err == nil {
		return r, nil, nil
	}
	if r, ok := salvage(files, all); ok {
		return r, err, nil
	}
	return Request{}, nil, err
}

// salvage reads the operation from the name of the stateroot that runs, and the way back from its journal. After a
// cleanup there is nothing to salvage: the operation is over.
func salvage(files host.Files, all []host.Deployment) (Request, bool) {
	booted, err := host.Booted(all)
	if err != nil {
		return Request{}, false
	}
	id, ours := strings.CutPrefix(booted.Stateroot, StaterootPrefix)
	if !ours {
		return Request{}, false
	}
	entries, err := operation.ReadEntries(files, id)
	if err != nil {
		entries = nil
	}
	old := madeFrom(files, entries, all, booted.Stateroot)
	_, deployed := host.FirstOf(all, old)
	r := Request{OperationID: id, NewStateroot: booted.Stateroot, OldStateroot: old}
	return r, deployed && !flow.Fold(id, entries).Flow(FlowCleanup).Begun
}

// madeFrom is the stateroot in which the change was prepared, by the journal or by the units that the change installed.
// Without either it is the only other one; of several, the first that this product did not make: others may be incomplete.
func madeFrom(files host.Files, entries []flow.Entry, all []host.Deployment, booted string) string {
	for _, e := range entries {
		if e.Flow == FlowPrePivot && e.Stateroot != "" && e.Stateroot != booted {
			return e.Stateroot
		}
	}
	if old := namedByUnits(files); old != "" {
		return old
	}
	others := map[string]bool{}
	sole, foreign := "", ""
	for _, d := range all {
		if d.Stateroot == booted {
			continue
		}
		others[d.Stateroot], sole = true, d.Stateroot
		if foreign == "" && !strings.HasPrefix(d.Stateroot, StaterootPrefix) {
			foreign = d.Stateroot
		}
	}
	if len(others) == 1 {
		return sole
	}
	return foreign
}

// UnitKeyOldStateroot names the way back in the units that a change installs. systemd ignores keys with this prefix.
const UnitKeyOldStateroot = "X-OldStateroot"

func namedByUnits(files host.Files) string {
	for _, unit := range []string{UnitIPConfiguration, UnitInitMonitor} {
		text, err := files.Read(path.Join(host.UnitDir, unit))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if old, ok := strings.CutPrefix(strings.TrimSpace(line), UnitKeyOldStateroot+"="); ok {
				return old
			}
		}
	}
	return ""
}
