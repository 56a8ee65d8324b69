//go:build lab

package scenario

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
	"github.com/lifecycle-agent/lifecycle-agent/test/browser"
)

const (
	// knownAddress is the node's while it waits for its site, laptopAddress the one that it gives.
	knownAddress, laptopAddress = "203.0.113.1/29", "203.0.113.2/29"
	pageUnit                    = "lca-relocation-page.service"
	// pagePatience bounds how long something is awaited on the page: a change takes half a minute.
	pagePatience = 4 * time.Minute
)

// TestRelocationByThePage sets a node up without a stick: a laptop on its switch gets an address from it, a browser there passes the
// warning with the fingerprint of the node's console, and a technician fills the form in.
func TestRelocationByThePage(t *testing.T) {
	tool(t, browser.Program)
	tool(t, network.DHCPClient)
	long(t)
	ctx, l := nodeWithSticks(t, "scenario-relocation-page")
	r := &relocated{t: t, lab: l, ctx: ctx}
	r.ship(ctx, "--internal-address", knownAddress)

	p := r.laptop(ctx)
	p.entersTheCode()
	p.makesMistakes()
	began := time.Now()
	p.startsThePlan()
	p.AwaitText("h1", "The node is being set up") // the node may be away from now until it is done
	p.Look("7-progress")
	p.AwaitText("h1", "Done")
	t.Logf("done on the page %s after the form was sent", time.Since(began).Round(time.Second))
	r.atHome(ctx)
	p.Look("8-done")
	p.takesTheCredentials()
	p.isGone()
	r.atHome(ctx)
}

// technician is the person on site, with the browser of a laptop.
type technician struct {
	*browser.Browser
	*relocated
	machine *network.Laptop
	at      string
}

// laptop plugs a laptop into the node's switch, waits for the address that the node gives it, and starts a browser there.
func (r *relocated) laptop(ctx context.Context) *technician {
	r.t.Helper()
	laptop, err := r.lab.Net.PlugLaptop(ctx)
	require.NoError(r.t, err)
	r.t.Cleanup(func() { require.NoError(r.t, laptop.Unplug(context.Background())) })
	address, err := laptop.AwaitAddress(ctx)
	require.NoError(r.t, err)
	require.Equal(r.t, laptopAddress, address.String())
	lease, err := laptop.Lease()
	require.NoError(r.t, err)
	require.Contains(r.t, lease, laptopAddress+" router= dns=\n", "the laptop keeps the router and the name servers of its other networks")
	at := r.onConsole(`A laptop on port uplink0, .* opens:  (https://\S+)`)
	require.Equal(r.t, "https://203.0.113.1:8443", at)
	b := browser.Start(ctx, r.t, browser.Options{Wrap: laptop.Enter(), Patience: pagePatience})
	return &technician{b, r, laptop, at}
}

// onConsole is what the node's screen has shown last of something.
func (r *relocated) onConsole(pattern string) (shown string) {
	r.t.Helper()
	find := regexp.MustCompile(pattern)
	until(r.ctx, r.t, pattern+" on the console", func() bool {
		text, err := os.ReadFile(r.lab.Machine.ConsoleLog())
		require.NoError(r.t, err)
		all := find.FindAllStringSubmatch(string(text), -1)
		if len(all) > 0 {
			shown = all[len(all)-1][1]
		}
		return len(all) > 0
	})
	return shown
}

// entersTheCode opens the page, compares the fingerprint, and types the code, a wrong one first.
func (p *technician) entersTheCode() {
	p.t.Helper()
	require.ErrorContains(p.t, p.TryOpen(p.at), "ERR_CERT_AUTHORITY_INVALID")
	seen := strings.ToUpper(fmt.Sprintf("% x", sha256.Sum256(p.Certificate())))
	require.Equal(p.t, p.onConsole(`Fingerprint of its certificate \(SHA-256\):[^:]+:?\s+([0-9A-F:]{95})\s`), strings.ReplaceAll(seen, " ", ":"))
	p.PassWarning()
	p.AwaitFocus("#code")
	p.Look("1-code")

	code := p.onConsole(`Code: (\d{4} \d{4}) `)
	p.Focus("#code")
	p.Key(another(code), "\r")
	p.AwaitText("#problems", "not the code")
	p.Look("2-wrong-code")
	require.Regexp(p.t, `refused a wrong code.*from\W+203\.0\.113\.2\b.*attempt\W+1\b`,
		in(p.ctx, p.t, p.lab, "journalctl", "--boot", "--output=cat", "--unit="+pageUnit))
	p.Focus("#code")
	p.Key(p.onConsole(`Code: (\d{4} \d{4}) `), "\r")
	p.AwaitText("h1", "Configuration of the site")
	p.Look("3-form")
	require.NotEqual(p.t, code, p.onConsole(`Code: (\d{4} \d{4}) `), "a code works once")
}

