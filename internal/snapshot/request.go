package snapshot

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// name is what ostree takes as the name of a stateroot, and no shell misreads.
var name = regexp.MustCompile(`^[a-z0-9][a-z0-9_.-]{0,62}$`)

// reservedPrefixes begin the names of stateroots that IP changes, relocations and restores make and clean up.
func reservedPrefixes() []string { return []string{"rhcos_ipc-", "rhcos_site-"} }

// Prepare checks the request for a copy of the running system under that name, and stores it. An unfinished request for
// the same name is continued.
func Prepare(ctx context.Context, n Ports, id, to string) (Request, error) {
	taken := slices.ContainsFunc(reservedPrefixes(), func(prefix string) bool { return strings.HasPrefix(to, prefix) })
	if !name.MatchString(to) || taken {
		return Request{}, operation.Refuse("%q cannot name a copy: use lower-case letters, digits, '.', '_' and '-', "+
			"and no name that begins with %s",
			to, strings.Join(reservedPrefixes(), " or "))
	}
	kind := Kind(n)
	if r, found, err := kind.Underway(ctx, n.toMachine().Intake()); found || err != nil {
		if err == nil && r.New != to {
			err = operation.Refuse("the copy %s is unfinished: finish it with 'lca-cli stateroot clone %s', or give it up with "+
				"'lca-cli stateroot abort'", r.New, r.New)
		}
		return r, err
	}
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return Request{}, err
	}
	have, err := n.Deployments.Stateroots(ctx)
	if err != nil {
		return Request{}, fmt.Errorf("list stateroots: %w", err)
	}
	if slices.Contains(have, to) {
		return Request{}, operation.Refuse("stateroot %s exists already: remove it with 'lca-cli stateroot remove %s', "+
			"or take another name", to, to)
	}
	r := Request{OperationID: id, Old: here.Booted.Stateroot, New: to}
	return r, kind.Store(ctx, n.toMachine().Intake(), r)
}

// Remove removes a copy. It refuses the stateroot that runs or boots next, and those that another operation keeps as its
// way back or forward.
func Remove(ctx context.Context, n Ports, doomed string, kept []string) error {
	all, err := n.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	have, err := n.Deployments.Stateroots(ctx)
	if err != nil {
		return fmt.Errorf("list stateroots: %w", err)
	}
	d, _ := host.FirstOf(all, doomed)
	switch {
	case !slices.Contains(have, doomed):
		return operation.Refuse("there is no stateroot %s", doomed)
	case d.Booted, d.Default:
		return operation.Refuse("stateroot %s is the one that runs or boots next", doomed)
	case slices.Contains(kept, doomed):
		return operation.Refuse("stateroot %s belongs to an operation of this node, which still needs it: end that first. An IP change "+
			"ends with spec.stage Idle of the IPConfig, a relocation with 'lca-cli relocation commit', a restore with "+
			"'lca-cli seed commit'; each removes it", doomed)
	}
	if err := n.Deployments.Remove(ctx, doomed); err != nil {
		return fmt.Errorf("remove stateroot %s: %w", doomed, err)
	}
	return nil
}
