package ipconfig

import (
	"context"
	"net/netip"
	"path"
	"slices"
	"strings"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// facts are gathered from cluster and node. A cluster that does not answer leaves its checks unknown.
func (n Node) facts(ctx context.Context, stateroot string, now netstate.Document) Facts {
	f, err := n.Cluster.Facts(ctx)
	if err != nil {
		f = Facts{ControlPlaneNodes: 1, DnsmasqMachineConfig: true}
		for _, a := range presentAddresses(n.Files) {
			if a.Is4() {
				f.Current.IPv4 = &lcav1.IPStatus{Address: a.String()}
			} else {
				f.Current.IPv6 = &lcav1.IPStatus{Address: a.String()}
			}
		}
	}
	f.Current.Describe(now)
	if filter, err := n.Resolver.Filter(); err == nil {
		f.Current.FilterFamily = lcav1.DNSFilterFamily(filter)
	}
	n.surveyor().Look(ctx, stateroot, &f)
	if roots, err := n.Deployments.Stateroots(ctx); err == nil {
		f.LeftoverStateroots = slices.DeleteFunc(roots, func(root string) bool {
			return root == stateroot || !strings.HasPrefix(root, StaterootPrefix)
		})
	}
	if err != nil {
		for _, check := range []string{CheckSingleNode, CheckDnsmasq, CheckOverlap, CheckProxy} {
			f.Unknown[check] = "the cluster does not answer: " + err.Error()
		}
	}
	return f
}

func (n Node) surveyor() Surveyor {
	return Surveyor{Files: n.Files, Disk: n.Trees, Deployments: n.Deployments, Prober: n.Prober, Now: n.Clock.Now}
}

func allSteps() (out []PreviewStep) {
	for _, plan := range []flow.Plan{(&PrePivot{}).Plan(), (&PostPivot{}).Plan()} {
		for _, s := range plan.Steps {
			out = append(out, PreviewStep{Flow: plan.Name, Name: s.Name, Title: s.Title})
		}
	}
	return out
}

// presentAddresses is what nodeip-configuration chose at boot.
func presentAddresses(files host.Files) (out []netip.Addr) {
	dir := path.Dir(host.PrimaryIP)
	for _, name := range []string{"primary-ip", "ipv4", "ipv6"} {
		data, err := files.Read(path.Join(dir, name))
		if err != nil {
			continue
		}
		if a, err := netip.ParseAddr(trim(data)); err == nil {
			out = append(out, a)
		}
	}
	return out
}

func addressChanges(r Request, now []netip.Addr) (out []string) {
	families, err := r.Families()
	if err != nil {
		return nil
	}
	for _, f := range families {
		old, ok := sameFamily(now, f.Address)
		switch {
		case !ok:
			out = append(out, "? -> "+f.Address.String())
		case old != f.Address:
			out = append(out, old.String()+" -> "+f.Address.String())
		}
	}
	return out
}
