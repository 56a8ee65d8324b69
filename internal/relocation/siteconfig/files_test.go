package siteconfig_test

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"net/netip"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/crypto/ssh"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const keyfile = `# made by hand
[connection]
id=Wired connection 1
uuid=1b4e28ba-2fa1-11d2-883f-0016d3cca427
type=ethernet
interface-name=eno1

[ethernet]

[ipv4]
method=manual
address1=198.51.100.20/24,198.51.100.1
dns=198.51.100.53;198.51.100.54;

[ipv6]
method=manual
addresses1=2001:db8::20/64;
route1=::/0,2001:db8::1,100
route2=2001:db8:1::/64,2001:db8::2
dns=2001:db8::53#dns.example.org;
`

func TestAKeyfileIsRead(t *testing.T) {
	c, err := siteconfig.File{Name: "a.nmconnection", Content: keyfile}.Connection()
	require.NoError(t, err)
	require.Equal(t, "eno1", c.Interface)
	require.ElementsMatch(t, []netip.Prefix{netip.MustParsePrefix("198.51.100.20/24"), netip.MustParsePrefix("2001:db8::20/64")}, c.Addresses)
	require.ElementsMatch(t, []netip.Addr{netip.MustParseAddr("198.51.100.1"), netip.MustParseAddr("2001:db8::1")}, c.Gateways)
	require.ElementsMatch(t, []netip.Addr{netip.MustParseAddr("198.51.100.53"), netip.MustParseAddr("198.51.100.54"),
		netip.MustParseAddr("2001:db8::53")}, c.DNS)
}

// A keyfile that NetworkManager could not use would leave the node without a network, and is refused on the desk already.
func TestKeyfilesThatCannotBeUsedAreRefused(t *testing.T) {
	for name, k := range map[string]struct{ file, content, want string }{
		"no text":       {"a.nmconnection", "", "has no section [connection]"},
		"not a keyfile": {"a.nmconnection", "{}", "line 1 is neither a section nor key=value below one"},
		"open section":  {"a.nmconnection", "[connection\nid=a", "line 1 is neither a section nor key=value"},
		"uuid":          {"a.nmconnection", "[connection]\nuuid=1", `has the uuid "1"`},
		"address":       {"a.nmconnection", "[connection]\ninterface-name=a\n[ipv4]\naddress1=192.0.2.1", `[ipv4]: address1: "192.0.2.1" is not an address with its prefix length`},
		"gateway":       {"a.nmconnection", "[connection]\ninterface-name=a\n[ipv4]\ngateway=x", `[ipv4]: gateway: "x" is not an IP address`},
		"no address":    {"a.nmconnection", "[connection]\n[ipv4]\nmethod=manual", "[ipv4]: method=manual needs an address"},
		"no interface":  {"a.nmconnection", "[connection]\n[ipv4]\nmethod=manual\naddress1=192.0.2.1/24", "names no interface-name"},
		"hidden":        {".a.nmconnection", keyfile, "must be the name of a file that ends in .nmconnection"},
		"folder":        {"../a.nmconnection", keyfile, "must be the name of a file that ends in .nmconnection"},
	} {
		t.Run(name, func(t *testing.T) {
			problems := siteconfig.Validate(siteconfig.SiteConfig{Connections: []siteconfig.File{{Name: k.file, Content: siteconfig.Secret(k.content)}}})
			require.Len(t, problems, 1)
			require.Contains(t, problems[0].String(), k.want)
			require.Contains(t, problems[0].String(), "connections[0].")
		})
	}
	twice := []siteconfig.File{{Name: "a.nmconnection", Content: keyfile}, {Name: "b.nmconnection", Content: keyfile}}
	problems := siteconfig.Validate(siteconfig.SiteConfig{Connections: twice})
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].String(), "connections[1].content: must have a uuid of its own")
}

// hostKey makes a host key as ssh-keygen writes it.
func hostKey(t *testing.T) (private, public siteconfig.Secret) {
	t.Helper()
	pub, priv, err := ed25519.GenerateKey(rand.Reader)
	require.NoError(t, err)
	block, err := ssh.MarshalPrivateKey(priv, "")
	require.NoError(t, err)
	half, err := ssh.NewPublicKey(pub)
	require.NoError(t, err)
	return siteconfig.Secret(pem.EncodeToMemory(block)), siteconfig.Secret(ssh.MarshalAuthorizedKey(half))
}

// sshd does not start with a host key that it cannot read: a node that nobody can log in to.
func TestHostKeysThatSSHDCannotUseAreRefused(t *testing.T) {
	private, public := hostKey(t)
	_, other := hostKey(t)
	file := func(name string, content siteconfig.Secret) siteconfig.SecretFile {
		return siteconfig.SecretFile{Name: name, Content: content}
	}
	const name = "ssh_host_ed25519_key"
	for what, k := range map[string]struct {
		keys []siteconfig.SecretFile
		want string
	}{
		"a pair":         {[]siteconfig.SecretFile{file(name, private), file(name+".pub", public)}, ""},
		"private alone":  {[]siteconfig.SecretFile{file(name, private)}, ""},
		"not a key":      {[]siteconfig.SecretFile{file(name, "hunter2")}, "serverSSHKeys[0].content: [hidden]: must be a private SSH key"},
		"empty":          {[]siteconfig.SecretFile{file(name, "")}, "serverSSHKeys[0].content: [hidden]: must be a private SSH key"},
		"public alone":   {[]siteconfig.SecretFile{file(name+".pub", public)}, "serverSSHKeys[0].name: \"ssh_host_ed25519_key.pub\": must come with its private key"},
		"another's half": {[]siteconfig.SecretFile{file(name, private), file(name+".pub", other)}, "serverSSHKeys[1].content: [hidden]: must be the public half"},
		"not a half":     {[]siteconfig.SecretFile{file(name, private), file(name+".pub", "hunter2")}, "serverSSHKeys[1].content: [hidden]: must be one public key"},
		"another name":   {[]siteconfig.SecretFile{file("ssh_host_../../x_key", private)}, "serverSSHKeys[0].name"},
		"twice":          {[]siteconfig.SecretFile{file(name, private), file(name, private)}, "serverSSHKeys[1].name: \"ssh_host_ed25519_key\": appears twice"},
	} {
		t.Run(what, func(t *testing.T) {
			problems := siteconfig.Validate(siteconfig.SiteConfig{ServerSSHKeys: k.keys})
			if k.want == "" {
				require.Empty(t, problems)
				return
			}
			require.Len(t, problems, 1)
			require.Contains(t, problems[0].String(), k.want)
			require.NotContains(t, problems[0].String(), "hunter2")
		})
	}
}

func TestAStatusOfNoProxyIsRefused(t *testing.T) {
	p := &siteconfig.Proxy{HTTPProxy: "http://proxy.example.org:3128"}
	problems := siteconfig.Validate(siteconfig.SiteConfig{StatusProxy: p})
	require.Len(t, problems, 1)
	require.Contains(t, problems[0].String(), "statusProxy: must be left out where proxy is not given")
	require.Empty(t, siteconfig.Validate(siteconfig.SiteConfig{Proxy: p, StatusProxy: p}))
}
