package seedgen

import (
	"context"
	"fmt"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/status"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/record"
)

// isMissing says that an object, or its kind, does not exist.
func isMissing(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// preparePatience is how long the request may take to be written before the generation fails.
const preparePatience = 15 * time.Minute

// prepareRequest writes credentials and request to the node, the request last.
func (r *Reconciler) prepareRequest(ctx context.Context, _ *lcav1.SeedGenerator, o *observation) (outcome, error) {
	if r.watchHub(ctx, o) {
		return r.endReimported(o)
	}
	err := r.handOver(ctx, o)
	switch {
	case err == nil:
		r.imaging.Reset()
		return r.enterPhase(o, lcav1.SeedImaging, msgLaunching)
	case o.now.Sub(o.record.Since) >= preparePatience:
		return r.failGeneration(o, "the request could not be handed to the node: "+status.OneLine(err.Error()))
	}
	return o.stayInPhase(msgPreparing+"; retrying: "+status.OneLine(err.Error()), whileWaiting), nil
}

func (r *Reconciler) handOver(ctx context.Context, o *observation) error {
	if err := r.InstallCLI.Install(); err != nil {
		return fmt.Errorf("install lca-cli: %w", err)
	}
	if err := r.fetchRecert(ctx, o); err != nil {
		return err
	}
	request, err := r.buildRequest(ctx, o.record)
	if err != nil {
		return err
	}
	if err := r.writeCredentials(ctx, o.record.Spec); err != nil {
		return err
	}
	if err := seed.WriteRequest(ctx, operation.Intake{Files: r.Node.Files, Boots: r.Node.Boots, Log: r.Log}, request); err != nil {
		return fmt.Errorf("write the request of operation %s: %w", request.OperationID, err)
	}
	return nil
}

// unitRecertImage fetches the image of recert, as it does for an IP change.
const unitRecertImage = "lca-recert-image.service"

// fetchRecert has lca-cli fetch the image that was chosen for recert, so that a registry without it is found out while nothing
// is stopped.
func (r *Reconciler) fetchRecert(ctx context.Context, o *observation) error {
	want := o.record.Spec.RecertImage
	if want == "" || bringup.CachedImage(r.Node.Files) == want {
		return nil
	}
	states, err := nodejob.Observe(ctx, r.Node.Units, unitRecertImage)
	if err != nil {
		return err
	}
	unit := states[unitRecertImage]
	if !unit.Running() {
		err := nodejob.Retry(ctx, r.Node.Transients, nodejob.Job{
			Unit: unitRecertImage, Description: "lifecycle-agent: fetch the image of recert",
			Argv: []string{host.CLI, "ip-config", "fetch-recert-image", "--image", want},
		}, &r.fetching, o.now)
		if err != nil {
			return err
		}
	}
	if unit.Active == "failed" {
		return fmt.Errorf("%s: %s", msgPulling, nodejob.HowItEnded(unitRecertImage, unit, ""))
	}
	return fmt.Errorf("%s %s", msgPulling, want)
}

// writeCredentials writes what lca-cli needs to publish and to sign.
func (r *Reconciler) writeCredentials(ctx context.Context, spec lcav1.SeedGeneratorSpec) error {
	secret, err := r.readSecretIfExists(ctx, lcav1.SeedSecretName)
	if err != nil {
		return err
	}
	if secret == nil || len(secret.Data[lcav1.SeedSecretAuthKey]) == 0 {
		return fmt.Errorf("secret %s/%s has no key %s any more", Namespace, lcav1.SeedSecretName, lcav1.SeedSecretAuthKey)
	}
	files := map[string][]byte{seed.AuthFile: secret.Data[lcav1.SeedSecretAuthKey]}
	signing, problem, err := r.signingKey(ctx, spec)
	if err != nil {
		return err
	}
	if problem != "" {
		return fmt.Errorf("%s", problem)
	}
	if signing != nil {
		files[seed.SigningKeyFile], files[seed.SigningPasswordFile] = signing.Data[cosignKey], signing.Data[cosignPassword]
	}
	for name, data := range files {
		if err := r.Node.Files.Write(name, data, 0o600); err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
	}
	return nil
}

// buildRequest makes the request: what the image says of the cluster, and what it must not contain.
func (r *Reconciler) buildRequest(ctx context.Context, rec *record.Record) (seed.Request, error) {
	info, err := cluster.ReadSeedInfo(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return seed.Request{}, fmt.Errorf("observe the cluster: %w", err)
	}
	facts, err := cluster.ReadSeedFacts(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return seed.Request{}, fmt.Errorf("observe the cluster: %w", err)
	}
	removals, err := cluster.SeedRemovals(ctx, runtimeclient.NewReader(r.Reader))
	if err != nil {
		return seed.Request{}, fmt.Errorf("observe what must not be in the image: %w", err)
	}
	request := seed.Request{
		OperationID: rec.OperationID, SeedImage: rec.Spec.SeedImage, RecertImage: rec.Spec.RecertImage, AuthFile: seed.AuthFile,
		CABundle: info.CABundle, Sign: rec.Spec.SigningSecret != "", Cluster: clusterInfo(info, rec.Spec.RecertImage),
		Images: info.Images, ExcludeImages: info.CatalogImages,
		Node: seed.NodeFacts{Reserved: facts.ReservedCPUs, Isolated: facts.IsolatedCPUs, FIPS: info.FIPS, InfraID: info.InfraID},
	}
	request.Rulings = rulingsOf(rec.Spec.SecretDecisions)
	for _, removal := range removals {
		request.Drop = append(request.Drop, seed.Object(removal))
	}
	if rec.Spec.SigningSecret != "" {
		request.Drop = append(request.Drop, seed.Object{Resource: "secrets", Namespace: Namespace, Name: rec.Spec.SigningSecret})
	}
	return request, nil
}

func clusterInfo(info cluster.SeedInfo, recertImage string) seed.ClusterInfo {
	registry, _, _ := strings.Cut(info.ReleaseImage, "/")
	return seed.ClusterInfo{
		OCPVersion: info.Version, BaseDomain: info.Domain, ClusterName: info.ClusterName,
		NodeIP: info.NodeIPs[0], NodeIPs: info.NodeIPs, ReleaseRegistry: registry, MirrorRegistryConfigured: info.Mirrored,
		SNOHostname: info.Hostname, RecertImage: recertImage, HasProxy: info.Proxied,
		ClusterNetworks: info.ClusterNetworks, ServiceNetworks: info.ServiceNetworks, MachineNetworks: info.MachineNetworks,
		HasFIPS: info.FIPS, IngressCN: info.IngressCN,
		TrustBundle: seed.TrustBundle{HasUserCABundle: info.CABundle != "", ProxyConfigMapName: info.TrustedCA},
	}
}

// followImage follows lca-cli: it starts it, also again after a reboot, and aborts it before the image is published.
func (r *Reconciler) followImage(ctx context.Context, _ *lcav1.SeedGenerator, o *observation) (outcome, error) {
	p := o.progress.Create
	switch {
	case p.Finished:
		if o.outcome != nil {
			o.record.Warnings = append(o.record.Warnings, o.outcome.Warnings()...)
		}
		return r.enterPhase(o, lcav1.SeedRestoring, msgFinalizing)
	case p.RolledBack || o.imagerGaveUp():
		return r.failGeneration(o, nodejob.HowItEnded(seed.UnitCreate, o.unit, p.Failure))
	case o.record.Failure != "" && !o.progress.Published():
		return r.abortImage(ctx, o)
	case r.watchHub(ctx, o):
		return r.endReimported(o)
	case o.unit.Running():
		return o.stayInPhase(o.imagerMessage(), whileRunning), nil
	}
	out := o.stayInPhase(o.imagerMessage(), whileRunning)
	if err := r.startImager(ctx, o); err != nil {
		out.message += "; retrying: " + status.OneLine(err.Error())
	}
	return out, nil
}

// startImager starts lca-cli, with back-off. It stops the cluster, so only systemd can restart it.
func (r *Reconciler) startImager(ctx context.Context, o *observation) error {
	return nodejob.Retry(ctx, r.Node.Transients, nodejob.Job{
		Unit: seed.UnitCreate, Description: "lifecycle-agent: generate seed image",
		Argv: []string{host.CLI, "seed", "create"}, Restart: true,
	}, &r.imaging, o.now)
}

// stopTimeout is how long one reconciliation waits for lca-cli to undo its work; the next one continues to wait.
const stopTimeout = 30 * time.Second

// unitAbort runs "lca-cli seed abort".
const unitAbort = "lca-abort-seed-image.service"

// abortImage stops lca-cli and has it give the generation up, which starts the cluster and removes the copy.
func (r *Reconciler) abortImage(ctx context.Context, o *observation) (outcome, error) {
	out := o.stayInPhase("Aborting: "+o.record.Failure, whileRunning)
	switch {
	case o.unit.Running():
		ctx, cancel := context.WithTimeout(ctx, stopTimeout)
		defer cancel()
		if err := r.Node.Units.Stop(ctx, seed.UnitCreate); err != nil {
			out.message += "; waiting for " + seed.UnitCreate + " to stop: " + status.OneLine(err.Error())
		}
	case o.aborting.Running():
	case !o.progress.Create.Begun:
		if err := r.Node.Files.Remove(seed.RequestFile); err != nil {
			return outcome{}, fmt.Errorf("remove %s: %w", seed.RequestFile, err)
		}
		return r.enterPhase(o, lcav1.SeedRestoring, msgFinalizing)
	default:
		err := nodejob.Retry(ctx, r.Node.Transients, nodejob.Job{
			Unit: unitAbort, Description: "lifecycle-agent: abort seed image", Argv: []string{host.CLI, "seed", "abort"}, Restart: true,
		}, &r.aborting, o.now)
		if err != nil {
			out.message += "; retrying: " + status.OneLine(err.Error())
		}
	}
	return out, nil
}

// imagerMessage says what lca-cli does.
func (o *observation) imagerMessage() string {
	p := o.progress.Create
	switch {
	case !p.Begun:
		return msgLaunching
	case p.Failure != "":
		return msgImaging + "; retrying or undoing after a failure: " + p.Failure
	case o.unit.Sub == "auto-restart":
		return msgImaging + "; " + nodejob.HowItEnded(seed.UnitCreate, o.unit, "") + "; systemd restarts it"
	}
	return fmt.Sprintf("%s: %s (%d of %d)", msgImaging, p.Title, p.Index, p.Total)
}

// restoreCluster gives the cluster back to its hub and, after success, waits for its health.
func (r *Reconciler) restoreCluster(ctx context.Context, sg *lcav1.SeedGenerator, o *observation) (outcome, error) {
	told := false
	if sg != nil {
		_, told = sg.Annotations[lcav1.ManualCleanupAnnotation]
	}
	if told {
		if o.record.Hub != nil && !o.record.Hub.Reattached && !o.record.Hub.GivenUp {
			if err := r.giveUp(o); err != nil {
				return outcome{}, err
			}
		}
		if err := r.consumeAnnotation(ctx, sg, lcav1.ManualCleanupAnnotation); err != nil {
			return outcome{}, err
		}
	}
	waiting, err := r.reattachCluster(ctx, o)
	if err != nil {
		return outcome{}, err
	}
	if waiting != "" {
		return o.stayInPhase(msgFinalizing+": "+waiting, whileHub), nil
	}
	if o.record.Failure != "" {
		return r.concludeGeneration(o, lcav1.SeedFailed)
	}
	if health := cluster.Health(ctx, runtimeclient.NewReader(r.Reader)); !health.Healthy() && !told {
		return o.stayInPhase(msgFinalizing+": "+msgStabilizing+health.String(), whileWaiting), nil
	}
	return r.concludeGeneration(o, lcav1.SeedCompleted)
}
