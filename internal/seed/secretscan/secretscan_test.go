package secretscan

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

func TestEachRuleFindsItsKind(t *testing.T) {
	digits := "q7Zt4Kx9Lm2Rv8Wb3Nc6Hy5Jd1Fg0Ps7Tk4Xe9Qa2Ub8Vd"
	for rule, texts := range map[string][]string{
		"private-key": {"-----BEGIN RSA PRIVATE KEY-----\nMIIE\n-----END RSA PRIVATE KEY-----\n", `"key":"-----BEGIN OPENSSH PRIVATE KEY-----\nb3Bl\n-----END OPENSSH PRIVATE KEY-----\n"`,
			"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIE\n-----END ENCRYPTED PRIVATE KEY-----", "-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQ\n-----END PGP PRIVATE KEY BLOCK-----"},
		"secret-key-text": {"AGE-SECRET-KEY-1" + strings.Repeat("QZ7", 19) + "A", "-----BEGIN OpenVPN Static key V1-----\n00ff\n-----END OpenVPN Static key V1-----"},
		"json-web-key":    {`{"kty":"EC","crv":"P-256","x":"abc","d":"` + digits[:43] + `"}`},
		"token-signed":    {"token: " + jwt("x")},
		"registry-login":  {`{"auths":{"r":{"auth":"` + b64("robot:"+digits[:12]) + `"}}}`, `{\"auths\":{\"r\":{\"identitytoken\":\"` + digits + `\"}}}`},
		"password-hash":   {"core:$6$salt$" + digits + ":1", "$y$j9T$abcdefgh$" + digits, "admin:$2y$10$" + digits, "u:$apr1$salt$" + digits[:22], "{SSHA}" + digits},
		"token-openshift": {"sha256~" + digits[:43]},
		"token-bootstrap": {"token: abcdef.0123456789abcdef"},
		"token-forge":     {"ghp_" + digits[:36], "glpat-" + digits[:20], "github_pat_" + digits, "npm_" + digits[:36]},
		"token-chat":      {"xoxb-123456789012-" + digits[:12], "https://hooks.slack.com/services/T00000000/B00000000/" + digits[:24]},
		"key-cloud":       {"AKIAIOSFODNN7EXAMPL3", "AIza" + digits[:35], "DefaultEndpointsProtocol=https;AccountKey=" + digits + "=="},
		"token-service":   {"hvs." + digits[:24], "SG." + digits[:22] + "." + digits[:43]},
		"login-in-url":    {"http://user:hunter22@proxy.example.com:3128"},
		"login-in-header": {"Authorization: Basic " + b64("user:hunter22")},
		"login-in-netrc":  {"machine example.com login me password hunter22"},
		"wireguard-key":   {"[Interface]\nPrivateKey = " + digits[:43] + "="},
		"ipsec-secret":    {`192.0.2.1 %any : PSK "hunter22"`},
		"network-secret":  {"[wifi-security]\npsk=hunter22\n", "network={\n  psk=\"hunter22\"\n}", "WPA_PSK='hunter22'"},
		"dns-key":         {`key "x" { algorithm hmac-sha256; secret "` + digits[:43] + `="; };`},
		"iscsi-chap":      {"node.session.auth.password = hunter22"},
		ruleKeyword:       {"db_password: hunter22", `{"clientSecret":"` + digits[:20] + `"}`, "API_KEY=" + digits[:32], "bind password=hunter22 # c"},
	} {
		for _, text := range texts {
			s := New(nil, nil)
			out, _ := s.File("/etc/app.conf", []byte(text))
			require.NotEmpty(t, s.Report.Found, "%s: %s", rule, text)
			require.Equal(t, rule, s.Report.Found[0].Rule, text)
			if rule != ruleKeyword {
				for _, secret := range []string{digits[:12], "hunter22", "MIIE", b64("user:hunter22"), "AKIAIOS"} {
					require.NotContains(t, string(out), secret, text)
				}
				again := New(nil, nil)
				_, action := again.File("/etc/app.conf", out)
				require.Equal(t, LeaveFile, action, "a second run finds nothing: %s", out)
			}
		}
	}
}

func TestWhatIsNoSecretStays(t *testing.T) {
	for _, text := range []string{
		"-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----", "-----BEGIN PUBLIC KEY-----\nMFkw\n-----END PUBLIC KEY-----",
		"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIN7x0v9q3mS7nKqU3Zr8dQ0t4pKX core@site", "secretName: router-certs-default", "tokenFile: /var/run/secrets/token",
		"password: $(DB_PASSWORD)", "password: ${PASSWORD}", "passwordSecretRef: db", "secret: my-app-tls", "token: true", "accessTokenMaxAgeSeconds: 86400",
		"--tls-private-key-file=/etc/tls/tls.key", "core:!*:19000:0:99999:7:::", "root:*:1:", "the password: it is said in prose somewhere", "http://proxy.example.com:3128",
		"password requisite pam_pwquality.so try_first_pass", "password: changeme", `"auth":"cGxhY2Vob2xkZXI6cGxhY2Vob2xkZXI="`, "passwd: files sss", "password: {{ .Values.x }}",
		"kubeadmin: $2a$10$" + strings.Repeat(".", 53), "apiVersion: v1\nkind: Secret\nmetadata:\n  name: x", "image: quay.io/a/b@sha256:" + strings.Repeat("0a", 32),
		"checksum/config: " + strings.Repeat("1f", 32), "secrets:\n- name: default-dockercfg-x7k2p", "token: " + voidSignature(jwt("x")),
	} {
		s := New(nil, nil)
		out, action := s.File("/etc/app.conf", []byte(text))
		require.Equal(t, LeaveFile, action, "%s: %v", text, s.Report.Found)
		require.Empty(t, s.Report.Found, text)
		require.Equal(t, text, string(out))
	}
}

