package nm

import (
	"context"
	"slices"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// prepare plans; it touches nothing.
func (t *transaction) prepare(ctx context.Context) error {
	if err := t.ready(ctx); err != nil {
		return err
	}
	now, err := t.n.observe(ctx, t.c, t.snap)
	if err != nil {
		return err
	}
	p, err := plan(t.want, now, t.snap)
	if err != nil || len(p.changes) == 0 && p.global == nil {
		return err
	}
	t.changes, t.global = p.changes, p.global
	if err := kernelCan(t.changes); err != nil {
		return err
	}
	return t.begin(now)
}

// begin makes the journal's first record.
func (t *transaction) begin(now netstate.Document) error {
	t.record = &record{
		Version: journalVersion, Phase: phaseOpen, Began: t.n.o.Now(),
		After: join(t.want, netstate.Document{Routes: &netstate.Routes{}}),
	}
	if t.global != nil {
		t.record.GlobalOld, t.record.GlobalNew = &t.snap.global, t.global
	}
	k, err := readKernel()
	if err != nil {
		return err
	}
	var ifaces []string
	for _, c := range t.changes {
		d, _ := t.snap.device(c.iface)
		t.record.Profiles = append(t.record.Profiles, touched{
			UUID: c.uuid, Iface: c.iface, Wanted: c.action == actUp, Active: d.active != nil && d.active.uuid == c.uuid,
		})
		ifaces = append(ifaces, c.iface)
		t.keep(k, c)
		// What a new profile displaces has to come back with the old network.
		if d.active != nil && d.active.uuid != c.uuid {
			if _, ok := t.snap.activeOn(c.iface); ok {
				t.record.Profiles = append(t.record.Profiles, touched{UUID: d.active.uuid, Iface: c.iface, Active: true})
			}
		}
	}
	t.record.Before = before(now, ifaces)
	t.record.Old, err = t.n.keyfiles(t.record.uuids())
	return err
}

// keep notes what must be in place afterwards besides what the document says.
func (t *transaction) keep(k *kernel, c *change) {
	if c.action != actUp {
		return
	}
	// Without a profile nothing tells foreign from own: the document then decides alone.
	if was, ok := t.snap.activeOn(c.iface); ok {
		f := foreignOn(k, c.iface, was.settings)
		t.record.ForeignBefore = append(t.record.ForeignBefore, f)
		t.record.ForeignAfter = append(t.record.ForeignAfter, f.without(t.want))
	}
	promised := implied(c.iface, c.after)
	t.record.After = join(t.record.After, promised)
}

// join is both documents' demands in one.
func join(a, b netstate.Document) netstate.Document {
	out := a
	out.Interfaces = slices.Concat(a.Interfaces, b.Interfaces)
	out.Routes = &netstate.Routes{}
	if a.Routes != nil {
		out.Routes.Config = append(out.Routes.Config, a.Routes.Config...)
	}
	out.Routes.Config = append(out.Routes.Config, b.Routes.Config...)
	return out
}

func (r *record) uuids() []string {
	var out []string
	for _, p := range r.Profiles {
		out = appendNew(out, []string{p.UUID})
	}
	return out
}
