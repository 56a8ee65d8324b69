package seedgen

import (
	"context"
	"errors"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// beginGeneration does everything before the first change: nothing is on the node yet.
func (r *Reconciler) beginGeneration(ctx context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	switch sg.Status.Phase {
	case "":
		return r.acceptGeneration(o), nil
	case lcav1.SeedCompleted, lcav1.SeedFailed:
		_, asked := sg.Annotations[lcav1.TriggerReconcileAnnotation]
		if sg.Generation != sg.Status.ObservedGeneration || asked && sg.Status.Phase == lcav1.SeedFailed {
			return r.acceptGeneration(o), nil
		}
		return outcome{phase: sg.Status.Phase}, r.consumeAnnotation(ctx, sg, lcav1.TriggerReconcileAnnotation)
	case lcav1.SeedChecking, lcav1.SeedStabilizing:
		if err := r.consumeAnnotation(ctx, sg, lcav1.TriggerReconcileAnnotation); err != nil {
			return outcome{}, err
		}
		return r.checkGeneration(ctx, sg, o)
	default: // its record is missing
	}
	return outcome{phase: lcav1.SeedFailed, message: fmt.Sprintf("%sthe record of operation %s is missing from the node%s",
		msgFailed, sg.Status.OperationID, msgTryAgain)}, nil
}

// acceptGeneration accepts a generation. It is written to status before anything is done about it.
func (r *Reconciler) acceptGeneration(o *observation) outcome {
	return outcome{phase: lcav1.SeedChecking, message: msgChecking, accepted: operation.NewID(o.now, r.Random()), again: onward}
}

// hubPatience is how long a hub may be silent, or a ManagedCluster take to go, before the generation fails.
const hubPatience = 15 * time.Minute

// checkGeneration makes the checks, waits for health, and begins.
func (r *Reconciler) checkGeneration(ctx context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	g, err := r.gatherFacts(ctx, sg)
	if err != nil {
		return outcome{}, err
	}
	out := outcome{phase: lcav1.SeedChecking, preflight: preflight.Validate(sg.Spec, g.facts)}
	if refusal := preflight.Refusal(out.preflight); refusal != nil {
		if preflight.Transient(out.preflight, g.facts) && o.now.Sub(startOf(sg, o)) < hubPatience {
			out.message, out.again = "Waiting for the hub: "+refusal.Error(), whileHub
			return out, nil
		}
		out.phase, out.message = lcav1.SeedFailed, msgFailed+"rejected: "+refusal.Error()+msgTryAgain
		return out, nil
	}
	if health := cluster.Health(ctx, runtimeclient.NewReader(r.Reader)); !health.Healthy() {
		out.phase, out.message, out.again = lcav1.SeedStabilizing, msgStabilizing+health.String(), whileWaiting
		return out, nil
	}
	return r.writeRecord(sg, o, g, out.preflight)
}

func startOf(sg *lcav1.SeedGenerator, o *observation) time.Time {
	if sg.Status.StartedAt == nil {
		return o.now
	}
	return sg.Status.StartedAt.Time
}

// writeRecord writes the record: from here on the node has the generation. What a later phase needs of the Secret is written first.
func (r *Reconciler) writeRecord(sg *lcav1.SeedGenerator, o *observation, g gathered, checks []lcav1.PreflightCheck) (outcome, error) {
	rec := &record.Record{
		OperationID: sg.Status.OperationID, UID: string(sg.UID), Spec: sg.Spec, Started: startOf(sg, o), Preflight: checks,
	}
	kept := sg.DeepCopy()
	kept.ManagedFields = nil
	if err := operation.WriteJSON(r.Node.Files, record.ObjectFile, kept); err != nil {
		return outcome{}, fmt.Errorf("export seedgenerator %s: %w", sg.Name, err)
	}
	next, message := lcav1.SeedPreparing, msgPreparing
	if g.facts.Hub.Managed {
		if err := r.Node.Files.Write(record.HubFile, g.hubConfig, 0o600); err != nil {
			return outcome{}, fmt.Errorf("save the kubeconfig of the hub: %w", err)
		}
		rec.Hub = &record.Hub{Server: g.facts.Hub.Server, Cluster: g.facts.Hub.Cluster}
		next, message = lcav1.SeedDetaching, msgDetaching
	}
	o.record = rec
	return r.enterPhase(o, next, message)
}

// gathered is what the checks need, and what is then needed of the Secrets.
type gathered struct {
	facts     preflight.Facts
	hubConfig []byte
}

// gatherFacts gathers the facts of cluster, node, Secrets and hub.
func (r *Reconciler) gatherFacts(ctx context.Context, sg *lcav1.SeedGenerator) (g gathered, err error) {
	g.facts.Unknown = map[string]string{}
	if g.facts.Cluster, err = cluster.ReadSeedFacts(ctx, runtimeclient.NewReader(r.Reader)); err != nil {
		return g, fmt.Errorf("observe the cluster: %w", err)
	}
	surveyor := preflight.Surveyor{Files: r.Node.Files, Disk: r.Node.Disk, Deployments: r.Node.Deployments, Lock: r.Node.Lock}
	surveyor.Look(ctx, &g.facts)
	secret, err := r.readSecretIfExists(ctx, lcav1.SeedSecretName)
	if err != nil {
		return g, err
	}
	if secret != nil {
		g.facts.SecretFound, g.facts.Auth = true, secret.Data[lcav1.SeedSecretAuthKey]
		g.hubConfig = secret.Data[lcav1.SeedSecretHubKey]
	}
	_, g.facts.SigningProblem, err = r.signingKey(ctx, sg.Spec)
	if err != nil {
		return g, err
	}
	r.askHub(ctx, &g)
	return g, nil
}

// askHub adds what the hub says, if there is one.
func (r *Reconciler) askHub(ctx context.Context, g *gathered) {
	f := &g.facts
	if f.HubGiven = len(g.hubConfig) > 0; !f.HubGiven {
		return
	}
	hub, server, err := r.Hub(g.hubConfig)
	if err != nil {
		f.HubProblem = err.Error()
		return
	}
	if f.Hub, err = cluster.ReadHubFacts(ctx, runtimeclient.NewReader(hub), server, f.Cluster.Name); err == nil {
		return
	}
	if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
		f.HubProblem = status.OneLine(err.Error())
		return
	}
	f.HubUnreachable = status.OneLine(err.Error())
}

