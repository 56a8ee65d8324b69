package portal_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
)

// chromium starts a browser of its own; it is skipped where none is installed.
func chromium(t *testing.T) context.Context {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: starts a browser; run without -short")
	}
	path, err := exec.LookPath("chromium")
	if err != nil {
		t.Skip("reason: chromium is not installed")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.Flag("ignore-certificate-errors", true), chromedp.Flag("disable-dev-shm-usage", true), chromedp.UserDataDir(t.TempDir()),
		chromedp.WSURLReadTimeout(2*time.Minute))
	ctx, cancel := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	ctx, cancel = context.WithTimeout(ctx, 5*time.Minute)
	t.Cleanup(cancel)
	return ctx
}

// contrast yields every text whose contrast with its background is below the AA limit of WCAG 2.2.
const contrast = `(() => {
  const rgb = (s) => (s.match(/[\d.]+/g) || [0, 0, 0, 0]).map(Number);
  const light = (c) => { const [r, g, b] = c.slice(0, 3).map((v) => { v /= 255; return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * r + 0.7152 * g + 0.0722 * b; };
  const paper = (e) => { for (; e; e = e.parentElement) { const c = rgb(getComputedStyle(e).backgroundColor); if (c.length < 4 || c[3] > 0) return c; } return [255, 255, 255]; };
  const bad = [];
  for (const e of document.querySelectorAll("body *")) {
    if (!e.checkVisibility() || ![...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim())) continue;
    const a = light(rgb(getComputedStyle(e).color)), b = light(paper(e));
    const ratio = (Math.max(a, b) + 0.05) / (Math.min(a, b) + 0.05);
    if (ratio < 4.5) bad.push(e.tagName + " " + e.textContent.trim().slice(0, 30) + " " + ratio.toFixed(2));
  }
  return bad;
})()`

// unlabelled yields every input that a screen reader cannot name, and every id that is missing or double.
const unlabelled = `(() => {
  const bad = [];
  for (const e of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!e.labels || !e.labels.length || !e.labels[0].textContent.trim()) bad.push(e.name);
  for (const e of document.querySelectorAll("[aria-describedby], [aria-labelledby]"))
    for (const id of ((e.getAttribute("aria-describedby") || "") + " " + (e.getAttribute("aria-labelledby") || "")).trim().split(/\s+/))
      if (document.querySelectorAll("#" + id).length !== 1) bad.push("#" + id);
  if (document.querySelectorAll("h1").length !== 1 || document.querySelectorAll("main").length !== 1) bad.push("h1 or main");
  return bad;
})()`

