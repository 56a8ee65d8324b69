// Package review says what is wrong with a network policy, as far as that can be told without a node: each problem with the path of
// the key that it is about.
//
// Called by the operator's webhook, by kubectl lca network validate and for the fleet's templates. It is pure, and checks with the code
// that nodes check with.
package review

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/policy"
)

const (
	// MaxProblems is how many are listed: a document of a thousand interfaces may have a thousand times the same.
	MaxProblems = 20
	// maxReason bounds a problem in bytes; it may quote what the user wrote.
	maxReason = 400
)

// Problem is one reason why a policy is refused.
type Problem struct {
	// Path of the key, for example spec.desiredState.interfaces[eth1].mtu.
	Path   string
	Reason string
}

func (p Problem) String() string { return p.Path + ": " + p.Reason }

// Problems are all that is wrong with a policy, MaxProblems at most.
type Problems []Problem

func (p Problems) Error() string {
	all := make([]string, len(p))
	for i := range p {
		all[i] = p[i].String()
	}
	return strings.Join(all, "; ")
}

// Check lists what is wrong with a policy; none means that a node may refuse it for what the node is, and for nothing else.
//
// A value that is known on the node only cannot be judged: of an entry with such a template, an interface or a route, the keys are
// checked and nothing more.
func Check(p *nmstatev1.NodeNetworkConfigurationPolicy) Problems {
	r := &reviewer{spec: &p.Spec}
	r.checkPools()
	r.checkCaptures()
	r.checkDocument()
	return r.problems
}

type reviewer struct {
	spec     *nmstatev1.NodeNetworkConfigurationPolicySpec
	problems Problems
}

func (r *reviewer) addProblem(path, reason string) {
	if len(r.problems) >= MaxProblems {
		return
	}
	if len(reason) > maxReason {
		reason = strings.ToValidUTF8(reason[:maxReason-3], "") + "..."
	}
	r.problems = append(r.problems, Problem{path, reason})
}

func (r *reviewer) checkPools() {
	if r.spec.MachineConfigPoolSelector == nil {
		return
	}
	if _, err := metav1.LabelSelectorAsSelector(r.spec.MachineConfigPoolSelector); err != nil {
		r.addProblem("spec.machineConfigPoolSelector", err.Error())
	}
}

// checkCaptures checks every expression by itself, then what they refer to.
func (r *reviewer) checkCaptures() {
	if n := len(r.spec.Capture); n > policy.MaxCaptures {
		r.addProblem("spec.capture", fmt.Sprintf("%d captures, and %d are the most that a policy may have", n, policy.MaxCaptures))
		return
	}
	before := len(r.problems)
	for _, name := range slices.Sorted(maps.Keys(r.spec.Capture)) {
		if _, err := policy.Parse(r.spec.Capture[name]); err != nil {
			r.addProblem(capturePath(name), reasonOf(err))
		}
	}
	if len(r.problems) > before {
		return
	}
	if err := policy.Check(policy.Policy{Captures: r.spec.Capture}); err != nil {
		r.addProblem(whereOf(err), reasonOf(err))
	}
}

func capturePath(name string) string { return fmt.Sprintf("spec.capture[%.64s]", name) }

// reasonOf is an error of the language without the name of its capture, which the path has.
func reasonOf(err error) string {
	var at *policy.Error
	if errors.As(err, &at) {
		return fmt.Sprintf("line %d, column %d: %s", at.Line, at.Column, at.Reason)
	}
	return err.Error()
}

func whereOf(err error) string {
	var at *policy.Error
	if !errors.As(err, &at) {
		return "spec.capture"
	}
	return capturePath(strings.Trim(strings.TrimPrefix(at.Where, "capture "), `"`))
}
