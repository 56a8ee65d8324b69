package clustercopy

import (
	"net/netip"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const manifest = `
metadata: {name: etcd, namespace: openshift-etcd}
spec:
  containers:
  - name: other
    image: quay.io/x/other:1
  - name: etcd
    image: quay.io/x/etcd@sha256:11
    command: [/bin/sh, -c]
    args: ["exec etcd --name=$(NAME) --url=https://$(URL_HOST):2380 $$HOME $(UNKNOWN) $"]
    env:
    - {name: NAME, value: sno}
    - {name: URL_HOST, valueFrom: {fieldRef: {fieldPath: status.hostIP}}}
    - {name: TWICE, value: $(NAME)-$(NAME)}
    - {name: POD, valueFrom: {fieldRef: {fieldPath: metadata.namespace}}}
    volumeMounts:
    - {name: data, mountPath: /var/lib/etcd/}
    - {name: logs, mountPath: /logs}
  volumes:
  - {name: data, hostPath: {path: /var/lib/etcd}}
  - {name: logs, hostPath: {path: /var/log/etcd}}
`

func writeManifest(t *testing.T, text string) string {
	t.Helper()
	root := t.TempDir()
	require.NoError(t, os.MkdirAll(filepath.Join(root, "var/lib/etcd"), 0o755))
	require.NoError(t, os.MkdirAll(filepath.Join(root, "etc/kubernetes/manifests"), 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(root, host.EtcdPodManifest), []byte(text), 0o600))
	return root
}

// TestAContainerIsReadAsTheKubeletWould: and whatever it mounts is below the root of the copy.
func TestAContainerIsReadAsTheKubeletWould(t *testing.T) {
	root := writeManifest(t, manifest)
	c, err := readContainer(root, host.StaticContainer{Manifest: host.EtcdPodManifest, Name: "etcd", HostIP: netip.MustParseAddr("198.51.100.20")})
	require.NoError(t, err)
	require.Equal(t, container{
		image: "quay.io/x/etcd@sha256:11", command: []string{"/bin/sh", "-c"},
		args:   []string{"exec etcd --name=sno --url=https://198.51.100.20:2380 $HOME $(UNKNOWN) $"},
		env:    []string{"NAME=sno", "URL_HOST=198.51.100.20", "TWICE=sno-sno", "POD=openshift-etcd"},
		mounts: []mount{{filepath.Join(root, "var/lib/etcd"), "/var/lib/etcd/"}, {filepath.Join(root, "var/log/etcd"), "/logs"}},
	}, c)
	require.DirExists(t, filepath.Join(root, "var/log/etcd"), "what the copy lacks is an empty folder of the copy")
	argv := New(Options{Namespace: "/run/n", CGroups: "split"}).containerArgs("etcd", c)
	require.Equal(t, []string{"--entrypoint", "/bin/sh", "quay.io/x/etcd@sha256:11", "-c",
		"exec etcd --name=sno --url=https://198.51.100.20:2380 $HOME $(UNKNOWN) $"}, argv[len(argv)-5:])
	require.Subset(t, argv, []string{"ns:/run/n", "split", "never", root + "/var/lib/etcd:/var/lib/etcd/"})
	require.NotContains(t, argv, "--privileged")
}

func TestWhatACopyCannotRunIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ text, says string }{
		"no such container": {"spec: {containers: [{name: other, image: x}]}", "has no image for a container named etcd"},
		"a Secret":          {"spec: {containers: [{name: etcd, image: x, volumeMounts: [{name: s, mountPath: /s}]}], volumes: [{name: s}]}", "volume s is no folder of the node"},
		"a key of a Secret": {"spec: {containers: [{name: etcd, image: x, env: [{name: E, valueFrom: {}}]}]}", "variable E is neither a value nor a field"},
		"another field": {"spec: {containers: [{name: etcd, image: x, env: [{name: E, valueFrom: {fieldRef: {fieldPath: spec.nodeName}}}]}]}",
			"variable E is field spec.nodeName of the pod"},
		"no YAML": {"a: b: c", "parse the static pod " + host.EtcdPodManifest},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := readContainer(writeManifest(t, c.text), host.StaticContainer{Manifest: host.EtcdPodManifest, Name: "etcd"})
			require.ErrorContains(t, err, c.says)
		})
	}
}

func TestContainersStayInTheControlGroupOfTheUnit(t *testing.T) {
	for controllers, want := range map[string]string{"cpu io memory\n": "split", "\n": "disabled"} {
		root := t.TempDir()
		require.NoError(t, os.WriteFile(filepath.Join(root, "cgroup.controllers"), []byte(controllers), 0o644))
		require.Equal(t, want, chooseCGroups(root))
	}
	require.Equal(t, "enabled", chooseCGroups(t.TempDir()))
}