// What was compiled names and imitates secrets, as lca-cli does: it stays, and the report says that it was not examined.
func TestACompiledProgramIsPassedOver(t *testing.T) {
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIPlanted\n-----END EC PRIVATE KEY-----\n"
	program := "\x7fELF\x02\x01\x01" + key
	want := Unexamined{Where: "/var/usrlocal/bin/lca-cli", Why: "is a compiled program"}
	s := New(nil, nil)
	out, action := s.File("/var/usrlocal/bin/lca-cli", []byte(program))
	require.Equal(t, LeaveFile, action)
	require.Equal(t, program, string(out))
	large := New(nil, nil)
	action, err := large.LargeFile("/var/usrlocal/bin/lca-cli", strings.NewReader(program))
	require.NoError(t, err)
	require.Equal(t, LeaveFile, action)
	for _, s := range []*Scan{s, large} {
		require.Empty(t, s.Report.Found)
		require.Contains(t, s.Report.NotExamined, want)
	}
	_, action = New(nil, nil).File("/var/usrlocal/bin/script", []byte("#!/bin/sh\n"+key))
	require.NotEqual(t, LeaveFile, action, "a script is examined")
}

// What is packed in each other is unpacked, edited and packed again.
func TestPackedSecretsAreFound(t *testing.T) {
	key := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIPlanted\n-----END EC PRIVATE KEY-----\n"
	for name, text := range map[string]string{
		"base64": b64(key), "twice": b64(b64(key)), "gzip": zip(key), "gzip in base64": "x: " + b64(zip(key)), "data URL": "data:text/plain;base64," + b64(key),
		"data URL in percent": "source: data:," + strings.NewReplacer("\n", "%0A", " ", "%20").Replace(key), "in JSON": jsonOf(map[string]string{"a": key}),
		"wrapped": wrap(b64(key + strings.Repeat("padding ", 20))),
	} {
		s := New(nil, nil)
		out, action := s.File("/etc/x", []byte(text))
		require.NotEqual(t, LeaveFile, action, name)
		again := New(nil, nil)
		again.File("/etc/x", out)
		require.Empty(t, again.Report.Found, name)
	}
}

func TestAHelmReleaseWithASecretIsDeleted(t *testing.T) {
	release := func(text string) []byte {
		data, err := json.Marshal(map[string]any{"kind": "Secret", "apiVersion": "v1", "data": map[string][]byte{"release": []byte(b64(zip(text)))}})
		require.NoError(t, err)
		return data
	}
	s := New(nil, nil)
	_, _, deleted := s.Object(host.KeyValue{Key: "/kubernetes.io/secrets/app/sh.helm.release.v1.db.v1", Value: release(`{"manifest":"kind: Secret\ndata:\n  x: aHVudGVyMjI="}`)})
	require.True(t, deleted)
	_, changed, deleted := s.Object(host.KeyValue{Key: "/kubernetes.io/secrets/app/sh.helm.release.v1.web.v1", Value: release(`{"manifest":"kind: Service"}`)})
	require.False(t, changed || deleted)
	require.Equal(t, []Found{{Rule: ruleHelm, Object: "secrets/app/sh.helm.release.v1.db.v1", Decision: Removed, Reason: "a Helm release with Secrets in it"}}, s.Report.Found)
}

func TestDecisionsOfTheUserCount(t *testing.T) {
	value := []byte(`{"kind":"Secret","apiVersion":"v1","data":{"password":"` + b64("hunter22x") + `"}}`)
	for name, c := range map[string]struct {
		rulings []Ruling
		want    Decision
	}{
		"none":       {nil, Refused},
		"kept":       {[]Ruling{{Object: "secrets/app/*", Keep: true, Reason: "of a demo"}}, Allowed},
		"of its key": {[]Ruling{{Object: "secrets/app/db", Key: "password", Keep: true, Reason: "of a demo"}}, Allowed},
		"of another": {[]Ruling{{Object: "secrets/app/db", Key: "other", Keep: true, Reason: "of a demo"}}, Refused},
		"removed":    {[]Ruling{{Object: "secrets/app/db", Reason: "the site has its own"}}, Removed},
		"of a file":  {[]Ruling{{Path: "/**", Keep: true, Reason: "x"}}, Refused},
	} {
		s := New(c.rulings, nil)
		out, changed, _ := s.Object(host.KeyValue{Key: "/kubernetes.io/secrets/app/db", Value: value})
		s.Report.Finish()
		require.Len(t, s.Report.Found, 1, name)
		require.Equal(t, c.want, s.Report.Found[0].Decision, name)
		require.Equal(t, c.want == Removed, changed, name)
		require.Equal(t, c.want == Refused, s.Report.Refusal() != "", name)
		if changed {
			require.Contains(t, string(out), b64(Placeholder))
		}
		report, err := json.Marshal(s.Report)
		require.NoError(t, err)
		require.NotContains(t, string(report), "hunter")
	}
}

