package browser

import (
	"fmt"
	"os"
	"path/filepath"

	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

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

// windows are the sizes in which a page is looked at, in CSS pixels; the last one stays.
var windows = []struct {
	name  string
	width int64
}{{"phone", 360}, {"desktop", 1280}}

const windowHeight = 740

// Look holds the page against the rules at the size of a phone and of a laptop. With LCA_SCREENSHOTS it keeps pictures in
// that folder.
func (b *Browser) Look(name string) {
	b.t.Helper()
	for _, w := range windows {
		require.NoError(b.t, chromedp.Do(b.ctx, chromedp.EmulateViewport(w.width, windowHeight)))
		require.LessOrEqual(b.t, Evaluate[int](b, `document.documentElement.scrollWidth - document.documentElement.clientWidth`), 0,
			"%s scrolls sideways on a %s", name, w.name)
		require.Empty(b.t, Evaluate[[]string](b, contrast), "%s: contrast", name)
		require.Empty(b.t, Evaluate[[]string](b, unlabelled), "%s: names for a screen reader", name)
		if dir := os.Getenv("LCA_SCREENSHOTS"); dir != "" {
			picture, err := chromedp.Run(b.ctx, chromedp.FullScreenshot(100))
			require.NoError(b.t, err)
			require.NoError(b.t, os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%s.png", name, w.name)), picture, 0o644))
		}
	}
}
