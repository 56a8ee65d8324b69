package report

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Crypto is what recert finds out without changing anything.
type Crypto struct {
	Certificates []relocation.Certificate
	// Blocked says why recert could not give the cluster its new identity.
	Blocked []string
}

// Image is one that a pod of the cluster runs.
type Image struct {
	Pod, Name string
	// ID is the runtime's name for it; empty where the pod has not started.
	ID string
	// Always: it is pulled at each start.
	Always bool
}

// Cluster is the factory's API server.
type Cluster interface {
	Facts(ctx context.Context) (relocation.Facts, error)
	// Problems lists what is wrong with the cluster.
	Problems(ctx context.Context) ([]string, error)
	Crypto(ctx context.Context) (Crypto, error)
	// Encryption is the type of encryption at rest; empty for none.
	Encryption(ctx context.Context) (string, error)
	Images(ctx context.Context) ([]Image, error)
}

// Ports is what main gives the report.
type Ports struct {
	host.Node
	Reports host.SystemReports
	Cluster Cluster
	Lock    host.NodeLock
	Clock   flow.Clock
}

// survey is one report in the making.
type survey struct {
	Ports
	report Report
	here   operation.Here
	record relocation.Record
	// prepared: the node has a record of a preparation.
	prepared bool
	// crypto is asked for once.
	crypto    Crypto
	cryptoErr error
}

// Verify makes the report. It always makes one: what cannot be read is a failure of its check.
func Verify(ctx context.Context, n Ports, machine string, shelfDays int) (Report, error) {
	here, err := operation.Locate(ctx, n.Deployments, n.Power)
	if err != nil {
		return Report{}, err
	}
	s := &survey{Ports: n, here: here}
	now := n.Clock.Now().UTC()
	s.report = Report{Machine: machine, Made: now, ShelfDays: shelfDays, ShelfEnd: relocation.ShelfEnd(now, shelfDays)}
	s.record, err = relocation.ReadRecord(n.Files)
	s.prepared = err == nil
	if err != nil && !errors.Is(err, operation.ErrRefused) {
		s.report.Checks = append(s.report.Checks, Check{
			Name: "record", Title: "Record of the preparation", Severity: Failure, Message: err.Error(),
		})
	}
	s.crypto, s.cryptoErr = n.Cluster.Crypto(ctx)
	for _, c := range allChecks() {
		found := c.run(s, ctx)
		found.Name, found.Title = c.name, c.title
		s.report.Checks = append(s.report.Checks, found)
	}
	s.report.Ready = s.report.Count(Failure) == 0
	return s.report, nil
}

type check struct {
	name, title string
	run         func(*survey, context.Context) Check
}

// allChecks lists them in the order of the report.
func allChecks() []check {
	return []check{
		{"single-node", "One node", (*survey).checkSingleNode},
		{"health", "Health of the cluster", (*survey).checkHealth},
		{"prepared", "Preparation", (*survey).checkPreparation},
		{"operation", "No other operation", (*survey).checkNoOtherOperation},
		{"certificates", "Certificates on the shelf", (*survey).checkCertificates},
		{"images", "Images on the node", (*survey).checkImages},
		{"encryption", "Encryption at rest", (*survey).checkEncryption},
		{"recert", "A new identity is possible", (*survey).checkRecert},
		{"machine-config", "Files of the MachineConfig", (*survey).checkMachineConfig},
		{"ostree", "Two systems to boot", (*survey).checkOSTree},
		{"disk", "Free disk", (*survey).checkDisk},
		{"internal-address", "Address for a laptop", (*survey).checkInternalAddress},
	}
}

func okCheck(format string, args ...any) Check {
	return Check{Severity: OK, Message: fmt.Sprintf(format, args...)}
}

func cannotCheck(what string, err error) Check {
	return Check{Severity: Failure, Message: what + " cannot be checked: " + err.Error(),
		Hint: "Start the cluster and run the report again."}
}

func (s *survey) checkSingleNode(ctx context.Context) Check {
	f, err := s.Cluster.Facts(ctx)
	if err != nil {
		return cannotCheck("the cluster", err)
	}
	s.report.Facts = f
	if f.ControlPlaneNodes != 1 || f.OtherNodes > 0 {
		return Check{Severity: Failure, Message: fmt.Sprintf("%d control-plane nodes and %d others", f.ControlPlaneNodes, f.OtherNodes),
			Hint: "Only a single-node cluster can be relocated."}
	}
	return okCheck("single-node cluster %s", f.Domain())
}

