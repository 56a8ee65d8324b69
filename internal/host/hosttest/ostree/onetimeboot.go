package ostree

import (
	"context"
	"errors"
	"fmt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// once is what the node's boot loader starts at one boot only. It is durable at once.
type once struct {
	usable, installed bool
	chosen            *host.Deployment
}

// takeChoice is the deployment that starts at this boot instead of the default.
func (o *once) takeChoice(all []host.Deployment) (host.Deployment, bool) {
	if o.chosen == nil {
		return host.Deployment{}, false
	}
	d, found := host.Find(all, *o.chosen)
	o.chosen = nil
	d.Index, d.Default, d.Booted = 0, false, false
	return d, found
}

// BootsOnce says whether the node's boot loader can start a deployment once.
func (n *Sysroot) BootsOnce(can bool) {
	n.Lock()
	defer n.Unlock()
	n.once.usable = can
}

// OneTimeBoot is the node's host.OneTimeBoot.
func (n *Sysroot) OneTimeBoot() host.OneTimeBoot { return oneTimeBoot{n} }

type oneTimeBoot struct{ n *Sysroot }

func (b oneTimeBoot) Usable(context.Context) error {
	b.n.Enter()
	defer b.n.Unlock()
	return b.checkUsable()
}

func (b oneTimeBoot) checkUsable() error {
	if !b.n.once.usable {
		return errors.New("the boot loader of this node starts nothing once")
	}
	return nil
}

func (b oneTimeBoot) Install(context.Context) error {
	b.n.Enter()
	defer b.n.Unlock()
	if err := b.checkUsable(); err != nil {
		return err
	}
	if err := b.n.Change("onetimeboot.install", ""); err != nil {
		return err
	}
	b.n.once.installed, b.n.once.chosen = true, nil
	return nil
}

func (b oneTimeBoot) ChooseOnce(_ context.Context, d host.Deployment) error {
	b.n.Enter()
	defer b.n.Unlock()
	found, ok := host.Find(b.n.list(), d)
	if !ok || !b.n.once.installed {
		return fmt.Errorf("have deployment %s of stateroot %s start once: it is not deployed, or nothing is installed for it", d.ID(), d.Stateroot)
	}
	if err := b.n.Change("onetimeboot.choose", d.Stateroot); err != nil {
		return err
	}
	b.n.once.chosen = &found
	return nil
}

func (b oneTimeBoot) ChosenOnce(context.Context) (host.Deployment, bool, error) {
	b.n.Enter()
	defer b.n.Unlock()
	if b.n.once.chosen == nil {
		return host.Deployment{}, false, nil
	}
	d, found := host.Find(b.n.list(), *b.n.once.chosen)
	return d, found, nil
}

func (b oneTimeBoot) Uninstall(context.Context) error {
	b.n.Enter()
	defer b.n.Unlock()
	if b.n.once.chosen != nil {
		if err := b.n.Change("onetimeboot.clear", ""); err != nil {
			return err
		}
		b.n.once.chosen = nil
	}
	if b.n.once.installed {
		if err := b.n.Change("onetimeboot.remove", ""); err != nil {
			return err
		}
		b.n.once.installed = false
	}
	return nil
}
