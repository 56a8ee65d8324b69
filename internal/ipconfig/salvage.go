package ipconfig

import (
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
	old := madeFrom(entries, all, booted.Stateroot)
	_, deployed := host.FirstOf(all, old)
	r := Request{OperationID: id, NewStateroot: booted.Stateroot, OldStateroot: old}
	return r, deployed && !flow.Fold(id, entries).Flow(FlowCleanup).Begun
}

// madeFrom is the stateroot in which the change was prepared. Without a journal it can only be one that this product did
// not make: the others may be incomplete.
func madeFrom(entries []flow.Entry, all []host.Deployment, booted string) string {
	for _, e := range entries {
		if e.Flow == FlowPrePivot && e.Stateroot != "" && e.Stateroot != booted {
			return e.Stateroot
		}
	}
	for _, d := range all {
		if d.Stateroot != booted && !strings.HasPrefix(d.Stateroot, StaterootPrefix) {
			return d.Stateroot
		}
	}
	return ""
}
