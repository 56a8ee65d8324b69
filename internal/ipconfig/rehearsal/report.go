package rehearsal

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
)

// Names of proofs, as reports have them.
const (
	ProofChecks   = "checks"
	ProofCopy     = "configuration"
	ProofStore    = "etcd-copy"
	ProofRecert   = "recert"
	ProofEtcd     = "etcd"
	ProofAPI      = "kube-apiserver"
	ProofAPIName  = "api-name"
	ProofNode     = "node-object"
	ProofNetwork  = "network"
	ProofBoot     = "boot"
	ProofKubelet  = "kubelet"
	ProofWorkload = "operators"
)

// proof is a row of every report.
type proof struct {
	name, title string
	// needs is the proof without which it cannot be tried.
	needs string
	// beyond says why no rehearsal can prove it; empty for one that is tried.
	beyond string
}

// proofs are the rows, in the order of the report.
func proofs() []proof {
	return []proof{
		{name: ProofChecks, title: "The checks of the change pass"},
		{name: ProofCopy, title: "The configuration can be copied"},
		{name: ProofStore, title: "The running etcd can be copied", needs: ProofCopy},
		{name: ProofRecert, title: "Certificates and cluster state can be rewritten", needs: ProofStore},
		{name: ProofEtcd, title: "etcd starts on the new addresses, with certificates for them", needs: ProofRecert},
		{name: ProofAPI, title: "kube-apiserver is ready on the new addresses, with certificates for them", needs: ProofEtcd},
		{name: ProofAPIName, title: "kube-apiserver has a certificate for the API's name", needs: ProofAPI},
		{name: ProofNode, title: "The Node object has the new addresses", needs: ProofAPI},
		{name: ProofNetwork, title: "Gateway and DNS answer on the new network",
			beyond: "only the real uplink reaches them: the change itself proves that, and rolls back if they do not answer"},
		{name: ProofBoot, title: "The new stateroot is deployed and boots",
			beyond: "a deployment would change the boot menu, and only a boot proves a boot; a watchdog guards that of the change"},
		{name: ProofKubelet, title: "kubelet and the container runtime start, br-ex is built",
			beyond: "there is one of each on a node, and it runs the cluster"},
		{name: ProofWorkload, title: "Operators and workloads are healthy",
			beyond: "the copy runs no pods; the change waits for that after it is proved"},
	}
}

func findProof(name string) proof {
	for _, p := range proofs() {
		if p.name == name {
			return p
		}
	}
	return proof{name: name}
}

// ReadReport is the report of the latest rehearsal; false where there is none. One that is said to run, and whose request is gone, was
// ended by a reboot.
func ReadReport(files host.Files) (r lcav1.Rehearsal, found bool, err error) {
	err = operation.ReadJSON(files, ReportFile, &r)
	if errors.Is(err, fs.ErrNotExist) {
		return r, false, nil
	}
	if err != nil {
		return r, false, err
	}
	if _, err := files.Stat(RequestFile); r.Result == lcav1.RehearsalRunning && errors.Is(err, fs.ErrNotExist) {
		r.Result, r.Message = lcav1.RehearsalAborted, "the node has rebooted meanwhile"
	}
	return r, true, nil
}

// reportRefusal writes the report of a rehearsal that did not begin, because the change would be refused.
func reportRefusal(n Ports, request Request, why string) error {
	h := &rehearsal{n, request}
	if err := h.beginReport(); err != nil {
		return err
	}
	p := findProof(ProofChecks)
	row := lcav1.RehearsalProof{Name: p.name, Title: p.title, Result: lcav1.ProofFailed, Message: operation.RedactText(why)}
	return errors.Join(h.record(row), concludeReport(n, request, nil))
}

// beginReport writes a report in which nothing is proved yet.
func (h *rehearsal) beginReport() error {
	now := metav1.NewTime(h.Clock.Now().UTC().Truncate(time.Second))
	r := lcav1.Rehearsal{OperationID: h.request.OperationID, Request: h.request.Asked, Result: lcav1.RehearsalRunning,
		AddressChanges: h.request.AddressChanges, Started: &now}
	for _, p := range proofs() {
		row := lcav1.RehearsalProof{Name: p.name, Title: p.title, Result: lcav1.ProofNotProved, Message: "not tried"}
		switch {
		case p.name == ProofChecks:
			row.Result, row.Message = lcav1.ProofProved, h.request.Checks
		case p.beyond != "":
			row.Message = p.beyond
		}
		r.Proofs = append(r.Proofs, row)
	}
	return operation.WriteJSON(h.Files, ReportFile, r)
}

