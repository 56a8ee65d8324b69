package portal_test

import (
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
	c.AwaitVisible("#code")
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
	c.AwaitVisible("#code")
	c.Focus("#code")
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
