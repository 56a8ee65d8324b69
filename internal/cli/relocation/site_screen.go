package relocation

import (
	"context"
	"io"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/screen"
)

// screenPause lies between two looks at the node: its network comes up after the page and changes, and so do its steps.
const screenPause = 2 * time.Second

// blank moves what was on the console before out of sight. No terminal needs to be known for it.
var blank = strings.Repeat("\n", 60)

// console is the node's screen: what the node does, how it ended, and how its page is opened.
type console struct {
	to io.Writer
	// keep has a result stay after the page has closed; an empty text ends that.
	keep func(text string) error
	log  *slog.Logger
	site portal.Site

	mu    sync.Mutex
	view  screen.View
	shown string
	// kept is what stays; nil where an earlier program may have left something.
	kept *string
}

// updateView alters what is shown, and draws it.
func (c *console) updateView(alter func(*screen.View)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	alter(&c.view)
	c.redraw()
}

// redraw shows the view where it differs from what is on the screen.
func (c *console) redraw() {
	if c.view.Door == "" {
		return // the page has no code yet
	}
	text := screen.Render(c.view)
	if text != c.shown {
		c.shown = text
		if _, err := io.WriteString(c.to, blank+text); err != nil {
			c.log.Warn("the console cannot be written to", "error", err)
		}
	}
	result := ""
	if c.view.Result() {
		after := c.view // the page does not outlive this program
		after.Pages, after.Port, after.Laptop, after.Door, after.Fingerprint = nil, "", "", "", ""
		result = screen.Render(after)
	}
	if c.keep == nil || c.kept != nil && result == *c.kept {
		return
	}
	if err := c.keep(result); err != nil {
		c.log.Warn("the result does not stay on the console", "error", err)
	}
	c.kept = &result
}

// followNode shows each step of the node, and each address that its page has, until ctx ends.
func (c *console) followNode(ctx context.Context, port uint16, addresses func() []netip.Addr) {
	tick := time.NewTicker(screenPause)
	defer tick.Stop()
	for {
		now, known := c.readProgress(ctx)
		pages := []string(nil)
		for _, a := range addresses() {
			pages = append(pages, "https://"+netip.AddrPortFrom(a, port).String())
		}
		c.updateView(func(v *screen.View) {
			if known {
				v.Progress = now
			}
			v.Pages = pages
		})
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// readProgress is false where the node cannot say how far it is: the screen stays as it is.
func (c *console) readProgress(ctx context.Context) (portal.Progress, bool) {
	if c.site == nil {
		return portal.Progress{}, false
	}
	now, err := c.site.Progress(ctx)
	if err != nil {
		c.log.Warn("the console does not follow the node", "error", err)
		return now, false
	}
	return now, true
}
