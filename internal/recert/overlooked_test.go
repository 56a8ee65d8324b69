package recert

import (
	"bytes"
	"compress/gzip"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// gzipped compresses a text, as often as asked.
func gzipped(t *testing.T, text string, times int) string {
	t.Helper()
	for range times {
		var out bytes.Buffer
		z := gzip.NewWriter(&out)
		if _, err := z.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
		if err := z.Close(); err != nil {
			t.Fatal(err)
		}
		text = out.String()
	}
	return text
}

// withMachineConfig stores a MachineConfig with one file.
func withMachineConfig(b *builder, name, source string) {
	b.json("machineconfiguration.openshift.io/machineconfigs/"+name, map[string]any{"kind": "MachineConfig", "spec": map[string]any{
		"config": map[string]any{"storage": map[string]any{"files": []any{map[string]any{"path": "/etc/x", "contents": map[string]any{"source": source}}}}}}})
}

func sourceOf(name string) string {
	return rules.StoragePrefix + "machineconfiguration.openshift.io/machineconfigs/" + name + " spec/config/storage/files/0/contents/source"
}

// lists are those of a plan and of a scan that somebody looks through.
type lists struct{ mentions, notRead []inspect.Note }

func listsOf(t *testing.T, w *world) map[string]lists {
	t.Helper()
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil || len(plan.Blocked) > 0 {
		t.Fatalf("%v, blocked %v", err, plan.Blocked)
	}
	inventory, err := engine(w).Scan(t.Context(), mustConfig(t, w))
	if err != nil {
		t.Fatal(err)
	}
	return map[string]lists{"plan": {plan.Leftovers, plan.NotRead}, "scan": {inventory.Leftovers, inventory.NotRead}}
}

// What a MachineConfig carries is looked into in whatever form Ignition may find it, or listed.
func TestFilesOfMachineConfigsAreLookedInto(t *testing.T) {
	self := clustertest.Leaf(t, nil, "p256", "own", oldV4)
	std, url, raw := base64.StdEncoding.EncodeToString, base64.URLEncoding.EncodeToString, base64.RawURLEncoding.EncodeToString
	mention := []byte("\xff\xfe\xfd HOST=" + oldV4 + " \xfb\xff") // with digits in which the alphabets differ
	w := newWorld(t)
	b := &builder{t: t, w: w}
	mentions := map[string]string{ // by name, what the list says
		"url-safe": "mentions " + oldV4 + " inside a data URL", "unpadded": "mentions " + oldV4 + " inside a data URL",
		"escaped": "mentions " + oldV4 + " inside a data URL", "gzip-twice": "mentions " + oldV4 + " inside a data URL",
		"gzip-certificate": "has a certificate with an old address or name, compressed inside a data URL"}
	withMachineConfig(b, "url-safe", "data:;base64,"+url(mention))
	withMachineConfig(b, "unpadded", "data:;base64,"+raw(mention))
	withMachineConfig(b, "escaped", "data:;base64,"+strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(std(mention)))
	withMachineConfig(b, "gzip-twice", "data:;base64,"+std([]byte(gzipped(t, string(mention), 2))))
	withMachineConfig(b, "gzip-certificate", "data:;base64,"+std([]byte(gzipped(t, self.CertPEM, 1))))
	notRead := map[string]string{"no-base64": "a data URL is not base64", "gzip-deep": "is compressed more than", "gzip-cut": "cannot be unpacked", "gzip-large": "unpacks to more than"}
	withMachineConfig(b, "no-base64", "data:;base64,####")
	withMachineConfig(b, "gzip-deep", "data:;base64,"+std([]byte(gzipped(t, string(mention), 6))))
	withMachineConfig(b, "gzip-cut", "data:;base64,"+std([]byte(gzipped(t, string(mention), 1)[:20])))
	withMachineConfig(b, "gzip-large", "data:;base64,"+std([]byte(gzipped(t, strings.Repeat("0", 5<<20), 1))))
	for name, l := range listsOf(t, w) {
		for config, want := range mentions {
			if !strings.Contains(fmt.Sprint(l.mentions), sourceOf(config)+" "+want) {
				t.Errorf("%s: %s is not in %v", name, config, l.mentions)
			}
		}
		for config, want := range notRead {
			if list := fmt.Sprint(l.notRead); !strings.Contains(list, sourceOf(config)) || !strings.Contains(list, want) {
				t.Errorf("%s: %s is not in %v", name, config, l.notRead)
			}
		}
		if len(l.notRead) != len(notRead) {
			t.Errorf("%s: %v", name, l.notRead)
		}
	}
	if v := verified(t, w); !strings.Contains(fmt.Sprint(v.Unknown), sourceOf("gzip-deep")) {
		t.Errorf("unknown %v", v.Unknown)
	}
}

// A certificate that a MachineConfig carries in another alphabet of base64, or in a kubeconfig, is replaced in that form.
func TestCertificatesInDataURLsKeepTheirForm(t *testing.T) {
	self := clustertest.Leaf(t, nil, "p256", "own", oldV4)
	kubeconfig := func(pem string) string {
		return "users:\n- user:\n    client-certificate-data: " + base64.StdEncoding.EncodeToString([]byte(pem)) + "\n"
	}
	odd := strings.Repeat("#", 3-len(self.CertPEM)%3) // the length shows that there is no padding
	for name, form := range map[string]func(pem string) string{
		"url-safe": func(pem string) string { return base64.URLEncoding.EncodeToString([]byte("#\xff\xfe\xfb\n" + pem)) },
		"unpadded": func(pem string) string {
			return base64.RawURLEncoding.EncodeToString([]byte(odd + "\xff\xfe\xfb\n" + pem))
		},
		"escaped": func(pem string) string {
			return strings.NewReplacer("+", "%2B", "/", "%2F", "=", "%3D").Replace(base64.StdEncoding.EncodeToString([]byte("#\xff\xfe\xfb\n" + pem)))
		},
		"kubeconfig": func(pem string) string { return base64.StdEncoding.EncodeToString([]byte(kubeconfig(pem))) },
	} {
		w := newWorld(t)
		b := &builder{t: t, w: w}
		b.secret("ns", "own", map[string]string{"tls.crt": self.CertPEM, "tls.key": self.KeyPEM})
		withMachineConfig(b, "77-own", "data:;base64,"+form(self.CertPEM))
		runRecert(t, w)
		texts := worldTexts(t, w)
		fresh := texts[rules.StoragePrefix+"secrets/ns/own data/tls.crt"]
		if got := texts[sourceOf("77-own")]; got != "data:;base64,"+form(fresh) || fresh == self.CertPEM {
			t.Errorf("%s: it became %s", name, got)
		}
	}
}

// folded writes a text as a person's editor or a program wraps it.
func folded(text, separator string, width int) string {
	var out strings.Builder
	for ; len(text) > width; text = text[width:] {
		out.WriteString(text[:width] + separator)
	}
	return out.String() + text
}

// Base64 in a kubeconfig may go on in further lines, as YAML allows in each style.
func TestFoldedKubeconfigsAreReplaced(t *testing.T) {
	self := clustertest.Leaf(t, nil, "p256", "own", oldV4)
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.secret("ns", "own", map[string]string{"tls.crt": self.CertPEM, "tls.key": self.KeyPEM})
	const before, after = "users:\n- name: u\n  user:\n    client-certificate-data: ", "\n    client-key-data: LS0tLS1CRUdJTg==\ncontexts: []\n"
	shapes := map[string]func(pem string) string{}
	for name, s := range map[string]struct {
		begin, separator, end string
		width                 int
	}{
		"plain": {"", "\n      ", "", 76}, "below": {"\n      ", "\n      ", "", 64}, "folded": {">-\n      ", "\n      ", "", 76}, "literal": {"|\n      ", "\n      ", "", 60},
		"double": {`"`, "\n      ", `"`, 76}, "single": {"'", "\n      ", "'", 76}, "tabs-and-crlf": {"", "\r\n\t  ", "", 76}, "narrow": {">\n      ", "\n      ", "", 8},
		"one-line": {"", "\n      ", "", 1 << 20},
	} {
		shapes[name] = func(pem string) string {
			return before + s.begin + folded(base64.StdEncoding.EncodeToString([]byte(pem)), s.separator, s.width) + s.end + after
		}
	}
	inJSON := shapes["folded"]
	shapes["in-json"] = func(pem string) string { return mustJSON(map[string]string{"kubeconfig": inJSON(pem)}) }
	for name, shape := range shapes {
		b.configMap("folds", name, map[string]string{"kubeconfig": shape(self.CertPEM)})
		b.file("/etc/kubernetes/"+name+".kubeconfig", shape(self.CertPEM))
	}
	runRecert(t, w)
	texts := worldTexts(t, w)
	fresh := texts[rules.StoragePrefix+"secrets/ns/own data/tls.crt"]
	for name, shape := range shapes {
		for _, at := range []string{rules.StoragePrefix + "configmaps/folds/" + name + " data/kubeconfig", "/etc/kubernetes/" + name + ".kubeconfig"} {
			if got := texts[at]; got != shape(fresh) || fresh == self.CertPEM {
				t.Errorf("%s: it became\n%s", at, got)
			}
		}
	}
}

func TestAKubeconfigThatCannotBeReadIsListed(t *testing.T) {
	w := newWorld(t)
	(&builder{t: t, w: w}).configMap("ns", "broken", map[string]string{"kubeconfig": "    client-certificate-data: LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS\n"})
	for name, l := range listsOf(t, w) {
		if !strings.Contains(fmt.Sprint(l.notRead), "configmaps/ns/broken data/kubeconfig a field of a kubeconfig is not base64") {
			t.Errorf("%s: %v", name, l.notRead)
		}
	}
}

// TestAPEMThatCannotBeReadIsListed, in an object and in a file: it may be a certificate of the old address.
func TestAPEMThatCannotBeReadIsListed(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	b.secret("ns", "broken", map[string]string{"tls.crt": "-----BEGIN CERTIFICATE-----\nMIIB!!!\n-----END CERTIFICATE-----\n"})
	b.file("/etc/kubernetes/cut.crt", "-----BEGIN CERTIFICATE-----\nMIIBszCCAVmgAwIBAgI")
	for name, l := range listsOf(t, w) {
		for _, want := range []string{
			"secrets/ns/broken data/tls.crt a CERTIFICATE in PEM is not base64", "/etc/kubernetes/cut.crt a CERTIFICATE in PEM has no end",
		} {
			if !strings.Contains(fmt.Sprint(l.notRead), want) {
				t.Errorf("%s: %v, not %q", name, l.notRead, want)
			}
		}
	}
}

func TestAFileThatIsTooLargeIsListed(t *testing.T) {
	w := newWorld(t)
	(&builder{t: t, w: w}).file("/etc/kubernetes/large", strings.Repeat("x", 9<<20))
	for name, l := range listsOf(t, w) {
		if !strings.Contains(fmt.Sprint(l.notRead), "/etc/kubernetes/large is larger than 8 MiB") {
			t.Errorf("%s: %v", name, l.notRead)
		}
	}
}

// Parts of a certificate that no rule rewrites are listed, of authorities too.
func TestMentionsInCertificatesAreListed(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	ca := clustertest.Authority(t, "users", "p256")
	b.secret("ns", "users", map[string]string{"tls.crt": ca.CertPEM, "tls.key": ca.KeyPEM})
	template := func(cn string, edit func(*x509.Certificate)) *x509.Certificate {
		c := &x509.Certificate{SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: cn}}
		edit(c)
		return c
	}
	none := func(*x509.Certificate) {}
	points := func(c *x509.Certificate) { c.CRLDistributionPoints = []string{"http://" + oldV4 + "/ca.crl"} }
	want := map[string]string{}
	for name, c := range map[string]struct {
		template *x509.Certificate
		part     string
	}{
		"node-name":   {template("system:node:"+oldV4, none), "common name"},
		"node-dashed": {template("node-"+oldV4+".example.com", none), "common name"},
		"crl":         {template("crl", points), "CRL distribution points"},
		"crl-six":     {template("crl6", func(c *x509.Certificate) { c.CRLDistributionPoints = []string{"http://[" + oldV6 + "]/ca.crl"} }), "CRL distribution points"},
		"ocsp":        {template("ocsp", func(c *x509.Certificate) { c.OCSPServer = []string{"http://" + oldV4 + "/"} }), "authority information access"},
		"unit":        {template("unit", func(c *x509.Certificate) { c.Subject.OrganizationalUnit = []string{"at " + oldV4} }), "subject"},
		"dns":         {template("dns", func(c *x509.Certificate) { c.DNSNames = []string{oldV4 + ".nip.io"} }), "DNS names"},
		"authority": {template("authority", func(c *x509.Certificate) {
			points(c)
			c.IsCA, c.BasicConstraintsValid = true, true
		}), "CRL distribution points"},
		"neighbour": {template("system:node:"+lookalike, none), ""},
	} {
		made := clustertest.MakePair(t, c.template, clustertest.NewKey(t, "p256"), ca)
		b.configMap("parts", name, map[string]string{"tls.crt": made.CertPEM})
		want[name] = c.part
	}
	for name, l := range listsOf(t, w) {
		for cert, part := range want {
			at := rules.StoragePrefix + "configmaps/parts/" + cert + " data/tls.crt mentions "
			said := strings.Contains(fmt.Sprint(l.mentions), at)
			if said != (part != "") || said && !strings.Contains(fmt.Sprint(l.mentions), " in the "+part+" of the certificate of ") {
				t.Errorf("%s: %s: listed: %t in %v", name, cert, said, l.mentions)
			}
		}
	}
}

// A URL in the common name follows like one among the other names, and what else the certificate mentions is listed still.
func TestAURLInTheCommonNameIsRewritten(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	self := clustertest.MakePair(t, &x509.Certificate{SerialNumber: big.NewInt(9), Subject: pkix.Name{CommonName: "https://" + oldV4 + ":8443/x"},
		CRLDistributionPoints: []string{"http://" + oldV4 + "/ca.crl"}}, clustertest.NewKey(t, "p256"), nil)
	b.secret("ns", "url", map[string]string{"tls.crt": self.CertPEM, "tls.key": self.KeyPEM})
	plan, err := engine(w).Apply(t.Context(), configPath)
	if err != nil {
		t.Fatal(err)
	}
	if cn := certificateAt(t, w, "secrets/ns/url data/tls.crt", 0).Subject.CommonName; cn != "https://"+newV4+":8443/x" {
		t.Errorf("its name is %s", cn)
	}
	if want := "secrets/ns/url data/tls.crt mentions " + oldV4 + " in the CRL distribution points"; !strings.Contains(fmt.Sprint(plan.Leftovers), want) {
		t.Errorf("mentions: %v", plan.Leftovers)
	}
}
