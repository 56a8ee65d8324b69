package recert

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"google.golang.org/protobuf/encoding/protowire"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/clustertest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/inspect"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// A field of bytes may begin with a comment, so PEM in it begins at any of the three places that base64 tells apart.
func TestPEMInBase64IsFoundWhereverItBegins(t *testing.T) {
	self := clustertest.Leaf(t, nil, "p256", "x", oldV4)
	for _, before := range []string{"", "\n", "##", "# ours\n"} {
		w := newWorld(t)
		b := &builder{t: t, w: w}
		b.secret("ns", "own", map[string]string{"tls.crt": self.CertPEM, "tls.key": self.KeyPEM})
		bundle := base64.StdEncoding.EncodeToString([]byte(before + self.CertPEM))
		b.json("apiregistration.k8s.io/apiservices/v1.x", map[string]any{"kind": "APIService", "spec": map[string]any{"caBundle": bundle}})
		b.json("machineconfiguration.openshift.io/controllerconfigs/c",
			map[string]any{"kind": "ControllerConfig", "spec": map[string]any{"additionalTrustBundle": bundle, "note": "0tLS is no PEM"}})
		runRecert(t, w)
		texts := worldTexts(t, w)
		want := before + texts[rules.StoragePrefix+"secrets/ns/own data/tls.crt"]
		for _, at := range []string{"apiregistration.k8s.io/apiservices/v1.x spec/caBundle",
			"machineconfiguration.openshift.io/controllerconfigs/c spec/additionalTrustBundle"} {
			if got := texts[rules.StoragePrefix+at]; got != want || strings.Contains(got, self.CertPEM) {
				t.Errorf("after %q: %s is %q", before, at, got)
			}
		}
	}
}

// The files of testdata/awkward are shapes that clusters and people make. A file is what it is before a change and after it: what
// is to change stands in it as a mark ("@LEAF@", "@IP@"), all else is to stay, to the byte.

// shapes renders the files.
type shapes struct {
	ca, leaf, other *clustertest.Pair
}

// render puts the leaf's certificate and the node's address into a text.
func (s shapes) render(t *testing.T, text, leafPEM, address string) string {
	t.Helper()
	crlf := func(pem string) string { return strings.ReplaceAll(pem, "\n", "\r\n") }
	to64 := func(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }
	var zipped bytes.Buffer
	z := gzip.NewWriter(&zipped)
	if _, err := z.Write([]byte("HOST_IP=192.0.2.1\n")); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return strings.NewReplacer("@LEAF@", leafPEM, "@LEAF64@", to64(leafPEM), "@LEAFCRLF@", crlf(leafPEM), "@LEAFPERCENT@", url.PathEscape(leafPEM),
		"@CA@", s.ca.CertPEM, "@CA64@", to64(s.ca.CertPEM), "@CACRLF@", crlf(s.ca.CertPEM), "@KEY64@", to64(s.leaf.KeyPEM),
		"@OTHER@", s.other.CertPEM, "@OTHER64@", to64(s.other.CertPEM), "@GZIP@", to64(zipped.String()), "@IP@", address).Replace(text)
}

// places says where the files go: as files, and as entries of config maps and objects.
func places(name string) []string {
	switch name {
	case "machineconfig.json":
		return []string{"machineconfiguration.openshift.io/machineconfigs/77-awkward", "/etc/machine-config-daemon/currentconfig"}
	case "etcd-pod.yaml":
		return []string{"/etc/kubernetes/manifests/etcd-pod.yaml"}
	}
	return []string{"/etc/kubernetes/" + name, "configmaps/awkward/" + strings.ReplaceAll(name, ".", "-")}
}

func TestAwkwardShapes(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	s := shapes{ca: clustertest.Authority(t, "shapes", "rsa")}
	s.leaf, s.other = clustertest.Leaf(t, s.ca, "p256", "leaf", oldV4, "https://"+oldV4+"/"), clustertest.Leaf(t, s.ca, "p256", "other", lookalike)
	root := clustertest.Authority(t, "root of shapes", "p384")
	b.secret("ns", "shapes-signer", map[string]string{"tls.crt": s.ca.CertPEM, "tls.key": s.ca.KeyPEM})
	b.secret("ns", "chain", map[string]string{"tls.crt": s.leaf.CertPEM + s.ca.CertPEM + root.CertPEM, "tls.key": s.leaf.KeyPEM, "ca.crt": root.CertPEM})
	b.put("secrets/ns/unknown-fields", unknownFields(s.leaf.CertPEM))
	files, err := filepath.Glob("testdata/awkward/*")
	if err != nil || len(files) != 5 {
		t.Fatalf("%v: %d files", err, len(files))
	}
	want := map[string]func(leafPEM, address string) string{}
	for _, file := range files {
		template, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, at := range places(filepath.Base(file)) {
			text := string(template)
			fill := func(leafPEM, address string) string { return s.render(t, text, leafPEM, address) }
			want[at] = fill
			b.shape(at, fill(s.leaf.CertPEM, oldV4))
		}
	}
	plan, err := engine(w).Apply(t.Context(), configPath)
	if err != nil {
		t.Fatal(err)
	}
	fresh := certificateAt(t, w, "secrets/ns/chain data/tls.crt", 0)
	if fresh.Equal(s.leaf.Cert) || fresh.CheckSignatureFrom(s.ca.Cert) != nil {
		t.Fatal("the leaf was not signed again by its authority")
	}
	leafPEM := clustertest.PEMText("CERTIFICATE", fresh.Raw)
	for at, fill := range want {
		if got := w.shape(t, at); got != fill(leafPEM, newV4) {
			t.Errorf("%s is not as it should be:\n%s", at, excerpt([]byte(got), []byte(fill(leafPEM, newV4))))
		}
	}
	if got := worldTexts(t, w)[rules.StoragePrefix+"secrets/ns/chain data/tls.crt"]; got != leafPEM+s.ca.CertPEM+root.CertPEM {
		t.Error("the chain is another one")
	}
	if got := w.keys[rules.StoragePrefix+"secrets/ns/unknown-fields"].Value; !bytes.Equal(got, unknownFields(leafPEM)) {
		t.Error("fields that nobody here knows changed")
	}
	mentions(t, plan)
}

