package netpolicy

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"sync"

	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	"github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/machineconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netpolicy/rollout/condition"
)

// currentConfigAnnotation of a Node is the rendered MachineConfig that it has, as its machine-config daemon says.
const currentConfigAnnotation = "machineconfiguration.openshift.io/currentConfig"

// States of a node's documents, as the machine-config daemon has them of MachineConfigs.
const (
	stateWorking        = "Working"
	stateDone           = "Done"
	stateDegraded       = "Degraded"
	stateUnreconcilable = "Unreconcilable"
)

// deliveries remembers which rendered MachineConfigs carry which document. Both never change: a rendered MachineConfig is named by the
// hash of what it holds.
type deliveries struct {
	mu    sync.Mutex
	known map[delivery]bool
}

type delivery struct {
	rendered   string
	policy     types.UID
	generation int64
}

// isDelivered reports whether a node has the document of a policy for machine config pools, so that it may apply it.
func (r *Reconciler) isDelivered(ctx context.Context, policy *nmstatev1.NodeNetworkConfigurationPolicy, rendered string) (bool, error) {
	if rendered == "" {
		return false, nil
	}
	k := delivery{rendered, policy.UID, policy.Generation}
	r.deliveries.mu.Lock()
	defer r.deliveries.mu.Unlock()
	if has, known := r.deliveries.known[k]; known {
		return has, nil
	}
	mc := &mcv1.MachineConfig{}
	if err := r.Reader.Get(ctx, client.ObjectKey{Name: rendered}, mc); err != nil {
		if apierrors.IsNotFound(err) {
			return false, nil
		}
		return false, fmt.Errorf("read rendered MachineConfig %s: %w", rendered, err)
	}
	has, err := machineconfig.Carries(mc.Spec.Config.Raw, policy.Name, documentOf(policy))
	if err != nil {
		return false, &unreadableError{rendered: rendered, cause: err}
	}
	r.deliveries.known[k] = has
	return has, nil
}

// unreadableError says that a rendered MachineConfig is not one that can be read. Only its pool can mend that.
type unreadableError struct {
	rendered string
	cause    error
}

func (e *unreadableError) Error() string {
	return fmt.Sprintf("rendered MachineConfig %s cannot be read: %v", e.rendered, e.cause)
}

func (e *unreadableError) Unwrap() error { return e.cause }

func documentOf(policy *nmstatev1.NodeNetworkConfigurationPolicy) []byte {
	if policy.Spec.DesiredState == nil {
		return nil
	}
	return policy.Spec.DesiredState.Raw
}

// mirrorState writes how far a node is with its pool's document into the enactment, in the words of the machine-config daemon.
func (r *Reconciler) mirrorState(
	ctx context.Context,
	policy *nmstatev1.NodeNetworkConfigurationPolicy,
	n rollout.Node,
	e *v1beta1.NodeNetworkConfigurationEnactment,
	unreadable string,
) error {
	if policy.Spec.MachineConfigPoolSelector == nil || e == nil {
		return nil
	}
	text, err := machineconfig.Text(documentOf(policy))
	if err != nil {
		return err
	}
	want := mirroredAnnotations(n, e, hashText(text))
	if unreadable != "" {
		want[v1beta1.NetworkStateAnnotation], want[v1beta1.NetworkReasonAnnotation] = stateDegraded, unreadable
	}
	for key, value := range want {
		if e.Annotations[key] == value {
			delete(want, key)
		}
	}
	if len(want) == 0 {
		return nil
	}
	if err := r.annotateEnactment(ctx, e.Name, want); err != nil {
		return fmt.Errorf("write the network state of enactment %s: %w", e.Name, err)
	}
	return nil
}

// mirroredAnnotations maps the state of a node to the annotations of machine-config. A node that has not started keeps its state, with
// the new document as desired.
func mirroredAnnotations(n rollout.Node, e *v1beta1.NodeNetworkConfigurationEnactment, desired string) map[string]string {
	want := map[string]string{v1beta1.DesiredNetworkAnnotation: desired, v1beta1.NetworkReasonAnnotation: ""}
	switch n.State {
	case condition.Available:
		want[v1beta1.CurrentNetworkAnnotation], want[v1beta1.NetworkStateAnnotation] = desired, stateDone
	case condition.Failed:
		want[v1beta1.NetworkStateAnnotation], want[v1beta1.NetworkReasonAnnotation] = stateUnreconcilable, failureReason(e)
	case condition.Retrying:
		want[v1beta1.NetworkStateAnnotation], want[v1beta1.NetworkReasonAnnotation] = stateDegraded, failureReason(e)
	case condition.Progressing:
		want[v1beta1.NetworkStateAnnotation] = stateWorking
	default:
		delete(want, v1beta1.NetworkReasonAnnotation)
	}
	return want
}

func failureReason(e *v1beta1.NodeNetworkConfigurationEnactment) string {
	for _, c := range e.Status.Conditions {
		if c.Type == v1beta1.EnactmentFailing {
			return c.Message[:min(len(c.Message), 2000)]
		}
	}
	return ""
}

func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}