// readSecretIfExists reads a Secret of the agent's namespace; nil where it does not exist.
func (r *Reconciler) readSecretIfExists(ctx context.Context, name string) (*corev1.Secret, error) {
	s, err := r.ReadSecret(ctx, name)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get secret %s/%s: %w", Namespace, name, err)
	}
	return s, nil
}

// Keys of a Secret as "cosign generate-key-pair" makes it.
const (
	cosignKey      = "cosign.key"
	cosignPassword = "cosign.password"
)

// signingKey returns the Secret with the signing key; nil where none is asked for, or a problem where it cannot be used.
func (r *Reconciler) signingKey(ctx context.Context, spec lcav1.SeedGeneratorSpec) (s *corev1.Secret, problem string, err error) {
	if spec.SigningSecret == "" {
		return nil, "", nil
	}
	s, err = r.readSecretIfExists(ctx, spec.SigningSecret)
	var refused apierrors.APIStatus
	switch {
	case errors.As(err, &refused) && apierrors.IsForbidden(err):
		return nil, fmt.Sprintf("the agent may not read Secret %s: name it %s, or grant 'get' on it to service account "+
			Account, spec.SigningSecret, lcav1.SeedSigningSecretName), nil
	case err != nil:
		return nil, "", err
	case s == nil:
		return nil, fmt.Sprintf("Secret %s of spec.signingSecret does not exist in namespace %s", spec.SigningSecret, Namespace), nil
	case len(s.Data[cosignKey]) == 0:
		return nil, fmt.Sprintf("Secret %s of spec.signingSecret has no key %s", spec.SigningSecret, cosignKey), nil
	}
	return s, "", nil
}