func (s *survey) checkHealth(ctx context.Context) Check {
	problems, err := s.Cluster.Problems(ctx)
	switch {
	case err != nil:
		return cannotCheck("the health of the cluster", err)
	case len(problems) > 0:
		return Check{Severity: Failure, Message: countNoun(len(problems), "problem", "problems"), Details: problems,
			Hint: "Mend them first: the site gets a copy of this cluster."}
	}
	return okCheck("every check of the cluster's health passes")
}

func (s *survey) checkPreparation(context.Context) Check {
	booted := s.here.Booted.Stateroot
	boots := ""
	for _, d := range s.here.All {
		if d.Default {
			boots = d.Stateroot
		}
	}
	switch {
	case !s.prepared:
		return Check{Severity: Failure, Message: "the node is not prepared: it would boot into the factory's cluster",
			Hint: "Run 'lca-cli relocation prepare', then this report again."}
	case booted != s.record.Factory:
		return Check{Severity: Failure, Message: fmt.Sprintf("stateroot %s runs, which is not the factory's", booted),
			Hint: "'lca-cli relocation rollback' boots the factory state."}
	case boots != s.record.Site:
		return Check{Severity: Failure,
			Message: fmt.Sprintf("stateroot %s boots next, not %s, which waits for its site", boots, s.record.Site),
			Hint:    "Run 'lca-cli relocation abort' and 'prepare' again."}
	}
	return okCheck("stateroot %s boots next and waits for its site", boots)
}

func (s *survey) checkNoOtherOperation(ctx context.Context) Check {
	h, held, err := s.Lock.Holder(ctx)
	switch {
	case err != nil:
		return cannotCheck("whether another operation is under way", err)
	case held:
		return Check{Severity: Failure, Message: "the node is held by " + h.String(),
			Hint: "Wait until it has ended; 'lca-cli status' shows it."}
	}
	if w, found, err := relocation.ReadPending(s.Files); err == nil && found {
		return Check{Severity: Failure, Message: "a " + w.Action + " was asked for and has not ended",
			Hint: "Run 'lca-cli relocation " + w.Action + "' again."}
	}
	return okCheck("no operation is under way")
}

func (s *survey) checkOSTree(ctx context.Context) Check {
	if err := s.Deployments.CanSetDefault(ctx); err != nil {
		return Check{Severity: Failure, Message: "the node cannot choose its next boot: " + err.Error(),
			Hint: "Update ostree to a version with 'ostree admin set-default'."}
	}
	if err := stateroot.OwnState(s.Files, s.here.Booted.Stateroot); err != nil {
		return Check{Severity: Failure, Message: err.Error(), Hint: "The node's /var must lie in its stateroot."}
	}
	if !s.prepared {
		return okCheck("a second stateroot can be made")
	}
	for _, name := range []string{s.record.Factory, s.record.Site} {
		if !slices.ContainsFunc(s.here.All, func(d host.Deployment) bool { return d.Stateroot == name }) {
			return Check{Severity: Failure, Message: "stateroot " + name + " is not deployed",
				Hint: "Run 'lca-cli relocation abort' and 'prepare' again."}
		}
	}
	return okCheck("the factory state %s and the site's %s can boot", s.record.Factory, s.record.Site)
}

// spare is what a reconfiguration writes at most: certificates, journals, evidence.
const spare = 1 << 30

func (s *survey) checkDisk(ctx context.Context) Check {
	room := stateroot.Room{Files: s.Files, Disk: s.Trees}
	need, free, err := room.SpaceFor(ctx, s.here.Booted.Stateroot)
	if err != nil {
		return cannotCheck("the disk", err)
	}
	want := need.Bytes
	if s.prepared {
		want = spare // the copy is there; a second one replaces it
	}
	if free.Bytes < want {
		return Check{Severity: Failure, Message: fmt.Sprintf("%d MiB are free, %d MiB are needed", free.Bytes>>20, want>>20),
			Hint: "Remove images and files that the site does not need."}
	}
	if free.Inodes < need.Inodes && !s.prepared {
		return Check{Severity: Failure, Message: fmt.Sprintf("%d inodes are free, %d are needed", free.Inodes, need.Inodes),
			Hint: "Remove files that the site does not need."}
	}
	return okCheck("%d MiB are free, %d MiB are needed", free.Bytes>>20, want>>20)
}

func (s *survey) checkInternalAddress(context.Context) Check {
	if s.prepared && s.record.Internal.IsValid() && s.record.Uplink != "" {
		return okCheck("the page is at %s on port %s, and a laptop gets an address there", s.record.Internal.Addr(), s.record.Uplink)
	}
	return Check{Severity: Notice, Message: "the node has no known address of its own, so a technician's laptop gets no address from it",
		Hint: "Sticks need none. For the page, prepare with --internal-address 192.0.2.1/29, or give the technician an address."}
}