// prove tries something and records what came of it. A failure is a finding; only what ends the process ends the rehearsal.
func (h *rehearsal) prove(ctx context.Context, name string, try func(context.Context) (string, error)) error {
	p := findProof(name)
	row := lcav1.RehearsalProof{Name: p.name, Title: p.title, Result: lcav1.ProofProved}
	if missing, err := h.isProved(p.needs); err != nil || missing != "" {
		row.Result, row.Message = lcav1.ProofNotProved, "not tried: "+missing
		return errors.Join(err, h.record(row))
	}
	began := h.Clock.Now()
	message, err := try(ctx)
	if ctx.Err() != nil {
		return errors.Join(context.Cause(ctx), err)
	}
	row.Message, row.Seconds = message, int64(h.Clock.Now().Sub(began).Round(time.Second)/time.Second)
	var unproved *unprovedError
	switch {
	case errors.As(err, &unproved):
		row.Result, row.Message = lcav1.ProofNotProved, unproved.why
	case errors.Is(err, host.ErrImageMissing):
		row.Result, row.Message = lcav1.ProofNotProved, err.Error()
	case err != nil:
		row.Result, row.Message = lcav1.ProofFailed, operation.RedactText(err.Error())
	}
	h.Log.Info("rehearsed", "proof", row.Name, "result", row.Result, "message", row.Message)
	return h.record(row)
}

// unprovedError is why something cannot be proved on this node.
type unprovedError struct{ why string }

func (e *unprovedError) Error() string { return e.why }

// isProved returns what is missing, empty for nothing.
func (h *rehearsal) isProved(name string) (missing string, err error) {
	if name == "" {
		return "", nil
	}
	var r lcav1.Rehearsal
	if err := operation.ReadJSON(h.Files, ReportFile, &r); err != nil {
		return "", err
	}
	for _, row := range r.Proofs {
		if row.Name == name && row.Result != lcav1.ProofProved {
			return name + " is not proved", nil
		}
	}
	return "", nil
}

// record replaces a row of the report.
func (h *rehearsal) record(row lcav1.RehearsalProof) error {
	var r lcav1.Rehearsal
	if err := operation.ReadJSON(h.Files, ReportFile, &r); err != nil {
		return err
	}
	for i := range r.Proofs {
		if r.Proofs[i].Name == row.Name {
			r.Proofs[i] = row
		}
	}
	return operation.WriteJSON(h.Files, ReportFile, r)
}

// concludeReport writes the result of a rehearsal that has ended with that error.
func concludeReport(n Ports, request Request, end error) error {
	var r lcav1.Rehearsal
	err := operation.ReadJSON(n.Files, ReportFile, &r)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if r.OperationID != request.OperationID { // it ended before it had begun a report
		r = lcav1.Rehearsal{OperationID: request.OperationID, Request: request.Asked, AddressChanges: request.AddressChanges}
	}
	now := metav1.NewTime(n.Clock.Now().UTC().Truncate(time.Second))
	r.Finished, r.Result = &now, sumUpProofs(r.Proofs)
	if end != nil {
		r.Result, r.Message = lcav1.RehearsalAborted, operation.RedactText(end.Error())
	} else if len(r.Proofs) == 0 {
		r.Result, r.Message = lcav1.RehearsalAborted, "it was ended before it began"
	}
	r.Outage = estimateOutage(r.Proofs, request.LastOutage)
	return operation.WriteJSON(n.Files, ReportFile, r)
}

// sumUpProofs is the result of a rehearsal that has ended by itself.
func sumUpProofs(rows []lcav1.RehearsalProof) lcav1.RehearsalResult {
	result := lcav1.RehearsalPassed
	for _, row := range rows {
		switch {
		case row.Result == lcav1.ProofFailed:
			return lcav1.RehearsalFailed
		case row.Result == lcav1.ProofNotProved && findProof(row.Name).beyond == "":
			result = lcav1.RehearsalIncomplete
		}
	}
	return result
}

// estimateOutage lists the parts of the outage. What a rehearsal measures is measured beside a running cluster, at the lowest priority.
func estimateOutage(rows []lcav1.RehearsalProof, last int64) (out []lcav1.RehearsalOutage) {
	parts := []struct{ proof, part string }{
		{ProofRecert, "rewrite certificates and cluster state"}, {ProofEtcd, "start etcd"}, {ProofAPI, "start kube-apiserver"},
	}
	for _, p := range parts {
		for _, row := range rows {
			if row.Name == p.proof && row.Result == lcav1.ProofProved {
				out = append(out, lcav1.RehearsalOutage{Part: p.part, Seconds: max(row.Seconds, 1),
					Source: "measured in the rehearsal, at the lowest priority"})
			}
		}
	}
	out = append(out, lcav1.RehearsalOutage{Part: "stop the cluster, copy the last differences, reboot, start kubelet",
		Source: "not known before the first change on this node"})
	if last > 0 {
		out[len(out)-1].Source = "part of the whole outage below"
		out = append(out, lcav1.RehearsalOutage{Part: "whole outage", Seconds: last, Source: "the last change on this node"})
	}
	return out
}

// sumUpChecks is the outcome of the checks in a line.
func sumUpChecks(checks []lcav1.PreflightCheck) string {
	passed, rest := 0, []string{}
	for _, c := range checks {
		if c.Result == lcav1.PreflightPassed {
			passed++
			continue
		}
		rest = append(rest, c.Name+": "+c.Message)
	}
	text := fmt.Sprintf("%d of %d passed", passed, len(checks))
	if len(rest) > 0 {
		text += "; " + strings.Join(rest, "; ")
	}
	return text
}