// another is a code that is not this one.
func another(code string) string {
	if code[0] == '9' {
		return "0" + code[1:]
	}
	return "9" + code[1:]
}

// makesMistakes fills the form in with a router that the page refuses, and with an address that this node refuses.
func (p *technician) makesMistakes() {
	p.t.Helper()
	gateway := network.Away().Gateway.Addr().String()
	for input, text := range map[string]string{
		"hostname": "store-17", "cluster": "store-17", "domain": "example.com", "port": network.Uplink, "address": away.String() + "/24",
		"gateway": home.String(), "dns": network.Away().DNS.Addr().String(),
	} {
		p.Fill("#"+input, text)
	}
	p.Key("\r")
	p.AwaitText("#problems", "The router must be in the network "+awayNetwork)
	p.AwaitText("#gateway-error", "The router must be in the network "+awayNetwork)
	p.Look("4-mistake")

	p.Fill("#address", away6.String()+"/64")
	p.Fill("#gateway", network.Away().Gateway6.Addr().String())
	p.Key("\r")
	p.AwaitText("#problems", "The cluster was installed with") // of the page that is loaded: what is typed before is lost
	p.AwaitText("#address-error", "The cluster was installed with")
	p.Look("5-not-for-this-node")
	p.Fill("#address", away.String()+"/24")
	p.Fill("#gateway", gateway)
}

// startsThePlan sends the form, reads the plan and starts it.
func (p *technician) startsThePlan() {
	p.t.Helper()
	p.Press("form[data-live] button")
	p.AwaitText("h1", "What will happen")
	for _, sentence := range []string{
		"Give the node the address " + away.String(), "to store-17.", "Wait until the cluster is healthy.", "No time server is given.",
	} {
		p.AwaitText("main", sentence)
	}
	p.Look("6-plan")
	require.NotEqual(p.t, "store-17", in(p.ctx, p.t, p.lab, "hostname"), "nothing has changed yet")
	p.Press("form button")
}

// takesTheCredentials downloads the hand-over file, with which an administrator gets into the cluster.
func (p *technician) takesTheCredentials() {
	p.t.Helper()
	file := p.AwaitDownload(p.t.TempDir(), "site-handover.yaml", func() { p.Press("form button") })
	p.AwaitText("main", "cannot be downloaded again")
	p.Look("9-downloaded")
	var handed struct {
		API        string `json:"api"`
		Kubeconfig string `json:"kubeconfig"`
		Password   string `json:"password"`
	}
	require.NoError(p.t, yaml.Unmarshal(file, &handed))
	require.Equal(p.t, "https://api.store-17.example.com:6443", handed.API)
	require.NotEmpty(p.t, handed.Password)
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(handed.Kubeconfig))
	require.NoError(p.t, err)
	config.Host, config.Dial = "https://"+away.String()+":6443", p.lab.Net.DialContext
	api, err := kubernetes.NewForConfig(config)
	require.NoError(p.t, err)
	nodes, err := api.CoreV1().Nodes().List(p.ctx, metav1.ListOptions{})
	require.NoError(p.t, err)
	require.Equal(p.t, "store-17", nodes.Items[0].Name)
	require.False(p.t, says(p.ctx, p.lab, "lca-cli relocation handover"), "the node has deleted its own copy")
}

// isGone waits until the page is closed, and the node has neither its known address nor one for a laptop.
func (p *technician) isGone() {
	p.t.Helper()
	until(p.ctx, p.t, "a page that is gone", func() bool {
		return !p.machine.Reaches(p.ctx, strings.TrimPrefix(p.at, "https://"))
	})
	until(p.ctx, p.t, "a node without its known address", func() bool {
		return says(p.ctx, p.lab, "! ip -o address show | grep -qF "+strings.Split(knownAddress, "/")[0]+"/ && ! pgrep -f '[l]ca-laptop'")
	})
	require.False(p.t, says(p.ctx, p.lab, "systemctl is-enabled --quiet "+pageUnit))
}
