package ipconfig

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// MadeBy names this kind of operation in the record of a stateroot.
const MadeBy = "ip-config"

// FindRequest loads the request of the operation on this node. A stateroot whose record says that a change made it, and that
// its way back is not given up, can roll back without it: where the file is lost or damaged there, the request holds only
// what the way back needs, and damage says what is wrong with the file. A stateroot without such a record is at rest.
func FindRequest(files host.Files, all []host.Deployment) (r Request, damage, err error) {
	r, err = ReadRequest(files)
	if err == nil {
		return r, nil, nil
	}
	if r, ok := findUnendedChange(files, all); ok {
		return r, err, nil
	}
	return Request{}, nil, err
}

// findUnendedChange is the change that made the running stateroot, where a record says that it has not ended. After a cleanup there
// is nothing to salvage, whatever is missing.
func findUnendedChange(files host.Files, all []host.Deployment) (Request, bool) {
	booted, err := host.Booted(all)
	if err != nil {
		return Request{}, false
	}
	id, old := onRecord(files, booted)
	entries, err := operation.ReadEntries(files, id)
	if old == "" || err == nil && hasFlowEntry(entries, FlowCleanup) {
		return Request{}, false
	}
	_, deployed := stateroot.Back(files, old)(all)
	return Request{OperationID: id, NewStateroot: booted.Stateroot, OldStateroot: old}, deployed
}

// onRecord is the change that made a stateroot and the stateroot it was made from; empty where no record names a way back.
func onRecord(files host.Files, booted host.Deployment) (id, old string) {
	s, found, _ := operation.ReadStateroot(files, booted)
	switch {
	case !found:
		return onRecordBefore(files, booted.Stateroot)
	case s.MadeBy != MadeBy || s.WayBack == nil:
		return "", ""
	}
	return s.Operation, s.WayBack.Stateroot
}

// onRecordBefore reads what versions without such records have left of a change that has not ended: the journal of the
// operation that the stateroot is named after, and the units that the change installed there.
func onRecordBefore(files host.Files, booted string) (id, old string) {
	id, ours := strings.CutPrefix(booted, StaterootPrefix)
	if !ours {
		return "", ""
	}
	entries, err := operation.ReadEntries(files, id)
	if err != nil {
		return "", ""
	}
	for _, e := range entries {
		if e.Flow == FlowPrePivot && e.Stateroot != "" && e.Stateroot != booted {
			return id, e.Stateroot
		}
	}
	return id, namedByUnits(files)
}

// hasFlowEntry also counts a flow whose first entry is lost.
func hasFlowEntry(entries []flow.Entry, name string) bool {
	return slices.ContainsFunc(entries, func(e flow.Entry) bool { return e.Flow == name })
}

// Leftover says that a stateroot which does not run was made from the running one, by a change that failed, was rolled back
// or was given up. Its own record says so, or the journal of the operation that it is named after. A stateroot of which
// neither says it is not removed: this one may be a copy of it.
func Leftover(files host.Files, all []host.Deployment, booted host.Deployment, name string) bool {
	id, ours := strings.CutPrefix(name, StaterootPrefix)
	if !ours || name == booted.Stateroot {
		return false
	}
	if s, found, _ := operation.ReadStaterootOf(files, all, name); found {
		return s.MadeBy == MadeBy && s.LeadsTo(booted.Stateroot)
	}
	entries, err := operation.ReadEntries(files, id)
	return err == nil && slices.ContainsFunc(entries, func(e flow.Entry) bool {
		return e.Flow == FlowPrePivot && e.Stateroot == booted.Stateroot
	})
}

// Made is the record of the stateroot that the operation makes, for where it was lost or never written.
func (r Request) Made(wayBack *operation.Deployed, now time.Time) operation.Stateroot {
	return operation.Stateroot{MadeBy: MadeBy, Operation: r.OperationID, Made: now.UTC(), WayBack: wayBack}
}

// EnsureRecord completes the record of the stateroot that runs. Where it is lost, or an earlier version wrote none, it is
// made again from the operation that stands there, and the units of that name the deployment to go back to.
func EnsureRecord(files host.Files, all []host.Deployment, r Request, now time.Time) error {
	booted, err := host.Booted(all)
	if err != nil {
		return fmt.Errorf("find the booted deployment: %w", err)
	}
	s, found, _ := operation.ReadStateroot(files, booted)
	if found || r.OperationID == "" || booted.Stateroot != r.NewStateroot {
		return operation.Heal(files, booted)
	}
	if back, ok := namedDeployment(files, r.OldStateroot).In(all); ok {
		s.WayBack = operation.NameOf(back)
	} else if back, ok := host.FirstOf(all, r.OldStateroot); ok {
		s.WayBack = operation.NameOf(back)
	}
	return operation.WriteStateroot(files, booted, r.Made(s.WayBack, now))
}

// Keys that name the way back in the units that a change installs: its stateroot, and the deployment there that ran. systemd
// ignores keys with this prefix.
const (
	UnitKeyOldStateroot  = "X-OldStateroot"
	UnitKeyOldDeployment = "X-OldDeployment"
)

func namedByUnits(files host.Files) string { return unitKey(files, UnitKeyOldStateroot) }

// namedDeployment is the deployment that the units name; one that exists nowhere where they name none.
func namedDeployment(files host.Files, old string) operation.Deployed {
	checksum, serial, _ := strings.Cut(unitKey(files, UnitKeyOldDeployment), ".")
	n, err := strconv.Atoi(serial)
	if err != nil || namedByUnits(files) != old {
		return operation.Deployed{}
	}
	return operation.Deployed{Stateroot: old, Checksum: checksum, Serial: n}
}

func unitKey(files host.Files, key string) string {
	for _, unit := range []string{UnitIPConfiguration, UnitInitMonitor} {
		text, err := files.Read(path.Join(host.UnitDir, unit))
		if err != nil {
			continue
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(strings.TrimSpace(line), key+"="); ok {
				return value
			}
		}
	}
	return ""
}
