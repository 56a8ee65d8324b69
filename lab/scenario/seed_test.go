//go:build lab

package scenario

import (
	"context"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/drive"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
	"github.com/lifecycle-agent/lifecycle-agent/lab/registry"
)

const (
	// registryName is known to the LAN's DNS servers.
	registryName     = "registry.lab.example"
	registryPassword = "of-the-registry"
)

// TestSeedImage makes a seed image of one node, publishes it in a real registry, restores another node from it under another name,
// domain and address, and takes that one back to what it was.
func TestSeedImage(t *testing.T) {
	tool(t, "systemd-nspawn")
	tool(t, registry.Program)
	ctx, seed, _ := node(t, "scenario-seed")
	store, err := registry.NewStore(t.TempDir(), registryName, registryPassword, registryAddress(), network.Home().Gateway.Addr())
	require.NoError(t, err)
	serve(ctx, t, store, seed)
	image := published(ctx, t, store, seed)
	takeDown(t, seed)

	target := boot(ctx, t, "scenario-target", nil)
	t.Cleanup(func() { takeDown(t, target) })
	serve(ctx, t, store, target)
	shareContainerStorage(ctx, t, target)
	before := identity(ctx, t, target)
	restored(ctx, t, store, target, image)

	leave(ctx, t, target, "lca-cli", "seed", "rollback")
	until(ctx, t, "the cluster that ran before", func() bool { return drive.Look(ctx, target, home).API })
	require.Equal(t, before, identity(ctx, t, target), "nothing of it was changed")
	require.Equal(t, "sno", in(ctx, t, target, "hostname"))
}

// restored boots a node from the image, under the name and the address of another site.
func restored(ctx context.Context, t *testing.T, store *registry.Store, l *lab.Lab, image string) {
	t.Helper()
	handSite(ctx, t, store, l)
	began := time.Now()
	leave(ctx, t, l, append([]string{"lca-cli"}, restoring(image)...)...)
	t.Logf("the node has rebooted %s after the restore was asked for", time.Since(began).Round(time.Second))
	r := &relocated{t: t, lab: l}
	r.reports(ctx, "a restored node that is at home", func(s relocationStatus) bool { return s.Result == "at-home" })
	t.Logf("restored and healthy %s after it was asked for", time.Since(began).Round(time.Second))
	provesRestored(ctx, t, l)
}

// restoring is the command that asks for the restore.
func restoring(image string) []string {
	return []string{"seed", "restore", image, "--site-config", "/root/site.yaml", "--authfile", "/root/auth.json", "--ca-file", "/root/ca.pem"}
}

// handSite puts the files there that the command names.
func handSite(ctx context.Context, t *testing.T, store *registry.Store, l *lab.Lab) {
	t.Helper()
	auth, err := store.AuthFile()
	require.NoError(t, err)
	authority, err := store.Authority()
	require.NoError(t, err)
	site := siteConfig(network.Away().Gateway.Addr().String()) +
		"sshKeys: [ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIBOqDmcWWQDQOiuSfL5oIBLC3Ne9Mx1BRMbMhXQJhlaM site]\n" +
		"pullSecret: '" + string(auth) + "'\n"
	for name, text := range map[string]string{"site.yaml": site, "auth.json": string(auth), "ca.pem": string(authority)} {
		file := machine.Command{Argv: []string{"sh", "-c", "umask 077; cat > /root/" + name}, Stdin: strings.NewReader(text)}
		result, err := l.Machine.Exec(ctx, file)
		require.NoError(t, err)
		require.Zero(t, result.ExitCode, result.Stderr)
	}
	renderMachineConfigs(ctx, t, l, away) // of the SSH keys
}

// provesRestored says that the node runs the seed's cluster under its own name: its Node is Ready, and what was made on the seed is there.
func provesRestored(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	require.Equal(t, "store-17", in(ctx, t, l, "hostname"))
	require.False(t, drive.Look(ctx, l, home).Ping)
	var handover struct{ Kubeconfig string }
	require.NoError(t, yaml.Unmarshal([]byte(in(ctx, t, l, "lca-cli", "relocation", "handover")), &handover))
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(handover.Kubeconfig))
	require.NoError(t, err)
	config.Host, config.Dial = "https://"+netip.AddrPortFrom(away, 6443).String(), l.Net.DialContext
	api, err := client.New(config, client.Options{})
	require.NoError(t, err)
	nodes, found := &corev1.NodeList{}, &corev1.ConfigMap{}
	until(ctx, t, "a Ready node and an object of the seed", func() bool { // it may have been restored before its last boot
		return api.List(ctx, nodes) == nil && len(nodes.Items) == 1 && isReady(nodes.Items[0]) &&
			api.Get(ctx, client.ObjectKeyFromObject(witness()), found) == nil
	})
	require.Equal(t, "store-17", nodes.Items[0].Name)
	require.Equal(t, witness().Data, found.Data)
}

func isReady(node corev1.Node) bool {
	return slices.ContainsFunc(node.Status.Conditions, func(c corev1.NodeCondition) bool {
		return c.Type == corev1.NodeReady && c.Status == corev1.ConditionTrue
	})
}

// witness is made on the seed, and is in the cluster of every node that is restored from its image.
func witness() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "witness"}, Data: map[string]string{"made": "on the seed"}}
}

// registryAddress is where the LAN's DNS servers say that the registry is.
func registryAddress() netip.Addr { return network.Away().Gateway.Addr() }

