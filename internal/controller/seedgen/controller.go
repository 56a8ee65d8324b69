// Package seedgen reconciles the one SeedGenerator of the cluster.
//
//	observe -> decide and act -> report
//
// observe.go reads the record on the node, lca-cli's journal and its unit. check.go accepts a generation and makes the checks;
// hub.go detaches the cluster and gives it back; image.go hands the request to lca-cli and follows it; decide.go is the table
// of the phases. report.go computes status, which is written with one patch and only if it changed.
//
// The record on the node says where a generation stands: the agent may die, and the API be away, at any moment. The cluster's
// own objects are never changed: what must not be in an image, lca-cli removes from the copy that it makes the image from.
package seedgen

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube/runtimeclient"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/nodejob"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/singleton"
)

// Namespace is the agent's, where the Secrets are.
const Namespace = "openshift-lifecycle-agent"

// kind is that of the one SeedGenerator. Its observedGeneration says which generation was accepted.
var kind = singleton.Kind[lcav1.SeedGenerator, *lcav1.SeedGenerator]{
	Kind: "SeedGenerator", Name: lcav1.SeedGeneratorName,
	Conditions: func(sg *lcav1.SeedGenerator) *[]metav1.Condition { return &sg.Status.Conditions },
}

// Reconciler reconciles the one SeedGenerator. It reconciles one at a time.
type Reconciler struct {
	// Client writes; Reader reads past any cache.
	Client client.Client
	Reader client.Reader
	// ReadSecret reads a Secret of the agent's namespace; AsAccount makes one.
	ReadSecret func(ctx context.Context, name string) (*corev1.Secret, error)
	Log        *slog.Logger

	Node    Node
	Metrics *Metrics

	// Now is the clock, Random the source of operation ids.
	Now    func() time.Time
	Random func() uint16

	// InstallCLI puts the agent's lca-cli on the node; nil leaves the node's own.
	InstallCLI nodejob.Installer
	// Hub connects to the hub of a kubeconfig and names its server.
	Hub func(kubeconfig []byte) (hub client.Client, server string, err error)

	imaging, aborting, fetching nodejob.Backoff
	published                   publisher
}

// ConnectHub connects to the hub of a kubeconfig.
func ConnectHub(kubeconfig []byte) (client.Client, string, error) {
	config, err := cluster.HubConfig(kubeconfig)
	if err != nil {
		return nil, "", fmt.Errorf("read the hub's kubeconfig: %w", err)
	}
	hub, err := client.New(config, client.Options{Scheme: runtime.NewScheme()})
	if err != nil {
		return nil, config.Host, fmt.Errorf("connect to the hub %s: %w", config.Host, err)
	}
	return hub, config.Host, nil
}

// Reconcile observes, takes the next step, and reports.
func (r *Reconciler) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	sg, err := kind.Get(ctx, r.Reader)
	if err != nil {
		return reconcile.Result{}, err
	}
	o, err := r.observeNode(ctx)
	if err != nil {
		r.publishEvent(ctx, sg, singleton.ObservationFailed(err, r.Now()))
		return reconcile.Result{}, errors.Join(fmt.Errorf("observe the node: %w", err),
			kind.ReportUnobserved(ctx, r.Client, sg, err, r.Now()))
	}
	if sg == nil && o.record == nil {
		return reconcile.Result{}, nil
	}
	if other, err := r.otherAgent(ctx, o); other != "" || err != nil {
		if err == nil {
			r.publishEvent(ctx, sg, kind.OtherAgent(other, r.Now()))
		}
		return reconcile.Result{RequeueAfter: whileWaiting}, err
	}
	out, err := r.decideStep(ctx, sg, &o)
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := r.reportStatus(ctx, sg, o, out); apierrors.IsConflict(err) {
		return reconcile.Result{RequeueAfter: onward}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	return reconcile.Result{RequeueAfter: out.again}, nil
}

// otherAgent names an agent of OpenShift's catalog, which serves a SeedGenerator of the same name. A generation that is on the
// node is brought to its end all the same.
func (r *Reconciler) otherAgent(ctx context.Context, o observation) (string, error) {
	if o.record != nil {
		return "", nil
	}
	return cluster.OtherAgent(ctx, runtimeclient.NewReader(r.Reader))
}

// consumeAnnotation removes an annotation that is a request.
func (r *Reconciler) consumeAnnotation(ctx context.Context, sg *lcav1.SeedGenerator, annotation string) error {
	if _, set := sg.Annotations[annotation]; !set {
		return nil
	}
	base := sg.DeepCopy()
	delete(sg.Annotations, annotation)
	if err := r.Client.Patch(ctx, sg, client.MergeFrom(base)); err != nil {
		return fmt.Errorf("remove annotation %s of seedgenerator %s: %w", annotation, sg.Name, err)
	}
	return nil
}

// SetupWithManager runs the controller.
func (r *Reconciler) SetupWithManager(mgr ctrl.Manager) error {
	if err := kind.NewController(mgr, "seedgen").Complete(r); err != nil {
		return fmt.Errorf("set up the seedgen controller: %w", err)
	}
	return nil
}
