package hostnet

import (
	"cmp"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/lifecycle-agent/lifecycle-agent/internal/ipam/hostnet"
)

// Hosts of one MachineSet may have other cards, in other places. A role names an interface by what it is for, and each host says
// which of its own that is: in an annotation, or in the data of its inspection.

// RolesAnnotation, on a BareMetalHost, says which of its interfaces has which role: storage=52:54:00:00:00:01,backup=ens5.
const RolesAnnotation = "ipam.lca.openshift.io/interface-roles"

// rolePrefix distinguishes a role from the name of an interface.
const rolePrefix = "role:"

// nic is an interface of a host as its inspection found it.
type nic struct {
	name, mac string
	pxe       bool
	speed     int64
	vlans     []int64
}

// nicsOf reads the inspection of a host. An interface is listed there once for each of its addresses.
func nicsOf(h *unstructured.Unstructured) (out []nic) {
	list, _, _ := unstructured.NestedSlice(h.Object, "status", "hardware", "nics")
	for _, item := range list {
		m, ok := item.(map[string]any)
		if !ok {
			continue
		}
		n := nic{}
		n.name, _, _ = unstructured.NestedString(m, "name")
		n.mac, _, _ = unstructured.NestedString(m, "mac")
		n.mac = strings.ToLower(n.mac)
		n.pxe, _, _ = unstructured.NestedBool(m, "pxe")
		n.speed, _, _ = unstructured.NestedInt64(m, "speedGbps")
		n.vlans = vlansOf(m)
		if !slices.ContainsFunc(out, func(known nic) bool { return known.mac == n.mac && known.name == n.name }) {
			out = append(out, n)
		}
	}
	slices.SortStableFunc(out, func(a, b nic) int { return compareNames(a.name, b.name) })
	return out
}

// vlansOf are the VLANs that the switch announced on an interface.
func vlansOf(m map[string]any) (out []int64) {
	if id, _, _ := unstructured.NestedInt64(m, "vlanId"); id != 0 {
		out = append(out, id)
	}
	vlans, _, _ := unstructured.NestedSlice(m, "vlans")
	for _, v := range vlans {
		if m, ok := v.(map[string]any); ok {
			if id, _, _ := unstructured.NestedInt64(m, "id"); id != 0 {
				out = append(out, id)
			}
		}
	}
	return out
}

// compareNames orders names of interfaces as people number them: ens9 before ens10.
func compareNames(a, b string) int {
	lead := func(s string) (string, int) {
		text := strings.TrimRight(s, "0123456789")
		n, _ := strconv.Atoi(s[len(text):])
		return text, n
	}
	textA, numberA := lead(a)
	textB, numberB := lead(b)
	return cmp.Or(cmp.Compare(textA, textB), cmp.Compare(numberA, numberB), cmp.Compare(a, b))
}

// interfaceOf finds the interface that a link names on a host. Without a host, or where its inspection does not know the interface, it
// is what the link says; a role cannot be found then.
func (h *host) interfaceOf(l link) (nic, error) {
	role, isRole := strings.CutPrefix(l.name, rolePrefix)
	switch {
	case !isRole && h == nil:
		return asNamed(l.name), nil
	case !isRole:
		return h.interfaceNamed(l.name), nil
	case h == nil:
		return nic{}, fmt.Errorf("role %s: no host is known yet", role)
	}
	if name := h.roles[role]; name != "" {
		return h.interfaceNamed(name), nil
	}
	return h.inRole(role)
}

// asNamed is an interface of which its name is known, or its MAC address.
func asNamed(name string) nic {
	if _, err := net.ParseMAC(name); err == nil {
		return nic{mac: strings.ToLower(name)}
	}
	return nic{name: name}
}

func (h *host) interfaceNamed(name string) nic {
	for _, n := range h.nics {
		if n.name == name || strings.EqualFold(n.mac, name) {
			return n
		}
	}
	return asNamed(name)
}

// inRole finds the one interface whose inspection fits a role: pxe, nic-N, speed-G or vlan-ID.
func (h *host) inRole(role string) (nic, error) {
	kind, text, _ := strings.Cut(role, "-")
	number, err := strconv.ParseInt(text, 10, 64)
	secondary := slices.DeleteFunc(slices.Clone(h.nics), func(n nic) bool { return n.pxe })
	var fit []nic
	switch {
	case role == "pxe":
		fit = slices.DeleteFunc(slices.Clone(h.nics), func(n nic) bool { return !n.pxe })
	case kind == "nic" && err == nil:
		if number >= 1 && number <= int64(len(secondary)) {
			fit = secondary[number-1 : number]
		}
	case kind == "speed" && err == nil:
		fit = slices.DeleteFunc(secondary, func(n nic) bool { return n.speed != number })
	case kind == "vlan" && err == nil:
		fit = slices.DeleteFunc(secondary, func(n nic) bool { return !slices.Contains(n.vlans, number) })
	}
	switch len(fit) {
	case 1:
		return fit[0], nil
	case 0:
		return nic{}, fmt.Errorf("host %s has no interface of role %s: name it in annotation %s of the BareMetalHost, "+
			"for example %s=52:54:00:00:00:01", h.NamespacedName, role, RolesAnnotation, role)
	}
	return nic{}, fmt.Errorf("interfaces %s and %s of host %s both fit role %s: name one in annotation %s of the BareMetalHost",
		fit[0].name, fit[1].name, h.NamespacedName, role, RolesAnnotation)
}

// rolesOf reads the annotation of a host.
func rolesOf(h *unstructured.Unstructured) map[string]string {
	out := map[string]string{}
	for part := range strings.SplitSeq(h.GetAnnotations()[RolesAnnotation], ",") {
		if role, name, found := strings.Cut(part, "="); found {
			out[strings.TrimSpace(role)] = strings.TrimSpace(name)
		}
	}
	return out
}

// asLink is where an address is configured. A profile finds an interface by what its owner named it by; for a role that is the MAC
// address, since names differ from host to host. A tagged interface needs the name of the one below it.
func (l link) asLink(n nic, tagged bool) hostnet.Link {
	switch _, err := net.ParseMAC(l.name); {
	case tagged && n.name != "" && (err == nil || strings.HasPrefix(l.name, rolePrefix)):
		return hostnet.Link{Name: n.name, MAC: n.mac}
	case err == nil || strings.HasPrefix(l.name, rolePrefix) && n.mac != "":
		return hostnet.Link{MAC: n.mac}
	}
	return hostnet.Link{Name: n.name}
}
