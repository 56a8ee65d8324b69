package operation

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// keptRecords is how many operations of a kind stay on record.
const keptRecords = 10

// Prune removes the journals and evidence bundles of the oldest operations with these flows, except those of the spared ones and of
// the operations that made a stateroot of this node. An operation of another kind is never removed, and neither is one whose
// journal does not say its kind. Names tell the age, and a wrong clock gives wrong names: spare the operation that is under
// way, and those that a status names.
func Prune(files host.Files, flows []string, spared ...string) error {
	ids, err := List(files)
	if err != nil {
		return err
	}
	makers, err := makersOfStateroots(files, ids)
	if err != nil {
		return err
	}
	var errs []error
	ids = slices.DeleteFunc(ids, func(id string) bool {
		if slices.Contains(spared, id) || slices.Contains(makers, id) {
			return true
		}
		entries, err := ReadEntries(files, id)
		errs = append(errs, err)
		return len(entries) == 0 || !slices.Contains(flows, entries[0].Flow)
	})
	for _, id := range ids[:max(len(ids)-keptRecords, 0)] {
		errs = append(errs, removeRecords(files, id))
	}
	return errors.Join(errs...)
}

func removeRecords(files host.Files, id string) error {
	for _, record := range recordPaths(id) {
		if err := files.Remove(record); err != nil {
			return fmt.Errorf("remove %s: %w", record, err)
		}
	}
	return nil
}

// makersOfStateroots are the operations that stateroots of this node are named after.
func makersOfStateroots(files host.Files, ids []string) (makers []string, err error) {
	roots, err := files.List(host.DeployDir)
	if err != nil {
		return nil, fmt.Errorf("list the stateroots in %s: %w", host.DeployDir, err)
	}
	for _, id := range ids {
		if slices.ContainsFunc(roots, func(root string) bool { return strings.HasSuffix(root, "-"+id) }) {
			makers = append(makers, id)
		}
	}
	return makers, nil
}
