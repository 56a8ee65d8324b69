package browser

import (
	"encoding/base64"

	"github.com/chromedp/cdproto/security"
	"github.com/stretchr/testify/require"
)

// listen keeps the certificate of the page, as the browser shows it in its certificate window.
func (b *Browser) listen(event any) {
	e, ok := event.(*security.EventVisibleSecurityStateChanged)
	if !ok || e.VisibleSecurityState == nil || e.VisibleSecurityState.CertificateSecurityState == nil {
		return
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	if chain := e.VisibleSecurityState.CertificateSecurityState.Certificate; len(chain) > 0 {
		b.certificate = chain[0]
	}
}

// Certificate is that of the page, DER-encoded.
func (b *Browser) Certificate() []byte {
	b.t.Helper()
	var text string
	require.Eventually(b.t, func() bool {
		b.mu.Lock()
		defer b.mu.Unlock()
		text = b.certificate
		return text != ""
	}, b.patience, pollEvery, "wait for the certificate of the page")
	der, err := base64.StdEncoding.DecodeString(text)
	require.NoError(b.t, err)
	return der
}

// PassWarning opens the page behind the browser's warning of an unknown certificate, as a person does who has compared the
// fingerprint. The browser remembers this certificate, and warns of any other.
func (b *Browser) PassWarning() {
	b.t.Helper()
	b.AwaitVisible("#details-button")
	Evaluate[bool](b, `(() => { document.querySelector("#details-button").click(); document.querySelector("#proceed-link").click(); return true; })()`)
}
