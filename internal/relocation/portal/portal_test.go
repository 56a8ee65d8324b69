package portal_test

import (
	"context"
	"crypto/tls"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"net/netip"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

func TestFromCodeToHandover(t *testing.T) {
	b := newBench(t)
	c := b.browser(t)
	_, text := c.get("/")
	require.Contains(t, text, "Type the code")
	status, text := c.post("/login", "code", b.code)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "eno2 (no cable)")

	status, text = c.post("/form", append(right(), "vlan", "12", "pullsecret", `{"auths":{"r.example.org":{"auth":"dTpodW50ZXIy"}}}`)...)
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "Rename the node from factory-7 to site-1.")
	require.Contains(t, text, "4 minutes")
	require.Empty(t, siteconfig.Validate(b.got))
	require.Equal(t, "eno1.12", b.got.Network.Routes.Config[0].NextHopInterface)
	require.Equal(t, []string{"192.0.2.0/24"}, b.got.MachineNetworks)
	require.Equal(t, []string{"192.0.2.53", "192.0.2.54"}, b.got.DNSServers)
	_, text = c.get("/form")
	require.Contains(t, text, `value="192.0.2.10/24"`, "what was typed is kept")
	require.NotContains(t, text, "dTpodW50ZXIy", "but for the secret")

	status, _ = c.post("/start", "plan", "another")
	require.Equal(t, http.StatusOK, status)
	require.Empty(t, b.started)
	_, text = c.post("/start", "plan", "plan-1")
	require.Contains(t, text, "Step 3 of 14")
	_, text = c.get("/progress.json")
	require.JSONEq(t, `{"state":"Running","step":3,"steps":14,"title":"Making new certificates"}`, text)

	b.set(failed())
	_, text = c.get("/")
	require.Contains(t, text, `aria-label="L 2 3"`)
	require.Contains(t, text, sitecode.Lookup(sitecode.GatewaySilent).Meaning)
	require.Contains(t, text, "You can try again")

	b.set(succeeded())
	_, text = c.get("/")
	require.Contains(t, text, "console-openshift-console")
	_, text = c.post("/handover")
	require.Equal(t, "password: hunter2\n", text)
	_, text = c.post("/handover")
	require.Contains(t, text, "cannot be downloaded again")
	require.NotContains(t, text, "hunter2")
}

func TestMistakesInTheForm(t *testing.T) {
	for name, k := range map[string]struct {
		change []string
		want   string
	}{
		"address":  {[]string{"address", "192.0.2.10"}, "Address with prefix length: Write an address with a slash"},
		"gateway":  {[]string{"gateway", "198.51.100.1"}, "The router must be in the network 192.0.2.0/24"},
		"same":     {[]string{"gateway", "192.0.2.10"}, "The router cannot have the address of the node"},
		"family":   {[]string{"gateway", "2001:db8::1"}, "Write an address, such as 192.0.2.1"},
		"vlan":     {[]string{"vlan", "4095"}, "Write a number from 1 to 4094"},
		"dns":      {[]string{"dns", "192.0.2.300"}, "must be an IP address"},
		"hostname": {[]string{"hostname", "site_1"}, "must be lower-case letters"},
		"missing":  {[]string{"hostname", " "}, "Name of the node: Please fill this in."},
		"network":  {[]string{"address", "192.0.2.0/24"}, "network or broadcast address"},
		"proxy":    {[]string{"httpproxy", "u:hunter2@p"}, "Must be the URL of a proxy"},
		"secret":   {[]string{"pullsecret", "hunter2"}, "Must be the text of a pull secret"},
	} {
		t.Run(name, func(t *testing.T) {
			c := newBench(t).admitted(t)
			status, text := c.post("/form", append(right(), k.change...)...)
			require.Equal(t, http.StatusUnprocessableEntity, status)
			require.Contains(t, text, k.want)
			require.Contains(t, text, `href="#`+k.change[0]+`"`, "the list links to the input")
			status, text = c.post("/check", append(right(), k.change...)...)
			require.Equal(t, http.StatusOK, status)
			require.Contains(t, text, `"`+k.change[0]+`":`)
		})
	}
}

func TestUpload(t *testing.T) {
	b := newBench(t)
	c := b.admitted(t)
	status, text := c.upload("site.yaml", []byte("apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: Site_1\nnoo: 1\n"))
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, text, "site.yaml: line 4: noo: is not a known key")
	require.Contains(t, text, "site.yaml: line 3: hostname:")
	status, text = c.upload("site.yaml", []byte("apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: site-1\n"))
	require.Equal(t, http.StatusOK, status)
	require.Contains(t, text, "What will happen")

	b.refuse = []siteconfig.Problem{{Key: "nodeIPs[0]", Value: `"192.0.2.10"`, Want: "is in use by 02:00:00:00:00:66"}, {Key: "catalogSources", Want: "must be left out"}}
	status, text = c.post("/form", right()...)
	require.Equal(t, http.StatusUnprocessableEntity, status)
	require.Contains(t, text, "is in use by 02:00:00:00:00:66.")
	require.Contains(t, text, "catalogSources: must be left out")
}

// The page goes when the change is committed and its result was fetched.
func TestThePageCloses(t *testing.T) {
	s := &site{progress: portal.Progress{State: portal.Running}}
	p := portal.New(portal.Options{Site: s, Log: slog.New(slog.DiscardHandler), Now: time.Now})
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	certificate, fingerprint, err := portal.Certificate(time.Now(), netip.MustParseAddr("127.0.0.1"))
	require.NoError(t, err)
	require.Len(t, fingerprint, 95)
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.Serve(ctx, l, certificate) }()
	conn, err := tls.Dial("tcp", l.Addr().String(), &tls.Config{InsecureSkipVerify: true})
	require.NoError(t, err)
	require.Equal(t, fingerprint, portal.Fingerprint(conn.ConnectionState().PeerCertificates[0].Raw))
	conn.Close()
	cancel()
	require.True(t, errors.Is(<-ended, context.Canceled))
	_, err = net.Dial("tcp", l.Addr().String())
	require.Error(t, err)
}
