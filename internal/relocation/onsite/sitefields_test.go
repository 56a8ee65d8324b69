package onsite_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"fmt"
	"io/fs"
	"net/netip"
	"path"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow/flowtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation/operationtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const keyfile = `[connection]
id=site
uuid=1b4e28ba-2fa1-11d2-883f-0016d3cca427
type=ethernet
interface-name=enp1s0

[ipv4]
method=manual
address1=198.51.100.20/24
route1=0.0.0.0/0,198.51.100.1
dns=198.51.100.1;

[ipv6]
method=disabled
`

// siteByKeyfile is a site that has a keyfile and no nmstate document.
func siteByKeyfile(t *testing.T, content string) string {
	t.Helper()
	data, err := onsite.Text(siteconfig.SiteConfig{
		APIVersion: siteconfig.APIVersion, Kind: siteconfig.Kind, ClusterName: "store42", BaseDomain: "edge.example.org",
		MachineNetworks: []string{"198.51.100.0/24"},
		Connections:     []siteconfig.File{{Name: "site.nmconnection", Content: siteconfig.Secret(content)}},
	})
	require.NoError(t, err)
	return string(data)
}

// shipped is a node that was prepared and is switched on where this stick waits.
func shipped(t *testing.T, stick string) *world {
	t.Helper()
	w := newWorld(t, false)
	require.NoError(t, w.prepare())
	w.stick = stick
	return w
}

func (w *world) atHome() {
	w.t.Helper()
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(w.t, err)
	require.Equal(w.t, relocation.OutcomeHome, last.Outcome, "%s: %s; failures: %v", last.Step, last.Cause, w.node.Failures())
}

func (w *world) read(file string) string {
	w.t.Helper()
	data, err := w.node.Files().Read(file)
	require.NoError(w.t, err)
	return string(data)
}

func (w *world) mode(file string) fs.FileMode {
	w.t.Helper()
	info, err := w.node.Files().Stat(file)
	require.NoError(w.t, err)
	return info.Mode().Perm()
}

func TestKeyfilesOfTheSiteAreTheNodesNetwork(t *testing.T) {
	w := shipped(t, siteByKeyfile(t, keyfile))
	require.NoError(t, w.switchOn())
	w.atHome()
	at := host.NMConnections + "/site.nmconnection"
	require.Equal(t, keyfile, w.read(at), "as the site wrote it")
	require.Equal(t, fs.FileMode(0o600), w.mode(at), "NetworkManager ignores a keyfile that others may read")
	names, err := w.node.Files().List(host.NMConnections)
	require.NoError(t, err)
	require.Equal(t, []string{"site.nmconnection"}, names, "the factory's connection of the same interface is gone")
	require.Equal(t, []string{siteAddress}, w.node.Describe().Running)
	require.Contains(t, w.names, "api.store42.edge.example.org", "its name server was asked")
	left, err := w.node.Files().List(relocation.ConnectionsDir)
	require.NoError(t, err)
	require.Empty(t, left, "copies may hold passwords")
	require.NoError(t, w.switchOn())
	require.Equal(t, []string{siteAddress}, w.node.Describe().Running, "also after a boot")
}

// TestKeyfilesOfTheSiteGoWhereNetworkManagerReads, also where a machine config has it read another folder than its own.
func TestKeyfilesOfTheSiteGoWhereNetworkManagerReads(t *testing.T) {
	const other = "/etc/NetworkManager/other"
	w := newWorld(t, false)
	files := w.node.Files()
	names, err := files.List(host.NMConnections)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, n := range names {
		require.NoError(t, files.Write(path.Join(other, n), []byte(w.read(path.Join(host.NMConnections, n))), 0o600))
	}
	require.NoError(t, files.Write("/etc/NetworkManager/conf.d/99-kni.conf", []byte("[keyfile]\npath="+other+"\n"), 0o644))
	require.NoError(t, w.prepare())
	w.stick = siteByKeyfile(t, keyfile)
	require.NoError(t, w.switchOn())
	w.atHome()
	require.Equal(t, keyfile, w.read(other+"/site.nmconnection"))
	below, err := w.node.Files().List(host.NMConnections)
	require.NoError(t, err)
	require.NotContains(t, below, "site.nmconnection", "the folder below stays as it is")
}

func TestKeyfilesThatReachNothingAreTakenBack(t *testing.T) {
	w := shipped(t, "")
	before := map[string]string{}
	names, err := w.node.Files().List(host.NMConnections)
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for _, n := range names {
		before[n] = w.read(path.Join(host.NMConnections, n))
	}
	w.stick = siteByKeyfile(t, strings.ReplaceAll(keyfile, "0.0.0.0/0,198.51.100.1", "0.0.0.0/0,198.51.100.99"))
	w.node.Silence(netip.MustParseAddr("198.51.100.99"))
	require.NoError(t, w.switchOn())
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, relocation.OutcomeRetry, last.Outcome, "%s: %s", last.Step, last.Cause)
	require.Equal(t, relocation.StepConnections, last.Step)
	require.Equal(t, "L23", string(last.Code()))
	names, err = w.node.Files().List(host.NMConnections)
	require.NoError(t, err)
	after := map[string]string{}
	for _, n := range names {
		after[n] = w.read(path.Join(host.NMConnections, n))
	}
	require.Equal(t, before, after)
	require.Equal(t, []string{factoryAddress}, w.node.Describe().Running)
}

// keyed is a node whose site has a keyfile.
type keyed struct{ *world }

func (k keyed) Live(bomb *flowtest.Bomb) error {
	k.bomb = bomb
	operationtest.Arm(bomb, k.node, k.kill)
	if err := k.prepare(); err != nil {
		return err
	}
	k.stick = siteByKeyfile(k.t, keyfile)
	return k.switchOn()
}

