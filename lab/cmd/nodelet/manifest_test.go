package main

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

const pod = `apiVersion: v1
kind: Pod
metadata: {name: kube-apiserver, namespace: openshift-kube-apiserver}
spec:
  containers:
  - name: kube-apiserver
    command: [kube-apiserver]
    args:
    - --openshift-config=/etc/kubernetes/static-pod-resources/configmaps/config/config.yaml
    - --advertise-address=$(HOST_IP)
    - --audit-log-path=/var/log/kube-apiserver/audit.log
    env:
    - {name: HOST_IP, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
    - {name: URL, value: "https://$(HOST_IP):6443"}
    - {name: DATA, value: /etc/kubernetes/static-pod-certs/x}
    volumeMounts:
    - {name: resource-dir, mountPath: /etc/kubernetes/static-pod-resources}
    - {name: cert-dir, mountPath: /etc/kubernetes/static-pod-certs/}
    - {name: scratch, mountPath: /tmp}
  volumes:
  - {name: resource-dir, hostPath: {path: /etc/kubernetes/static-pod-resources/kube-apiserver-pod-1}}
  - {name: cert-dir, hostPath: {path: /etc/kubernetes/static-pod-resources/kube-apiserver-certs}}
  - {name: scratch, emptyDir: {}}
`

const config = `{"kind":"KubeAPIServerConfig",
"apiServerArguments":{"etcd-servers":["https://192.0.2.10:2379","https://localhost:2379"],
  "etcd-cafile":["/etc/kubernetes/static-pod-resources/configmaps/etcd-serving-ca/ca-bundle.crt"]},
"aggregatorConfig":{"proxyClientInfo":{"certFile":"/etc/kubernetes/static-pod-certs/a.crt","keyFile":"/etc/kubernetes/static-pod-certs/a.key"}},
"serviceAccountPublicKeyFiles":["/etc/kubernetes/static-pod-resources/configmaps/sa"],
"servicesSubnet":"172.30.0.0/16",
"servingInfo":{"bindAddress":"[::]:6443","certFile":"/etc/kubernetes/static-pod-certs/s.crt","keyFile":"/etc/kubernetes/static-pod-certs/s.key",
  "clientCA":"/etc/kubernetes/static-pod-certs/ca.crt",
  "namedCertificates":[{"certFile":"/etc/kubernetes/static-pod-certs/n.crt","keyFile":"/etc/kubernetes/static-pod-certs/n.key"}]}}`

func writeFile(t *testing.T, path, text string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
	require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
}

func TestCommandsOfAStaticPod(t *testing.T) {
	root := t.TempDir()
	resources := root + "/etc/kubernetes/static-pod-resources/kube-apiserver-pod-1"
	certs := root + "/etc/kubernetes/static-pod-resources/kube-apiserver-certs"
	writeFile(t, root+manifestDir+"/kube-apiserver-pod.yaml", pod)
	writeFile(t, root+manifestDir+"/.kube-apiserver-pod.yaml.swp", "not YAML: [")
	writeFile(t, resources+"/configmaps/config/config.yaml", config)
	writeFile(t, resources+"/configmaps/sa/one.pub", "")
	n := node{root: root, binDir: "/usr/local/bin"}

	pods, err := readManifests(root + manifestDir)
	require.NoError(t, err)
	require.Len(t, pods, 1)
	commands, err := n.commands(pods[0], netip.MustParseAddr("192.0.2.10"))
	require.NoError(t, err)
	require.Len(t, commands, 1)
	require.Equal(t, []string{
		"/usr/local/bin/kube-apiserver",
		"--bind-address=::", "--secure-port=6443",
		"--tls-cert-file=" + certs + "/s.crt", "--tls-private-key-file=" + certs + "/s.key",
		"--client-ca-file=" + certs + "/ca.crt",
		"--tls-sni-cert-key=" + certs + "/n.crt," + certs + "/n.key",
		"--proxy-client-cert-file=" + certs + "/a.crt", "--proxy-client-key-file=" + certs + "/a.key",
		"--service-cluster-ip-range=172.30.0.0/16",
		"--service-account-key-file=" + resources + "/configmaps/sa/one.pub",
		"--etcd-cafile=" + resources + "/configmaps/etcd-serving-ca/ca-bundle.crt",
		"--etcd-servers=https://192.0.2.10:2379", "--etcd-servers=https://localhost:2379",
		"--advertise-address=192.0.2.10",
		"--audit-log-path=/var/log/kube-apiserver/audit.log",
	}, commands[0].argv)
	require.Equal(t, []string{"DATA=" + certs + "/x", "HOST_IP=192.0.2.10", "URL=https://192.0.2.10:6443"}, commands[0].env)
}