// serve runs the registry on the LAN of a node.
func serve(ctx context.Context, t *testing.T, store *registry.Store, l *lab.Lab) {
	t.Helper()
	r, err := store.Start(ctx, l.Net, registryAddress())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, r.Stop()) })
}

// published makes the seed image as an administrator does, and says that the cluster is the very same one afterwards.
func published(ctx context.Context, t *testing.T, store *registry.Store, l *lab.Lab) (image string) {
	t.Helper()
	api := apiAt(t, l, home)
	shareContainerStorage(ctx, t, l)
	require.NoError(t, client.IgnoreAlreadyExists(api.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: productNamespace}})))
	authority, err := store.Authority()
	require.NoError(t, err)
	trust := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "openshift-config", Name: "user-ca-bundle"},
		Data: map[string]string{"ca-bundle.crt": string(authority)}}
	require.NoError(t, api.Create(ctx, trust))
	require.NoError(t, api.Create(ctx, witness()))
	before := identity(ctx, t, l)

	image = store.Image("edge/seed:1")
	applySeedGenerator(ctx, t, store, l, image)
	began := time.Now()
	sg := &lcav1.SeedGenerator{}
	said := ""
	until(ctx, t, "a published seed image", func() bool {
		if apiAt(t, l, home).Get(ctx, client.ObjectKey{Name: lcav1.SeedGeneratorName}, sg) != nil {
			return false
		}
		if now := fmt.Sprintf("%s: %s", sg.Status.Phase, messageOf(sg.Status.Conditions)); now != said {
			said = now
			t.Log(now)
		}
		require.NotEqual(t, lcav1.SeedFailed, sg.Status.Phase, "%s\n%+v", said, sg.Status.Preflight)
		return sg.Status.Phase == lcav1.SeedCompleted
	})
	t.Logf("%s is published %s after it was asked for: %d MiB", image, time.Since(began).Round(time.Second), sg.Status.Image.SizeBytes>>20)

	require.True(t, drive.Look(ctx, l, home).API, "the cluster serves")
	require.Equal(t, before, identity(ctx, t, l), "keys and certificates of the cluster are what they were")
	require.Equal(t, "rhcos", in(ctx, t, l, "ls", "/ostree/deploy"))
	require.False(t, says(ctx, l, "ls -A /var/lib/lca/seed | grep -q ."), "nothing is left of the copy")
	require.Contains(t, inspected(ctx, t, store, l), sg.Status.Image.Digest)
	return image
}

// applySeedGenerator applies what "kubectl lca seed secret" prints.
func applySeedGenerator(ctx context.Context, t *testing.T, store *registry.Store, l *lab.Lab, image string) {
	t.Helper()
	auth, err := store.AuthFile()
	require.NoError(t, err)
	file := filepath.Join(t.TempDir(), "auth.json")
	require.NoError(t, os.WriteFile(file, auth, 0o600))
	plugin := filepath.Join(root(t), "build", "bin", "kubectl-lca")
	manifests, err := exec.CommandContext(ctx, plugin, "seed", "secret", "--seed-image", image, "--authfile", file).Output()
	require.NoError(t, err)
	_, err = l.Apply(ctx, strings.NewReader(string(manifests)))
	require.NoError(t, err)
}

// inspected is what an independent client finds in the registry.
func inspected(ctx context.Context, t *testing.T, store *registry.Store, l *lab.Lab) string {
	t.Helper()
	tool(t, "skopeo")
	authority, err := store.Authority()
	require.NoError(t, err)
	certificates := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(certificates, "ca.crt"), authority, 0o600))
	at := netip.AddrPortFrom(registryAddress(), registry.Port)
	out, err := exec.CommandContext(ctx, "ip", "netns", "exec", l.Net.LAN(), "skopeo", "inspect", "--creds", "lab:"+registryPassword,
		"--cert-dir", certificates, "docker://"+at.String()+"/edge/seed:1").CombinedOutput()
	require.NoError(t, err, string(out))
	require.Contains(t, string(out), "com.openshift.lifecycle-agent.seed_format_version")
	return string(out)
}

// shareContainerStorage mounts the container storage from outside the stateroot, as a partition of its own is on a seed.
func shareContainerStorage(ctx context.Context, t *testing.T, l *lab.Lab) {
	t.Helper()
	in(ctx, t, l, "unshare", "--mount", "sh", "-c", "mount -o remount,rw /sysroot && mkdir -p /sysroot/containers")
	in(ctx, t, l, "sh", "-c", `mkdir -p /var/lib/containers && cat > /etc/systemd/system/var-lib-containers.mount <<'EOF'
[Unit]
Description=Container storage that all stateroots share
[Mount]
What=/sysroot/containers
Where=/var/lib/containers
Type=none
Options=bind
[Install]
WantedBy=local-fs.target
EOF
systemctl daemon-reload && systemctl enable --now var-lib-containers.mount`)
}

// identity is one sum over the keys and certificates of a node.
func identity(ctx context.Context, t *testing.T, l *lab.Lab) string {
	t.Helper()
	return in(ctx, t, l, "sh", "-c", `find /etc/kubernetes /etc/ssh /var/lib/kubelet/pki -type f \( -name '*.crt' -o -name '*.key' -o -name '*.pem' `+
		`-o -name 'ssh_host_*' \) | sort | xargs sha256sum | sha256sum`)
}

func messageOf(conditions []metav1.Condition) string {
	var all []string
	for _, c := range conditions {
		all = append(all, fmt.Sprintf("%s=%s %s", c.Type, c.Status, c.Message))
	}
	return strings.Join(all, "; ")
}