func (k keyed) Judge() (string, error) {
	if got := k.node.Describe().Running; len(got) != 1 || got[0] != siteAddress {
		return "", fmt.Errorf("the node is at %v; failures: %v", got, k.node.Failures())
	}
	return "home", k.node.ClusterUp()
}

func (k keyed) Again() error { return nil }

func TestCrashMatrixOfKeyfiles(t *testing.T) {
	p := (&onsite.Reconfiguration{Request: relocation.Request{OperationID: "x", Factory: "o", Site: "n"}}).Plan()
	for i, s := range p.Steps {
		if s.Name == relocation.StepConnections {
			p.Steps = p.Steps[i : i+1]
		}
	}
	require.Len(t, p.Steps, 1)
	for name, kill := range map[string]bool{"power-cut": false, "killed": true} {
		t.Run(name, func(t *testing.T) {
			got := flowtest.Matrix(t, []flow.Plan{p}, func(t *testing.T) flowtest.World { return keyed{newWorld(t, kill)} })
			require.Equal(t, got.Cells, got.Verdicts["home"])
		})
	}
}

func TestTheSitesHostKeysAreTheNodes(t *testing.T) {
	_, key, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(key, "")
	require.NoError(t, err)
	private := strings.TrimSpace(string(pem.EncodeToMemory(block))) // as a YAML text without its last line end
	site := decoded(t, siteFor("198.51.100"))
	site.ServerSSHKeys = []siteconfig.SecretFile{{Name: "ssh_host_ed25519_key", Content: siteconfig.Secret(private)}}
	text, err := onsite.Text(site)
	require.NoError(t, err)
	w := shipped(t, "")
	require.NoError(t, w.switchOn())
	for _, name := range []string{"ssh_host_rsa_key", "ssh_host_rsa_key.pub", "ssh_host_ed25519_key", "sshd_config"} {
		require.NoError(t, w.node.Seed("/etc/ssh/"+name, []byte("former\n")))
	}
	w.stick = string(text)
	require.NoError(t, w.switchOn())
	w.atHome()
	require.Equal(t, "former\n", w.read("/etc/ssh/sshd_config"))
	require.Equal(t, private+"\n", w.read("/etc/ssh/ssh_host_ed25519_key"), "sshd reads no key without the last line end")
	require.Equal(t, fs.FileMode(0o600), w.mode("/etc/ssh/ssh_host_ed25519_key"))
	require.Equal(t, fs.FileMode(0o644), w.mode("/etc/ssh/ssh_host_ed25519_key.pub"))
	signer, err := ssh.NewSignerFromKey(key)
	require.NoError(t, err)
	require.Equal(t, string(ssh.MarshalAuthorizedKey(signer.PublicKey())), w.read("/etc/ssh/ssh_host_ed25519_key.pub"))
	names, err := w.node.Files().List("/etc/ssh")
	require.NoError(t, err)
	require.NotContains(t, names, "ssh_host_rsa_key")
}

func decoded(t *testing.T, text string) siteconfig.SiteConfig {
	t.Helper()
	c, problems := siteconfig.Decode([]byte(text))
	require.Empty(t, problems)
	return c
}

func TestTheNodeAnswersTheNamesOfItsSite(t *testing.T) {
	site := decoded(t, siteFor("198.51.100"))
	site.Domain = "shop.example.net"
	site.Dnsmasq = &siteconfig.Dnsmasq{Enabled: true, Addresses: []string{siteAddress}}
	text, err := onsite.Text(site)
	require.NoError(t, err)
	w := shipped(t, string(text))
	require.NoError(t, w.switchOn())
	w.atHome()
	said := w.read(host.DnsmasqSite)
	for _, name := range []string{"api", "api-int", "apps"} {
		require.Contains(t, said, "address=/"+name+".shop.example.net/"+siteAddress+"\n")
	}
	require.NotContains(t, said, "store42", "the override answers the cluster's own names")

	w = shipped(t, siteFor("198.51.100")+"domain: shop.example.net\ndnsmasq: {enabled: false}\n")
	require.NoError(t, w.switchOn())
	w.atHome()
	_, err = w.node.Files().Stat(host.DnsmasqSite)
	require.ErrorIs(t, err, fs.ErrNotExist, "the site's own server answers these")

	w = shipped(t, siteFor("198.51.100")+"dnsmasq: {enabled: true, addresses: [198.51.100.77]}\n")
	require.NoError(t, w.switchOn())
	last, err := relocation.ReadLast(w.node.Files())
	require.NoError(t, err)
	require.Equal(t, relocation.OutcomeRefused, last.Outcome)
	require.Contains(t, last.Cause, "dnsmasq.addresses[0]: 198.51.100.77: must be an address of the node")
}

func TestTheHandoverHoldsWhatTheSiteAsksFor(t *testing.T) {
	for site, want := range map[string]onsite.Handover{
		"metadata: {name: shop}\n":                                 {Site: "shop", User: "kubeadmin", Password: "planted-password", Kubeconfig: "some"},
		"handover: {kubeconfig: false}\n":                          {User: "kubeadmin", Password: "planted-password"},
		"handover: {kubeconfig: true, kubeadminPassword: false}\n": {Kubeconfig: "some"},
	} {
		w := shipped(t, strings.Replace(siteFor("198.51.100"), "metadata: {name: store-42}\n", "", 1)+site)
		require.NoError(t, w.switchOn())
		w.atHome()
		h, err := onsite.TakeHandover(w.node.Files())
		require.NoError(t, err)
		if h.Kubeconfig != "" {
			h.Kubeconfig = "some"
		}
		h.API, h.Console = "", ""
		require.Equal(t, want, h, site)
	}
}