func TestManifestsThatCannotRunAreRefused(t *testing.T) {
	const head = "apiVersion: v1\nkind: Pod\nmetadata: {name: p, namespace: n}\nspec:\n  containers:\n  - name: c\n"
	for name, tt := range map[string]struct{ text, want string }{
		"not YAML":       {"{", "parse the static pod pod.yaml"},
		"not a pod":      {"kind: Deployment\n", "not a Pod with containers"},
		"no command":     {head + "    image: x\n", "no command"},
		"secret as env":  {head + "    command: [x]\n    env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k}}}]\n", "only values and fieldRef"},
		"unknown field":  {head + "    command: [x]\n    env: [{name: A, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]\n", "spec.nodeName is not supported"},
		"no such config": {head + "    command: [x, --openshift-config=/missing]\n", "read the configuration of kube-apiserver"},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			writeFile(t, dir+"/pod.yaml", tt.text)
			pods, err := readManifests(dir)
			if err == nil {
				_, err = (&node{root: dir}).commands(pods[0], netip.MustParseAddr("192.0.2.10"))
			}
			require.ErrorContains(t, err, tt.want)
		})
	}
}

func TestExpand(t *testing.T) {
	env := map[string]string{"A": "1", "B": "$(A)"}
	for text, want := range map[string]string{
		"":              "",
		"x$(A)y$(A)":    "x1y1",
		"$(UNKNOWN)":    "$(UNKNOWN)",
		"$$(A)":         "$(A)",
		"$(B)":          "$(A)", // values are not expanded again
		"$(A":           "$(A",
		"a$":            "a$",
		"https://$(A)/": "https://1/",
	} {
		require.Equal(t, want, expand(text, env), text)
	}
}

func TestTranslateMatchesWholePathsOnly(t *testing.T) {
	m := &pathMap{mounts: []mount{{"/etc/kubernetes/static-pod-certs", "/host/certs"}, {"/var/lib/etcd", "/data"}}}
	for word, want := range map[string]string{
		"--a=/var/lib/etcd":                "--a=/data",
		"/var/lib/etcd/member":             "/data/member",
		"/var/lib/etcd2":                   "/var/lib/etcd2",
		"/mnt/var/lib/etcd":                "/mnt/var/lib/etcd",
		"--b=/var/lib/etcd,/var/lib/etcd":  "--b=/data,/data",
		"https://x/var/lib/etcd":           "https://x/var/lib/etcd",
		"/etc/kubernetes/static-pod-certs": "/host/certs",
	} {
		require.Equal(t, want, m.translate(word), word)
	}
}

func TestReadAddresses(t *testing.T) {
	for name, tt := range map[string]struct {
		files map[string]string
		want  []string
		fails bool
	}{
		"one family":    {map[string]string{"primary-ip": "192.0.2.10\n", "ipv4": "192.0.2.10"}, []string{"192.0.2.10"}, false},
		"IPv6 primary":  {map[string]string{"primary-ip": "2001:db8::1", "ipv4": "192.0.2.10", "ipv6": "2001:db8::1"}, []string{"2001:db8::1", "192.0.2.10"}, false},
		"empty family":  {map[string]string{"primary-ip": "192.0.2.10", "ipv6": ""}, []string{"192.0.2.10"}, false},
		"no primary":    {map[string]string{"ipv4": "192.0.2.10"}, nil, true},
		"not addresses": {map[string]string{"primary-ip": "sno"}, nil, true},
		"nothing said":  {map[string]string{"primary-ip": "\n"}, nil, true},
	} {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			for file, text := range tt.files {
				writeFile(t, filepath.Join(dir, file), text)
			}
			ips, err := readAddresses(dir)
			require.Equal(t, tt.fails, err != nil, "%v", err)
			var got []string
			for _, ip := range ips {
				got = append(got, ip.String())
			}
			require.Equal(t, tt.want, got)
		})
	}
}
