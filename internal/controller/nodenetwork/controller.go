// Package nodenetwork publishes what the network of a node is like as its NodeNetworkState.
//
// It observes when the node reports a change, and writes only if the observation differs from what is published: counters,
// timers and lifetimes are no difference. controllers.go sets it up in the node role. It imports the network ports and
// netstate, and no adapter.
package nodenetwork

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/internal/latest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Network is what the publisher needs of the node.
type Network interface {
	Observe(ctx context.Context) (netstate.Document, error)
	Changes(ctx context.Context) (<-chan struct{}, error)
}

// Publisher reconciles the NodeNetworkState of its own node.
type Publisher struct {
	// Client writes; Cache holds the metadata of the Node and its state; Reader reads past the cache.
	Client client.Client
	Cache  client.Reader
	Reader client.Reader
	Log    *slog.Logger

	NodeName string
	Network  Network
	// Version of this program; ManagerVersion reads the version of the node's NetworkManager and may be nil.
	Version        string
	ManagerVersion func(ctx context.Context) (string, error)
	Now            func() time.Time
	Metrics        *Metrics

	// published is the content written last, into the object of that UID at that resource version.
	published       []byte
	uid             types.UID
	resourceVersion string
}

// Reconcile publishes the network if it differs from what is published.
func (p *Publisher) Reconcile(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
	node, err := p.getMetadata(ctx, caches.NodeMetadata())
	if node == nil || err != nil {
		return reconcile.Result{}, err // the Node's creation calls again
	}
	object, err := p.getMetadata(ctx, caches.StateMetadata())
	if err != nil {
		return reconcile.Result{}, err
	}
	began := p.Now()
	now, err := p.Network.Observe(ctx)
	if err != nil {
		return reconcile.Result{}, fmt.Errorf("observe the network: %w", err)
	}
	content, trimmed, err := Content(now.WithHops())
	if err != nil {
		return reconcile.Result{}, err
	}
	if err := p.publishContent(ctx, node, object, content); latest.IsRefusal(err) {
		p.uid = ""
		return reconcile.Result{RequeueAfter: retryPause}, nil
	} else if err != nil {
		return reconcile.Result{}, err
	}
	p.Metrics.countObservation(p.Now().Sub(began), len(now.Interfaces), len(content), trimmed)
	return reconcile.Result{}, nil
}

// retryPause lets the cache take in what another client, or this one, wrote.
const retryPause = 200 * time.Millisecond

func (p *Publisher) getMetadata(ctx context.Context, m *metav1.PartialObjectMetadata) (*metav1.PartialObjectMetadata, error) {
	kind := m.Kind
	err := p.Cache.Get(ctx, client.ObjectKey{Name: p.NodeName}, m)
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("get %s %s: %w", kind, p.NodeName, err)
	}
	return m, nil
}

// publishContent writes content unless the object has it.
func (p *Publisher) publishContent(ctx context.Context, node, object *metav1.PartialObjectMetadata, content []byte) error {
	if object == nil {
		return p.createState(ctx, node, content)
	}
	if p.uid != object.UID || !latest.IsOlder(object.ResourceVersion, p.resourceVersion) && object.ResourceVersion != p.resourceVersion {
		if err := p.readPublished(ctx, content); err != nil {
			return err
		}
	}
	if bytes.Equal(p.published, content) {
		return nil
	}
	return p.writeContent(ctx, content)
}

// createState makes the object, owned by the Node: it goes with it.
func (p *Publisher) createState(ctx context.Context, node *metav1.PartialObjectMetadata, content []byte) error {
	state := &nmstatev1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{
		Name: p.NodeName,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: corev1.SchemeGroupVersion.String(), Kind: "Node", Name: node.Name, UID: node.UID,
		}},
	}}
	if err := p.Client.Create(ctx, state); err != nil {
		return fmt.Errorf("create NodeNetworkState %s: %w", p.NodeName, err)
	}
	p.rememberPublished(state, nil)
	return p.writeContent(ctx, content)
}

// readPublished reads what is published, once after a start and after a write by another client.
func (p *Publisher) readPublished(ctx context.Context, content []byte) error {
	state := &nmstatev1beta1.NodeNetworkState{}
	if err := p.Reader.Get(ctx, client.ObjectKey{Name: p.NodeName}, state); err != nil {
		return fmt.Errorf("get NodeNetworkState %s: %w", p.NodeName, err)
	}
	p.rememberPublished(state, nil)
	if state.Status.CurrentState != nil && bytes.Equal(canonicalJSON(state.Status.CurrentState.Raw), canonicalJSON(content)) {
		p.published = content
	}
	return nil
}

// writeContent patches the status. The time moves with the content only.
func (p *Publisher) writeContent(ctx context.Context, content []byte) error {
	status := map[string]any{
		"currentState":             json.RawMessage(content),
		"lastSuccessfulUpdateTime": metav1.NewTime(p.Now()).Rfc3339Copy(),
		"handlerNmstateVersion":    p.Version,
	}
	if p.ManagerVersion != nil {
		if version, err := p.ManagerVersion(ctx); err == nil {
			status["hostNetworkManagerVersion"] = version
		}
	}
	// A merge patch would keep keys that are gone: the content is replaced as a whole.
	patch, err := json.Marshal([]map[string]any{
		{"op": "test", "path": "/metadata/uid", "value": p.uid},
		{"op": "add", "path": "/status", "value": status},
	})
	if err != nil {
		return fmt.Errorf("encode the state of node %s: %w", p.NodeName, err)
	}
	state := &nmstatev1beta1.NodeNetworkState{ObjectMeta: metav1.ObjectMeta{Name: p.NodeName}}
	if err := p.Client.Status().Patch(ctx, state, client.RawPatch(types.JSONPatchType, patch)); err != nil {
		return fmt.Errorf("publish the network of node %s (%d bytes): %w", p.NodeName, len(content), err)
	}
	p.rememberPublished(state, content)
	p.Metrics.countWrite()
	p.Log.Info("network published", "node", p.NodeName, "bytes", len(content))
	return nil
}

func (p *Publisher) rememberPublished(state *nmstatev1beta1.NodeNetworkState, content []byte) {
	p.uid, p.resourceVersion, p.published = state.UID, state.ResourceVersion, content
}

// canonicalJSON returns JSON with sorted keys: the API server sorts them.
func canonicalJSON(raw []byte) []byte {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return nil
	}
	out, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return out
}
