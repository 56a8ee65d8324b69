package browser

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/chromedp/cdproto/browser"
	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/security"
	"github.com/chromedp/chromedp"
	"github.com/stretchr/testify/require"
)

// Program is the browser.
const Program = "chromium"

// Options are what a browser is started with.
type Options struct {
	// Wrap is put before the browser's command line, such as a command that enters a network namespace.
	Wrap []string
	// Trusting has the browser accept every certificate. Otherwise it warns, as any browser does.
	Trusting bool
	// Patience is how long something is awaited; a minute by default.
	Patience time.Duration
}

// Browser is a browser with one tab.
type Browser struct {
	t        *testing.T
	ctx      context.Context
	patience time.Duration

	mu          sync.Mutex
	certificate string // of the page, DER in base64
}

// Start starts a browser with a profile of its own; it ends with the test.
func Start(ctx context.Context, t *testing.T, o Options) *Browser {
	t.Helper()
	path, err := exec.LookPath(Program)
	if err != nil {
		t.Skipf("reason: %s is not installed (make host-packages)", Program)
	}
	t.Attr("uses", "Chromium")
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.NoSandbox,
		chromedp.UserDataDir(t.TempDir()), chromedp.ModifyCmdFunc(wrapped(o.Wrap)))
	if o.Trusting {
		options = append(options, chromedp.IgnoreCertErrors)
	}
	ctx, cancel := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(cancel)
	ctx, cancel = chromedp.NewContext(ctx)
	t.Cleanup(cancel)
	b := &Browser{t: t, ctx: ctx, patience: time.Minute}
	if o.Patience > 0 {
		b.patience = o.Patience
	}
	require.NoError(t, chromedp.Listen(ctx, b.listen))
	_, err = chromedp.Call(ctx, security.Enable, cdp.Empty{})
	require.NoError(t, err)
	return b
}

// wrapped puts a command before the browser's, which ends with the test's process.
func wrapped(by []string) func(*exec.Cmd) {
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
		if len(by) == 0 {
			return
		}
		argv := append(append([]string{}, by...), cmd.Path)
		outer := exec.Command(argv[0])
		cmd.Path, cmd.Err = outer.Path, outer.Err
		cmd.Args = append(argv, cmd.Args[1:]...)
	}
}

// Open goes to a page, and fails where there is none.
func (b *Browser) Open(url string) {
	b.t.Helper()
	require.NoError(b.t, b.TryOpen(url))
}

// TryOpen is Open for a page that may not answer, or whose certificate the browser warns of.
func (b *Browser) TryOpen(url string) error {
	return chromedp.Do(b.ctx, chromedp.Navigate(url)) // the error names page and reason
}

// Key presses keys; a text of several characters is typed.
func (b *Browser) Key(keys ...string) {
	b.t.Helper()
	for _, k := range keys {
		require.NoError(b.t, chromedp.Do(b.ctx, chromedp.KeyEvent(k)))
	}
}

// Press goes to a button and presses it.
func (b *Browser) Press(selector string) {
	b.t.Helper()
	b.Focus(selector)
	b.Key("\r")
}

// Focus goes to an input or a button.
func (b *Browser) Focus(selector string) {
	b.t.Helper()
	require.NoError(b.t, chromedp.Do(b.ctx, chromedp.Focus(selector)))
}

// Fill empties an input and types into it.
func (b *Browser) Fill(selector, text string) {
	b.t.Helper()
	Evaluate[string](b, fmt.Sprintf(`(() => { const e = document.querySelector(%q); e.focus(); return e.value = ""; })()`, selector))
	b.Key(text)
}

// AwaitText waits until an element of the page has the text.
func (b *Browser) AwaitText(selector, want string) {
	b.t.Helper()
	b.await(fmt.Sprintf("%q in %s", want, selector),
		fmt.Sprintf(`!!document.querySelector(%q) && document.querySelector(%q).textContent.includes(%q)`, selector, selector, want))
}

// AwaitVisible waits until an element is shown.
func (b *Browser) AwaitVisible(selector string) {
	b.t.Helper()
	b.await(selector+" to be visible", fmt.Sprintf(`!!document.querySelector(%q) && document.querySelector(%q).checkVisibility()`,
		selector, selector))
}

// AwaitFocus waits until an element has the focus: a page gives it to a field after it shows the field, and keys that are
// pressed before that go nowhere.
func (b *Browser) AwaitFocus(selector string) {
	b.t.Helper()
	b.await(selector+" to have the focus", fmt.Sprintf(`document.activeElement !== null && document.activeElement.matches(%q)`, selector))
}

func (b *Browser) await(what, script string) {
	b.t.Helper()
	require.Eventually(b.t, func() bool { // a script fails while the browser goes from one page to the next
		found, err := chromedp.Run(b.ctx, chromedp.Evaluate[bool](script))
		return err == nil && found
	}, b.patience, pollEvery, "wait for %s; the page says: %s", what, b.said())
}

// pollEvery lies between two looks at a page.
const pollEvery = 50 * time.Millisecond

// said is the text of the page, for an error.
func (b *Browser) said() fmt.Stringer { return said{b} }

// said is read when it is printed: the page is another one then.
type said struct{ b *Browser }

// String implements fmt.Stringer.
func (s said) String() string {
	text, err := chromedp.Run(s.b.ctx, chromedp.Evaluate[string]("document.body.innerText"))
	if err != nil {
		return err.Error()
	}
	return text
}

// Evaluate runs a script in the page.
func Evaluate[T any](b *Browser, script string) T {
	b.t.Helper()
	out, err := chromedp.Run(b.ctx, chromedp.Evaluate[T](script))
	require.NoError(b.t, err)
	return out
}

// AwaitDownload waits for a file that is downloaded into the folder by what do does, and returns its content.
func (b *Browser) AwaitDownload(folder, name string, do func()) []byte {
	b.t.Helper()
	_, err := chromedp.Call(b.ctx, browser.SetDownloadBehavior, browser.SetDownloadBehaviorParams{
		Behavior: browser.SetDownloadBehaviorBehaviorAllow, DownloadPath: folder})
	require.NoError(b.t, err)
	do()
	var data []byte
	require.Eventually(b.t, func() bool { // the file gets its name when it is whole
		data, err = os.ReadFile(filepath.Join(folder, name))
		return err == nil
	}, b.patience, pollEvery, "wait for the download of %s", name)
	return data
}
