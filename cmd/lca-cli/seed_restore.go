package main

import (
	"context"
	"fmt"

	configv1 "github.com/openshift/api/config/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/types"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/archive"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ostree"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/registry"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/preflight"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/restore"
)

// openSeedRestore adds what restoring a seed image needs besides.
func (o opener) openSeedRestore(ctx context.Context, acting bool) (restore.Ports, operation.Instruments, error) {
	node, with, err := o.openNode(ctx, acting)
	fs := files.New("/")
	return restore.Ports{
		Node: node, Archives: archive.New(archive.Options{}), Registries: registry.New(registry.Options{Files: fs, Log: o.log}),
		Commits: ostree.New(ostree.Options{Runner: run.New(run.Options{}), Files: fs, Log: o.log}),
		Cluster: targetCluster{localCluster{files: fs}}, Clock: flow.SystemClock{}, Log: o.log, NewID: newOperationID,
	}, with, err
}

// targetCluster is this node's API server, as far as a seed image is compared with it.
type targetCluster struct{ localCluster }

// Target implements restore.TargetCluster.
func (c targetCluster) Target(ctx context.Context) (restore.ClusterFacts, error) {
	api, err := c.newClient()
	if err != nil {
		return restore.ClusterFacts{}, err
	}
	facts, err := cluster.ReadSeedFacts(ctx, api)
	if err != nil {
		return restore.ClusterFacts{}, fmt.Errorf("observe the cluster: %w", err)
	}
	var version configv1.ClusterVersion
	if err := api.Get(ctx, types.NamespacedName{Name: "version"}, &version); err != nil && !isAbsent(err) {
		return restore.ClusterFacts{}, fmt.Errorf("read the version of OpenShift: %w", err)
	}
	return restore.ClusterFacts{
		Version: version.Status.Desired.Version, Reserved: facts.ReservedCPUs, Isolated: facts.IsolatedCPUs,
	}, nil
}

// seedSurvey gathers what the checks of a seed image must know, on the node. The hub is asked by the agent alone.
func (o opener) seedSurvey(
	lock host.NodeLock,
) func(context.Context, lcav1.SeedGeneratorSpec) (lcav1.SeedGeneratorSpec, preflight.Facts, error) {
	return func(ctx context.Context, asked lcav1.SeedGeneratorSpec) (lcav1.SeedGeneratorSpec, preflight.Facts, error) {
		f := preflight.Facts{Unknown: map[string]string{}}
		node := buildNode(o.log, &evidence{})
		api, err := localCluster{files: files.New("/")}.newClient()
		if err != nil {
			return asked, f, err
		}
		if f.Cluster, err = cluster.ReadSeedFacts(ctx, api); err != nil {
			return asked, f, fmt.Errorf("observe the cluster: %w", err)
		}
		preflight.Surveyor{Files: node.Files, Disk: node.Trees, Deployments: node.Deployments, Lock: lock}.Look(ctx, &f)
		if asked, err = askedFor(ctx, api, asked); err != nil {
			return asked, f, err
		}
		return asked, f, readSeedSecret(ctx, api, asked, &f)
	}
}

// askedFor completes a spec by that of the cluster's SeedGenerator.
func askedFor(ctx context.Context, api kube.Client, asked lcav1.SeedGeneratorSpec) (lcav1.SeedGeneratorSpec, error) {
	if asked.SeedImage != "" {
		return asked, nil
	}
	var have lcav1.SeedGenerator
	err := api.Get(ctx, types.NamespacedName{Name: lcav1.SeedGeneratorName}, &have)
	if err == nil {
		return have.Spec, nil
	}
	if isAbsent(err) {
		return asked, nil
	}
	return asked, fmt.Errorf("read the SeedGenerator: %w", err)
}

// isAbsent says that an object, or its kind, is not there.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }

// readSeedSecret reads the credentials, and marks the checks that the agent alone makes.
func readSeedSecret(ctx context.Context, api kube.Client, asked lcav1.SeedGeneratorSpec, f *preflight.Facts) error {
	var secret corev1.Secret
	err := api.Get(ctx, types.NamespacedName{Namespace: operatorNamespace, Name: lcav1.SeedSecretName}, &secret)
	if kube.IgnoreNotFound(err) != nil {
		return fmt.Errorf("read Secret %s/%s: %w", operatorNamespace, lcav1.SeedSecretName, err)
	}
	f.SecretFound, f.Auth = err == nil, secret.Data[lcav1.SeedSecretAuthKey]
	const byAgent = "the agent checks this when the SeedGenerator is created"
	if f.HubGiven = len(secret.Data[lcav1.SeedSecretHubKey]) > 0; f.HubGiven {
		for _, check := range []string{
			preflight.CheckHubReachable, preflight.CheckHubIdentity, preflight.CheckHubOwner, preflight.CheckHubAddons,
		} {
			f.Unknown[check] = byAgent
		}
	}
	if asked.SigningSecret != "" {
		f.Unknown[preflight.CheckSigningKey] = byAgent
	}
	return nil
}