// mentions demands that what stays and names the old address is on the list for people to look at.
func mentions(t *testing.T, plan *Plan) {
	t.Helper()
	for _, file := range []string{"0", "3"} {
		at := rules.StoragePrefix + "machineconfiguration.openshift.io/machineconfigs/77-awkward spec/config/storage/files/" + file + "/contents/source"
		if want := (inspect.Note{Where: at, Why: "mentions 192.0.2.1 inside a data URL"}); !slices.Contains(plan.Leftovers, want) {
			t.Errorf("the plan does not list %v", want)
		}
	}
}

// unusualKey is what the config maps call the entry.
const unusualKey = "..ca_OF-the.proxy"

func (b *builder) shape(at, text string) {
	switch {
	case strings.HasPrefix(at, "/"):
		b.file(at, text)
	case strings.HasPrefix(at, "configmaps/"):
		b.configMap("awkward", strings.TrimPrefix(at, "configmaps/awkward/"), map[string]string{unusualKey: text, "other": "x"})
	default:
		b.put(at, []byte(text))
	}
}

func (w *world) shape(t *testing.T, at string) string {
	switch {
	case strings.HasPrefix(at, "/"):
		return string(w.files[at].data)
	case strings.HasPrefix(at, "configmaps/"):
		return worldTexts(t, w)[rules.StoragePrefix+at+" data/"+unusualKey]
	}
	return string(w.keys[rules.StoragePrefix+at].Value)
}

// unknownFields is a Secret in protobuf as a later version may write it: fields, wire types and an order of which this one knows
// nothing, at every level.
func unknownFields(leafPEM string) []byte {
	bytesField := func(n protowire.Number, content []byte) []byte {
		return protowire.AppendBytes(protowire.AppendTag(nil, n, protowire.BytesType), content)
	}
	fixed := protowire.AppendFixed64(protowire.AppendTag(nil, 77, protowire.Fixed64Type), 1<<60)
	sum := sha256.Sum256([]byte("anything"))
	entry := bytes.Join([][]byte{bytesField(9, sum[:]), bytesField(2, []byte(leafPEM)), fixed, bytesField(1, []byte("tls.crt"))}, nil)
	meta := bytes.Join([][]byte{bytesField(1, []byte("unknown-fields")), bytesField(500, []byte("of 192.0.2.1")), bytesField(3, []byte("ns"))}, nil)
	raw := bytes.Join([][]byte{fixed, bytesField(2, entry), bytesField(1, meta), bytesField(2, bytesField(1, []byte("empty"))), bytesField(15, nil)}, nil)
	kind := append(bytesField(1, []byte("v1")), bytesField(2, []byte("Secret"))...)
	return bytes.Join([][]byte{[]byte("k8s\x00"), bytesField(1, kind), bytesField(8, sum[:]), bytesField(2, raw), bytesField(4, []byte("gzip?"))}, nil)
}

// PEM in a string of JSON, in a text, has its ends of lines escaped, and slashes perhaps.
func TestPEMInJSONInATextIsReplaced(t *testing.T) {
	w := newWorld(t)
	b := &builder{t: t, w: w}
	self := clustertest.Leaf(t, nil, "p256", "x", oldV4)
	b.secret("ns", "own", map[string]string{"tls.crt": self.CertPEM, "tls.key": self.KeyPEM})
	once := mustJSON(map[string]any{"ca": self.CertPEM})
	b.configMap("ns", "json", map[string]string{"once": once, "slashes": strings.ReplaceAll(once, "/", `\/`), "twice": mustJSON(map[string]any{"inner": once})})
	runRecert(t, w)
	texts := worldTexts(t, w)
	fresh := texts[rules.StoragePrefix+"secrets/ns/own data/tls.crt"]
	again := mustJSON(map[string]any{"ca": fresh})
	for entry, want := range map[string]string{"once": again, "slashes": again, "twice": mustJSON(map[string]any{"inner": again})} {
		if got := texts[rules.StoragePrefix+"configmaps/ns/json data/"+entry]; got != want || fresh == self.CertPEM {
			t.Errorf("%s: got %s\nwant %s", entry, got, want)
		}
	}
}
