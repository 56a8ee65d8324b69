package recert

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// planner turns what a survey found into a plan.
type planner struct {
	*inspect.Survey
	ports Ports
	plan  *Plan
	// made are the PEM texts of new keys, by place; holders the objects and files with such a place.
	made    map[string]string
	tokens  *resigner
	holders map[string]bool
}

// buildPlan reads the store and the disk and works out everything; it writes nothing.
func buildPlan(ctx context.Context, ports Ports, cfg config.Config, store host.OpenKeystore, record config.Record) (*Plan, error) {
	s, err := inspect.NewSurvey(ctx, cfg, store, ports.Clock())
	if err != nil {
		return nil, fmt.Errorf("survey the cluster: %w", err)
	}
	s.Record, s.PKI.All = record, cfg.ReissuesTrees()
	if err := s.Read(ctx, store, ports.Files); err != nil {
		return nil, fmt.Errorf("survey the cluster: %w", err)
	}
	if err := s.ReadReturning(ctx, store); err != nil {
		return nil, fmt.Errorf("find what brings an old address back: %w", err)
	}
	p := &planner{Survey: s, ports: ports, plan: &Plan{Addresses: s.Mapping.Changes()},
		made: map[string]string{}, holders: map[string]bool{}}
	if !s.Mapping.Node.Empty() {
		p.plan.Node = &s.Mapping.Node
	}
	if !s.Mapping.Cluster.Empty() {
		p.plan.Cluster = &s.Mapping.Cluster
	}
	err = p.completePlan()
	p.plan.Warnings = append(p.plan.Warnings, s.Returning()...)
	p.plan.Changes, p.plan.Kept, p.plan.Leftovers, p.plan.NotRead = s.Changes, s.Kept, s.Leftovers, s.NotRead
	return p.plan, err
}

// completePlan works out the writes, unless something blocks the plan.
func (p *planner) completePlan() error {
	p.blockUnworkable()
	if err := p.planServerKeys(); err != nil {
		return fmt.Errorf("plan SSH host keys: %w", err)
	}
	if len(p.plan.Blocked) > 0 {
		return nil
	}
	p.plan.members = p.Members
	if err := p.planNodes(); err != nil {
		return err
	}
	if err := p.reissueAll(); err != nil {
		return fmt.Errorf("re-issue certificates: %w", err)
	}
	if err := p.assembleWrites(); err != nil {
		return fmt.Errorf("plan the writes: %w", err)
	}
	if p.Config.Defragment {
		p.plan.defrag = true
		p.AddChange(inspect.Defragment, "etcd", "compacts its history and reclaims the space")
	}
	return nil
}

// reissueAll signs again what the change reaches.
func (p *planner) reissueAll() error {
	if p.Config.ReissuesTrees() {
		return p.reissueTrees()
	}
	return p.reissueLeaves()
}

// planNodes rewrites the addresses in the Node objects that carry an old one: labels, taints and annotations are the
// administrator's, and the kubelet does not bring them back. A renamed node is deleted, and registers under its new name.
func (p *planner) planNodes() error {
	for _, n := range p.Nodes {
		if p.Mapping.Node.OwnsKey(n.Key) {
			p.plan.nodes = append(p.plan.nodes, host.Edit{Key: n.Key, Delete: true, ModRevision: n.ModRevision})
			continue
		}
		if p.Record.Settled(n.Key, n.Value) {
			continue
		}
		o, err := wire.NewObject(n.KeyValue)
		if err != nil {
			return fmt.Errorf("read %s: %w", n.Key, err)
		}
		err = o.Edit(func(_ []string, text string) (string, bool) {
			to := p.Mapping.Text(text)
			return to, to != text
		})
		if err != nil {
			return fmt.Errorf("rewrite the addresses of %s: %w", n.Key, err)
		}
		if o.Changed {
			p.plan.nodes = append(p.plan.nodes, host.Edit{Key: n.Key, Value: o.Value, ModRevision: n.ModRevision})
		}
	}
	return nil
}

func (p *planner) addBlocked(where, why string) {
	p.plan.Blocked = append(p.plan.Blocked, inspect.Note{Where: where, Why: why})
}

// blockUnworkable blocks a plan that cannot be carried out as asked.
func (p *planner) blockUnworkable() {
	p.refuseUnknownAddresses()
	for _, n := range p.UnreadResources() {
		p.addBlocked(n.Where, n.Why)
	}
	p.refuseMissingObjects()
	for _, u := range p.PKI.Unread {
		if rules.IsEssential(u.At) {
			p.addBlocked(u.At.Where, u.String())
		} else {
			p.Keep(u.At.Where, u.String())
		}
	}
}

// refuseUnknownAddresses blocks a plan where no Node and no rule says what a new address replaces, unless etcd's member has the new
// address already: then an earlier run has finished.
func (p *planner) refuseUnknownAddresses() {
	if len(p.Nodes) > 0 {
		return
	}
	for _, fresh := range p.Config.IPs {
		known := slices.ContainsFunc(p.Config.Replace, func(c replace.Address) bool { return c.Old.Is4() == fresh.Is4() })
		for _, text := range p.Peers {
			at, err := netip.ParseAddrPort(strings.TrimPrefix(text, "https://"))
			if !known && err == nil && at.Addr().Is4() == fresh.Is4() && at.Addr() != fresh {
				const why = "is at %s, and no Node says whether %s replaces it: list both in cn_san_replace_rules"
				p.addBlocked(config.MemberLocation, fmt.Sprintf(why, at.Addr(), fresh))
			}
		}
	}
}

// refuseMissingObjects blocks a plan with a setting whose object does not exist. Machine networks are only noted: a cluster without an
// install-config works without them.
func (p *planner) refuseMissingObjects() {
	missing := func(name, setting string) {
		p.addBlocked(rules.StoragePrefix+name, setting+" is written here, and the object does not exist")
	}
	for _, r := range rules.ObjectRules() {
		if r.Setting != "" && r.Wanted(p.Config) && !p.Seen[r.Keys] {
			missing(r.Keys, r.Setting)
		}
	}
	if ca := p.Config.TrustedCA; ca != nil && !p.Seen["configmaps/openshift-config/"+ca.Name] {
		missing("configmaps/openshift-config/"+ca.Name, "proxy_trusted_ca_bundle")
	}
	if len(p.Config.MachineNetworks) > 0 && !p.Seen[rules.InstallConfig] {
		p.Keep("machine_network_cidr", "has no effect: the cluster has no install-config")
	}
	if p.Config.Chrony != "" && !p.Seen[rules.ChronyFile] {
		p.addBlocked(rules.ChronyFile, "chrony_config is written here, and the file does not exist")
	}
}
