package ipam

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	admissionv1 "k8s.io/api/admission/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/kinds"
)

// OverlapsPath is the path of the webhook.
const OverlapsPath = "/validate-ippools"

// overlaps refuses a pool that overlaps another of its network, which neither the rules of the kind nor an admission policy can see.
// Two pools that are created at once are both admitted: the condition of the pool, and the locks, remain.
type overlaps struct {
	reader  client.Reader
	decoder admission.Decoder
}

// ServeOverlaps adds the webhook to a server. It reads past the cache.
func ServeOverlaps(server webhook.Server, reader client.Reader, scheme *runtime.Scheme) {
	server.Register(OverlapsPath, &webhook.Admission{Handler: &overlaps{reader, admission.NewDecoder(scheme)}})
}

// Handle judges a pool that is created or changed. A pool that cannot be calculated with is refused by other rules.
func (o *overlaps) Handle(ctx context.Context, q admission.Request) admission.Response {
	pool, before := &metal3.IPPool{}, &metal3.IPPool{}
	if err := o.decoder.Decode(q, pool); err != nil {
		return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the pool: %w", err))
	}
	spec, err := kinds.Spec(pool)
	if err != nil {
		return admission.Allowed("")
	}
	var was *ipam.Spec
	if q.Operation == admissionv1.Update {
		if err := o.decoder.DecodeRaw(q.OldObject, before); err != nil {
			return admission.Errored(http.StatusBadRequest, fmt.Errorf("read the pool as it was: %w", err))
		}
		if equality.Semantic.DeepEqual(pool.Spec, before.Spec) {
			return admission.Allowed("")
		}
		if old, err := kinds.Spec(before); err == nil {
			was = &old
		}
	}
	answer := o.comparePools(ctx, client.ObjectKey{Namespace: q.Namespace, Name: q.Name}, spec, was)
	if !answer.Allowed {
		return answer
	}
	return o.judgeLeased(ctx, answer, pool, spec, was)
}

// judgeLeased compares a pool with what the cluster leases. A pool that names no network is admitted with a warning: the same
// addresses may be on another network.
func (o *overlaps) judgeLeased(
	ctx context.Context, answer admission.Response, pool *metal3.IPPool, spec ipam.Spec, was *ipam.Spec,
) admission.Response {
	leased, _, err := readLeased(ctx, o.reader)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	certain, conflict := leasedMeets(spec, pool, leased)
	switch {
	case conflict == nil:
		return answer
	case certain && (was == nil || kinds.Meets(*was, leased) == nil):
		return admission.Denied(conflict.Error() + ": an address would be leased and allocated at once")
	}
	return answer.WithWarnings(conflict.Error() + "; if that is another network, name it in spec.network")
}

// comparePools compares a pool with the others. A conflict that existed before is admitted with a warning, so that it can be corrected in
// steps.
func (o *overlaps) comparePools(ctx context.Context, name client.ObjectKey, spec ipam.Spec, was *ipam.Spec) admission.Response {
	list := &metal3.IPPoolList{}
	if err := o.reader.List(ctx, list); err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("list pools: %w", err))
	}
	tenancy := tenancyOf(spec.Network, list)
	if err := tenancy.Refusal(name.Namespace); err != nil && was == nil {
		return admission.Denied(fmt.Sprintf("pool %s: %v", name, err))
	}
	answer := admission.Allowed("")
	for i := range list.Items {
		p := &list.Items[i]
		other, err := kinds.Spec(p)
		if err != nil || client.ObjectKeyFromObject(p) == name || p.DeletionTimestamp != nil ||
			other.Network == spec.Network && tenancy.Refusal(p.Namespace) != nil {
			continue
		}
		meeting := ipam.Conflicts(spec, other)
		switch {
		case onNamespaceNetworks(spec, other):
			if elsewhere := acrossNamespaces(spec, other); elsewhere != nil {
				answer = answer.WithWarnings(elsewhere.Error() +
					"; if the namespaces share a network, name it in spec.network of both pools")
			}
		case meeting == nil:
		case was != nil && ipam.Conflicts(*was, other) != nil:
			answer = answer.WithWarnings(meeting.Error())
		default:
			return admission.Denied(meeting.Error() + "; give it other addresses or, if these are two networks, another spec.network")
		}
	}
	return answer
}

// tenancyOf is who may use a network now.
func tenancyOf(network string, list *metal3.IPPoolList) kinds.Tenancy {
	pools := make([]*metal3.IPPool, len(list.Items))
	for i := range list.Items {
		pools[i] = &list.Items[i]
	}
	return kinds.TenancyOf(network, pools)
}

// onNamespaceNetworks says that two pools are on the networks of two namespaces, which may be one network all the same.
func onNamespaceNetworks(a, b ipam.Spec) bool {
	ofNamespace := func(s ipam.Spec) bool {
		namespace, _, _ := strings.Cut(s.Name, "/")
		return s.Network == metal3.NamespaceNetwork(namespace)
	}
	return a.Network != b.Network && ofNamespace(a) && ofNamespace(b)
}

func acrossNamespaces(a, b ipam.Spec) error {
	a.Network, b.Network = "", ""
	return ipam.Conflicts(a, b)
}
