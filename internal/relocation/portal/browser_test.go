package portal_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/test/browser"
)

// chromium starts a browser of its own; it is skipped where none is installed.
func chromium(t *testing.T, o browser.Options) *browser.Browser {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: starts a browser; run without -short")
	}
	return browser.Start(t.Context(), t, o)
}

// A technician's way through the page with the keyboard alone, from the browser's warning to the file.
func TestInABrowser(t *testing.T) {
	c := chromium(t, browser.Options{})
	b := newBench(t)
	require.ErrorContains(t, c.TryOpen(b.server.URL+"/"), "ERR_CERT_")
	require.Equal(t, b.server.Certificate().Raw, c.Certificate())
	c.PassWarning()
	c.AwaitFocus("#code")
	c.Look("1-login")
	c.Key("1234", "\r")
	c.AwaitText("#problems", "not the code")
	c.Look("2-wrong-code")
	c.Focus("#code")
	c.Key(b.code, "\r")
	c.AwaitText("h1", "Configuration of the site")
	c.Look("3-form")

	c.Focus("#hostname")
	c.Key("site_1", "\t")
	c.AwaitText("#hostname-error", "lower-case letters")
	c.Look("4-live")
	c.Fill("#hostname", "site-1")
	c.Key("\t", "site-1", "\t", "edge.example.org", "\t", "\t", "192.0.2.10/24", "\t", "198.51.100.1", "\t", "192.0.2.53", "\t")
	c.AwaitText("#gateway-error", "must be in the network 192.0.2.0/24")
	c.Key("12", "\r")
	c.AwaitText("#problems", "must be in the network")
	c.Look("5-mistakes")
	c.Fill("#gateway", "192.0.2.1")
	c.Key("\r")
	c.AwaitText("h1", "What will happen")
	c.Look("6-plan")
	c.Press("form button")
	c.AwaitText("#step-count", "Step 3 of 14")
	c.Look("7-progress")
	b.set(portal.Progress{State: portal.Running, Step: 9, Steps: 14, Title: "Starting the cluster"})
	c.AwaitText("#step-title", "Starting the cluster")

	b.set(failed())
	c.AwaitText(".code", "L23")
	c.Look("8-failed")
	b.set(succeeded())
	c.Open(b.server.URL + "/")
	c.AwaitText("h1", "Done")
	c.Look("9-done")
	file := c.AwaitDownload(t.TempDir(), "site-1.yaml", func() { c.Press("form button") })
	require.Equal(t, "password: hunter2\n", string(file))
	c.AwaitText("main", "cannot be downloaded again")
}

// While the node changes its network the page waits, and it goes on by itself.
func TestTheNodeIsAwayForAWhile(t *testing.T) {
	c := chromium(t, browser.Options{Trusting: true})
	b := newBench(t)
	b.set(portal.Progress{State: portal.Running, Title: "Reading the configuration"})
	c.Open(b.server.URL + "/")
	c.AwaitFocus("#code")
	c.Key(b.code, "\r")
	c.AwaitText("#step-title", "Reading the configuration")
	require.Empty(t, browser.Evaluate[string](c, `document.querySelector("#step-count").textContent`), "no step is known yet")
	c.Look("10-before-the-first-step")
	b.set(portal.Progress{State: portal.Running, Step: 1, Steps: 14, Title: "Setting up the network"})
	c.AwaitText("#step-count", "Step 1 of 14")
	c.AwaitText("#step-title", "Setting up the network")
	b.away.Store(true)
	c.AwaitVisible("[data-lost]")
	c.Look("11-away")
	b.set(portal.Progress{State: portal.Running, Step: 4, Steps: 14, Title: "Starting the cluster"})
	b.away.Store(false)
	c.AwaitText("#step-title", "Starting the cluster")
	c.AwaitText("#step-count", "Step 4 of 14")
}

// plans logs in and gets a plan.
func (b *bench) plans(c *browser.Browser) {
	c.Open(b.server.URL + "/")
	c.AwaitFocus("#code")
	c.Key(b.code, "\r")
	c.AwaitText("h1", "Configuration of the site")
	for input, text := range map[string]string{
		"hostname": "site-1", "cluster": "site-1", "domain": "edge.example.org", "address": "192.0.2.10/24", "gateway": "192.0.2.1", "dns": "192.0.2.53",
	} {
		c.Fill("#"+input, text)
	}
	c.Key("\r")
	c.AwaitText("h1", "What will happen")
}

// The node changes its network as soon as it has begun: no page can be loaded, and the one that is there goes on.
func TestTheNodeIsAwayAsSoonAsItHasBegun(t *testing.T) {
	c := chromium(t, browser.Options{Trusting: true})
	b := newBench(t)
	b.plans(c)
	b.leaves.Store(true)
	c.Press("form button")
	c.AwaitText("h1", "The node is being set up")
	c.AwaitText(`[aria-current="step"]`, "Progress")
	c.AwaitVisible("[data-lost]")
	c.Look("12-away-at-once")
	require.False(t, browser.Evaluate[bool](c, `document.querySelector("[data-plan]").checkVisibility()`))
	b.leaves.Store(false)
	b.away.Store(false)
	c.AwaitText("#step-count", "Step 3 of 14")
	require.False(t, browser.Evaluate[bool](c, `document.querySelector("[data-lost]").checkVisibility()`))
	b.set(succeeded())
	c.AwaitText("h1", "Done")
}

// A node that cannot say how far it is for a while does not end the page.
func TestTheNodeCannotSayHowFarItIs(t *testing.T) {
	c := chromium(t, browser.Options{Trusting: true})
	b := newBench(t)
	b.plans(c)
	b.confuse(errors.New("read the journal: no such file"))
	c.Press("form button")
	c.AwaitVisible("[data-lost]")
	b.confuse(nil)
	c.AwaitText("#step-count", "Step 3 of 14")
	b.confuse(errors.New("read the journal: no such file"))
	c.Open(b.server.URL + "/")
	c.AwaitText("h1", "Please wait")
	b.confuse(nil)
	c.AwaitText("h1", "The node is being set up")
}