// look holds a page against the rules at the size of a phone and of a laptop, light and dark. With LCA_SCREENSHOTS it
// keeps pictures there.
func look(ctx context.Context, t *testing.T, name string) {
	t.Helper()
	for size, width := range map[string]int64{"phone": 360, "desktop": 1280} {
		require.NoError(t, chromedp.Do(ctx, chromedp.EmulateViewport(width, 740)))
		require.LessOrEqual(t, evaluate[int](ctx, t, `document.documentElement.scrollWidth - document.documentElement.clientWidth`), 0,
			"%s scrolls sideways on a %s", name, size)
		require.Empty(t, evaluate[[]string](ctx, t, contrast), "%s: contrast", name)
		require.Empty(t, evaluate[[]string](ctx, t, unlabelled), "%s: names for a screen reader", name)
		if dir := os.Getenv("LCA_SCREENSHOTS"); dir != "" {
			picture, err := chromedp.Run(ctx, chromedp.FullScreenshot(100))
			require.NoError(t, err)
			require.NoError(t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s.png", name, size)), picture, 0o644))
		}
	}
}

func evaluate[T any](ctx context.Context, t *testing.T, script string) T {
	t.Helper()
	out, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	require.NoError(t, err)
	return out
}

// clearInput empties an input and goes there.
func clearInput(ctx context.Context, t *testing.T, selector string) {
	t.Helper()
	evaluate[string](ctx, t, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); return e.value = ""; })()`, selector))
}

func do(ctx context.Context, t *testing.T, steps ...chromedp.Action[chromedp.Void]) {
	t.Helper()
	require.NoError(t, chromedp.Do(ctx, steps...))
}

func key(ctx context.Context, t *testing.T, keys ...string) {
	t.Helper()
	for _, k := range keys {
		do(ctx, t, chromedp.KeyEvent(k))
	}
}

func awaitText(ctx context.Context, t *testing.T, selector, want string) {
	t.Helper()
	script := fmt.Sprintf(`!!document.querySelector(%q) && document.querySelector(%q).textContent.includes(%q)`, selector, selector, want)
	require.Eventually(t, func() bool { // a script fails while the browser goes from one page to the next
		found, err := chromedp.Run(ctx, chromedp.Evaluate[bool](script))
		return err == nil && found
	}, time.Minute, 50*time.Millisecond, "wait for %q in %s", want, selector)
}

// A technician's way through the page with the keyboard alone, from the code to the file.
func TestInABrowser(t *testing.T) {
	ctx := chromium(t)
	b := newBench(t)
	downloads := t.TempDir()
	do(ctx, t, chromedp.EmulateViewport(1280, 740), chromedp.Navigate(b.server.URL+"/"), chromedp.WaitVisible("#code"))
	look(ctx, t, "1-login")
	key(ctx, t, "1234", "\r")
	awaitText(ctx, t, "#problems", "not the code")
	look(ctx, t, "2-wrong-code")
	do(ctx, t, chromedp.Focus("#code"))
	key(ctx, t, b.code, "\r")
	awaitText(ctx, t, "h1", "Configuration of the site")
	look(ctx, t, "3-form")

	do(ctx, t, chromedp.Focus("#hostname"))
	key(ctx, t, "site_1", "\t")
	awaitText(ctx, t, "#hostname-error", "lower-case letters")
	look(ctx, t, "4-live")
	clearInput(ctx, t, "#hostname")
	key(ctx, t, "site-1", "\t", "site-1", "\t", "edge.example.org", "\t", "\t", "192.0.2.10/24", "\t", "198.51.100.1", "\t", "192.0.2.53", "\t")
	awaitText(ctx, t, "#gateway-error", "must be in the network 192.0.2.0/24")
	key(ctx, t, "12", "\r")
	awaitText(ctx, t, "#problems", "must be in the network")
	look(ctx, t, "5-mistakes")
	clearInput(ctx, t, "#gateway")
	key(ctx, t, "192.0.2.1", "\r")
	awaitText(ctx, t, "h1", "What will happen")
	look(ctx, t, "6-plan")
	do(ctx, t, chromedp.Focus("form button"))
	key(ctx, t, "\r")
	awaitText(ctx, t, "#step-count", "Step 3 of 14")
	look(ctx, t, "7-progress")
	b.set(portal.Progress{State: portal.Running, Step: 9, Steps: 14, Title: "Starting the cluster"})
	awaitText(ctx, t, "#step-title", "Starting the cluster")

	b.set(failed())
	awaitText(ctx, t, ".code", "L23")
	look(ctx, t, "8-failed")
	b.set(succeeded())
	do(ctx, t, chromedp.Navigate(b.server.URL+"/"))
	awaitText(ctx, t, "h1", "Done")
	look(ctx, t, "9-done")
	_, err := chromedp.Call(ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: downloads})
	require.NoError(t, err)
	do(ctx, t, chromedp.Focus("form button"))
	key(ctx, t, "\r")
	require.Eventually(t, func() bool {
		data, err := os.ReadFile(filepath.Join(downloads, "site-1.yaml"))
		return err == nil && string(data) == "password: hunter2\n"
	}, time.Minute, 100*time.Millisecond)
	awaitText(ctx, t, "main", "cannot be downloaded again")
}

// While the node changes its network the page waits, and it goes on by itself.
func TestTheNodeIsAwayForAWhile(t *testing.T) {
	ctx := chromium(t)
	b := newBench(t)
	b.set(portal.Progress{State: portal.Running, Step: 1, Steps: 14, Title: "Setting up the network"})
	do(ctx, t, chromedp.Navigate(b.server.URL+"/"), chromedp.WaitVisible("#code"), chromedp.Focus("#code"))
	key(ctx, t, b.code, "\r")
	awaitText(ctx, t, "#step-title", "Setting up the network")
	b.away.Store(true)
	do(ctx, t, chromedp.WaitVisible("[data-lost]"))
	look(ctx, t, "10-away")
	b.set(portal.Progress{State: portal.Running, Step: 4, Steps: 14, Title: "Starting the cluster"})
	b.away.Store(false)
	awaitText(ctx, t, "#step-title", "Starting the cluster")
	awaitText(ctx, t, "#step-count", "Step 4 of 14")
}