func TestWhatRecertRenewedShips(t *testing.T) {
	old := "-----BEGIN EC PRIVATE KEY-----\nMHcCAQEEIOld\n-----END EC PRIVATE KEY-----\n"
	fresh := strings.ReplaceAll(old, "Old", "New")
	object := func(text string) host.KeyValue {
		return host.KeyValue{Key: "/kubernetes.io/secrets/a/tls", Value: []byte(`{"kind":"Secret","apiVersion":"v1","data":{"tls.key":"` + b64(text) + `"}}`)}
	}
	s := New(nil, NewSeen("salt"))
	s.NoteObject(object(old))
	_, changed, _ := s.Object(object(fresh))
	require.False(t, changed)
	require.Equal(t, Renewed, s.Report.Found[0].Decision)
	_, changed, _ = s.Object(object(old))
	require.True(t, changed, "a key that the seed has, too")
	_, action := s.File("/etc/pki/tls/private/x.key", []byte(old))
	require.Equal(t, RewriteFile, action)
	_, action = s.File("/var/lib/app/x.key", []byte(fresh))
	require.Equal(t, RewriteFile, action, "recert renews nothing there")
}

func TestTheDocumentationListsEachRule(t *testing.T) {
	page, err := os.ReadFile("../../../docs/seed-images.md")
	require.NoError(t, err)
	for _, r := range append(textRules(), wholeRules()...) {
		require.Contains(t, string(page), "`"+r.Name+"`")
	}
}

func FuzzFile(f *testing.F) {
	for _, seed := range []string{"password: hunter22", b64(zip("-----BEGIN PRIVATE KEY-----\nx\n-----END PRIVATE KEY-----")), "k8s\x00\n\x02\x0a\x00", "\xfe\xed\xfe\xed\x00\x00\x00\x02\x00\x00\x00\x01",
		jwt("x"), "data:,%2", `{"auths":{"a":{"auth":"YTpi"}}}`, "\x30\x82\x01\x00\x02\x01\x03\x30"} {
		f.Add([]byte(seed))
	}
	s := New(nil, nil)
	f.Fuzz(func(t *testing.T, data []byte) {
		s.Report = Report{}
		out, action := s.File("/etc/x", data)
		if action == LeaveFile && !bytes.Equal(out, data) {
			t.Fatal("a file that is left was changed")
		}
		if len(out) > 8*len(data)+4096 {
			t.Fatalf("%d bytes became %d", len(data), len(out))
		}
		for _, key := range []string{"secrets/a/b", "configmaps/a/b", "pods/a/b", "secrets/a/sh.helm.release.v1.x.v1"} {
			s.Object(host.KeyValue{Key: "/kubernetes.io/" + key, Value: data})
			s.Object(host.KeyValue{Key: "/kubernetes.io/" + key, Value: append([]byte("k8s\x00"), data...)})
		}
		if _, err := s.LargeFile("/var/x", bytes.NewReader(data)); err != nil {
			t.Fatal(err)
		}
		s.Report.Finish()
	})
}

func BenchmarkFile(b *testing.B) {
	var text strings.Builder
	for i := range 20000 {
		fmt.Fprintf(&text, "- name: line-%d\n  value: the text of a configuration # and its note\n", i)
		if i%50 == 0 {
			fmt.Fprintf(&text, "  secretName: x-%d\n  tokenFile: /var/run/%d\n", i, i)
		}
	}
	data := []byte(text.String())
	s := New(nil, nil)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		s.File("/etc/x", data)
	}
}

func b64(text string) string { return base64.StdEncoding.EncodeToString([]byte(text)) }

func zip(text string) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	_, _ = w.Write([]byte(text))
	_ = w.Close()
	return b.String()
}

func wrap(text string) string {
	var out strings.Builder
	for ; len(text) > 76; text = text[76:] {
		out.WriteString(text[:76] + "\n")
	}
	return out.String() + text
}

func jsonOf(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(data)
}

func jwt(subject string) string {
	raw := base64.RawURLEncoding
	return raw.EncodeToString([]byte(`{"alg":"RS256","kid":"g"}`)) + "." + raw.EncodeToString([]byte(`{"sub":"`+subject+`"}`)) + "." +
		raw.EncodeToString([]byte("a signature of "+subject+" that is long enough"))
}
