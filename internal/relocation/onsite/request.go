package onsite

import (
	"context"
	"errors"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
)

// FindRequest loads the request of the attempt that is under way. One that cannot be read is made again from the journal that shows the
// attempt under way, and the configuration that is stored beside it; where no journal does, it counts as none. damage says what is
// wrong with the file.
func FindRequest(ctx context.Context, n host.Node) (r relocation.Request, found bool, damage, err error) {
	r, found, damage = relocation.ReadRequest(n.Files)
	if damage == nil {
		return r, found, nil, nil
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return relocation.Request{}, false, damage, err
	}
	r, found, err = salvageRequest(n.Files, here)
	return r, found, damage, err
}

// salvageRequest makes the request again of the attempt that is under way in the stateroot that runs.
func salvageRequest(files host.Files, here operation.Here) (r relocation.Request, found bool, err error) {
	record, err := relocation.ReadRecord(files)
	if err != nil && !errors.Is(err, operation.ErrRefused) {
		return r, false, err
	}
	at := here.Booted.Stateroot
	r = relocation.Request{Factory: record.Factory, Site: at, Source: "a request that could not be read"}
	if config, err := files.Read(relocation.SiteConfigFile); err == nil && record.Running == nil {
		r.Digest = relocation.Digest(config) // a restore has the digest of its image there, which is lost
	}
	id, attempt, err := findAttempt(files, here, record)
	if err != nil || id == "" {
		return relocation.Request{}, false, err
	}
	r.OperationID, r.Accepted = id, attempt.Started
	if at == record.Factory {
		r.Site = relocation.StaterootName(id)
	}
	return r, true, nil
}

// findAttempt names the attempt whose journal shows it under way in the stateroot that runs; empty for none. One with a result is over.
// A restored stateroot was made for one attempt, which is under way until it has a result.
func findAttempt(files host.Files, here operation.Here, record relocation.Record) (id string, f flow.FlowProgress, err error) {
	last, _ := relocation.ReadLast(files) // one that cannot be read names none
	ids, err := operation.List(files)
	if err != nil {
		return "", f, err
	}
	for _, id := range slices.Backward(ids) {
		entries, err := operation.ReadEntries(files, id)
		if err != nil || id == last.OperationID {
			continue
		}
		if f, shown := foldAttempt(entries, here); shown {
			return id, f, nil
		}
	}
	if record.Running != nil && here.Booted.Stateroot == record.Site && record.OperationID != last.OperationID {
		return record.OperationID, f, nil
	}
	return "", f, nil
}

// foldAttempt counts what was done in the stateroot that runs: another one's journal may have come along with a copy. A reconfiguration
// continues in every boot, the making of a stateroot for it in its own; it is begun again in another.
func foldAttempt(entries []flow.Entry, here operation.Here) (f flow.FlowProgress, underway bool) {
	p := flow.Fold("", slices.DeleteFunc(entries, func(e flow.Entry) bool { return e.Stateroot != here.Booted.Stateroot }))
	if f := p.Flow(relocation.FlowReconfigure); f.Begun && !f.RolledBack {
		return f, true // one that is finished has no result yet
	}
	f = p.Flow(relocation.FlowAgain)
	return f, f.Running() && f.Boot == here.Boot
}

// loadRequest loads the request of the attempt to continue. One that is damaged is replaced by what is known of it, or removed.
func (s *Service) loadRequest(ctx context.Context, record relocation.Record, here operation.Here) (relocation.Request, bool, error) {
	r, found, damage, err := FindRequest(ctx, s.Node)
	if err != nil || damage == nil {
		return r, found, errors.Join(damage, err)
	}
	if !found {
		s.Log.Warn("the request cannot be read, and no journal shows anything of it under way; it is removed, and the node waits for a "+
			"configuration", "file", relocation.RequestFile, "error", damage)
		return r, false, s.Files.Remove(relocation.RequestFile)
	}
	s.Log.Warn("the request cannot be read; its attempt is under way, and continues by its journal", "op", r.OperationID,
		"file", relocation.RequestFile, "ended-by", endedBy(record, here), "error", damage)
	if err := operation.WriteJSON(s.Files, relocation.RequestFile, r); err != nil {
		s.Log.Error("the request could not be replaced", "op", r.OperationID, "error", err)
	}
	return r, true, nil
}

// endedBy is what a person runs to end an attempt, in quotes.
func endedBy(record relocation.Record, here operation.Here) string {
	switch {
	case here.Booted.Stateroot == record.Factory:
		return "'lca-cli relocation abort'"
	case record.Running != nil:
		return "'lca-cli seed rollback'"
	}
	return "'lca-cli relocation rollback'"
}

// requestToLeave is the attempt that a rollback ends: the one under way, the last one, or the preparation. A rollback needs its name, and
// damaged files do not keep the node from going back.
func (s *Service) requestToLeave(ctx context.Context, record relocation.Record) relocation.Request {
	r, found, damage, err := FindRequest(ctx, s.Node)
	if damage != nil {
		s.Log.Warn("the request cannot be read; the rollback does without it", "op", r.OperationID, "file", relocation.RequestFile,
			"error", errors.Join(damage, err))
	}
	if found {
		return r
	}
	last, err := relocation.ReadLast(s.Files)
	if err != nil {
		s.Log.Warn("the last result cannot be read; the rollback does without it", "file", relocation.LastFile, "error", err)
	}
	if err != nil || last.OperationID == "" {
		return relocation.Request{OperationID: record.OperationID}
	}
	return relocation.Request{OperationID: last.OperationID, Digest: last.Digest, Source: last.Source}
}
