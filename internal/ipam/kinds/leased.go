package kinds

import (
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam"
)

// ProvisioningNetwork is the name of the network on which the cluster itself leases addresses: a pool that names it is on the network
// of the cluster's Provisioning object, or of metal3's DHCP_RANGE.
const ProvisioningNetwork = "provisioning"

// ProvisioningKind is OpenShift's kind that says what its metal3 leases.
func ProvisioningKind() schema.GroupVersionKind {
	return schema.GroupVersionKind{Group: "metal3.io", Version: "v1alpha1", Kind: "Provisioning"}
}

// ProvisioningName is the one object of the kind.
const ProvisioningName = "provisioning-configuration"

// dhcpRangeKey is where metal3's own ConfigMap has the range of its dnsmasq.
const dhcpRangeKey = "DHCP_RANGE"

// Leased are addresses that the cluster's metal3 leases, or has itself.
type Leased struct {
	// What names the range in sentences.
	What  string
	Range netipx.IPRange
}

// LeasedByProvisioning reads what a Provisioning object has dnsmasq lease. A network that the cluster does not manage is leased by
// another server, which this object does not know.
func LeasedByProvisioning(o *unstructured.Unstructured) (out []Leased, err error) {
	field := func(name string) string {
		text, _, _ := unstructured.NestedString(o.Object, "spec", name)
		return strings.TrimSpace(text)
	}
	if mode := field("provisioningNetwork"); mode != "" && mode != "Managed" {
		return nil, nil
	}
	of := "Provisioning " + o.GetName()
	if text := field("provisioningDHCPRange"); text != "" {
		r, err := dhcpRange(text)
		if err != nil {
			return nil, fmt.Errorf("%s: provisioningDHCPRange: %w", of, err)
		}
		network, err := netip.ParsePrefix(field("provisioningNetworkCIDR"))
		if err == nil && (!network.Contains(r.From()) || !network.Contains(r.To())) {
			return nil, fmt.Errorf("%s: provisioningDHCPRange %s leaves provisioningNetworkCIDR %s", of, r, network)
		}
		out = append(out, Leased{"DHCP range " + r.String() + " of " + of, r})
	}
	if a, err := ipam.ParseAddr(field("provisioningIP")); err == nil {
		out = append(out, Leased{"provisioningIP " + a.String() + " of " + of, netipx.IPRangeFrom(a, a)})
	}
	return out, nil
}

// LeasedByConfigMap reads DHCP_RANGE of metal3's ConfigMap: first and last address, and more that does not matter here.
func LeasedByConfigMap(o *corev1.ConfigMap) ([]Leased, error) {
	text := strings.TrimSpace(o.Data[dhcpRangeKey])
	if text == "" {
		return nil, nil
	}
	of := "ConfigMap " + o.Namespace + "/" + o.Name
	r, err := dhcpRange(text)
	if err != nil {
		return nil, fmt.Errorf("%s: %s: %w", of, dhcpRangeKey, err)
	}
	return []Leased{{dhcpRangeKey + " " + r.String() + " of " + of, r}}, nil
}

func dhcpRange(text string) (netipx.IPRange, error) {
	parts := strings.Split(text, ",")
	if len(parts) < 2 {
		return netipx.IPRange{}, fmt.Errorf("%q is not of the form first,last", text)
	}
	return ipam.ParseSpan(strings.TrimSpace(parts[0]) + "-" + strings.TrimSpace(parts[1]))
}

// Meets says where the ranges of a pool meet what is leased.
func Meets(s ipam.Spec, leased []Leased) error {
	for _, b := range ipam.Bounds(s) {
		for _, l := range leased {
			if b.Overlaps(l.Range) {
				return fmt.Errorf("pool %s: range %s overlaps %s", s.Name, b, l.What)
			}
		}
	}
	return nil
}
