package recert

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"sigs.k8s.io/yaml"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/etcd/etcdtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert"
)

func TestPlanThenApplyThenNothingIsLeft(t *testing.T) {
	c := newCluster(t)
	before := c.read(host.EtcdPodManifest)
	planned, err := c.run("plan")
	require.NoError(t, err, planned)
	golden(t, "plan.txt", planned)
	require.Equal(t, before, c.read(host.EtcdPodManifest), "a plan changes nothing")
	again, err := c.run("plan")
	require.NoError(t, err)
	require.Equal(t, planned, again)

	done, err := c.run("apply")
	require.NoError(t, err)
	golden(t, "apply.txt", done)
	require.True(t, strings.HasPrefix(done, planned), "what is done is what was planned")
	require.Contains(t, c.read(host.EtcdPodManifest), "198.51.100.20")
	require.Contains(t, c.read(host.RecertSummary), "engine: native")

	done, err = c.run("apply")
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(done, "Nothing to do."), done)
}

func TestAnswersForPrograms(t *testing.T) {
	c := newCluster(t)
	for _, format := range []string{"json", "yaml"} {
		answer, err := c.run("plan", "-o", format)
		require.NoError(t, err)
		var p recert.Plan
		require.NoError(t, yaml.UnmarshalStrict([]byte(answer), &p))
		require.Len(t, p.Certificates, 1)
		require.Equal(t, "CN=system:etcd-peer:sno", p.Certificates[0].Subject)
	}
	answer, err := c.run("apply", "-o", "json")
	require.NoError(t, err)
	var a applyAnswer
	require.NoError(t, json.Unmarshal([]byte(answer), &a))
	require.Equal(t, host.RecertSummary, a.Summary)
	require.NotEmpty(t, a.Done.Changes)
	_, err = c.run("plan", "-o", "xml")
	require.ErrorContains(t, err, "none of text, yaml, json")
}

// TestNoAnswerHoldsASecret looks for every private key of the cluster, in PEM, in base64 and in its bytes, and for a password.
func TestNoAnswerHoldsASecret(t *testing.T) {
	c := newCluster(t)
	c.config(map[string]any{"install_config": "pullSecret: hush-hush\nnetworking:\n  machineNetwork: []\n"})
	var secrets []string
	for _, name := range []string{"etcd-signer", "system:etcd-peer:sno", "registry"} {
		body := strings.Split((&identity{key: keyNamed(name)}).keyPEM(t), "\n")[1]
		secrets = append(secrets, body)
	}
	secrets = append(secrets, "hush-hush", "PRIVATE KEY-----")
	for _, words := range verbsToTry {
		answer, err := c.run(words...)
		for _, s := range secrets {
			require.NotContains(t, answer, s, words)
			if err != nil {
				require.NotContains(t, err.Error(), s, words)
			}
		}
	}
	for _, s := range secrets {
		require.NotContains(t, c.read(host.RecertSummary), s)
	}
}

func TestApplyOnThisNodeNeedsTheLockAndAStoppedCluster(t *testing.T) {
	c := newCluster(t)
	before := c.read(host.EtcdPodManifest)
	c.running = errors.New("kubelet.service runs")
	_, err := c.run("apply")
	require.ErrorContains(t, err, "kubelet.service runs")
	require.Equal(t, before, c.read(host.EtcdPodManifest))
	require.Zero(t, c.locked, "the lock is released")
	_, err = c.run("plan")
	require.NoError(t, err, "looking is allowed")
	_, err = c.run("apply", "--root", "/somewhere/else")
	require.NoError(t, err, "another root is not this node")
}

func TestADryRunSaysSo(t *testing.T) {
	c := newCluster(t)
	before := c.read(host.EtcdPodManifest)
	c.config(map[string]any{"dry_run": true})
	answer, err := c.run("apply")
	require.NoError(t, err)
	require.Contains(t, answer, "Nothing was changed: dry_run is set.")
	require.Equal(t, before, c.read(host.EtcdPodManifest))
	answer, err = c.run("verify")
	require.ErrorIs(t, err, ErrNotVerified, answer)
}

func TestABlockedPlanIsShownAndFails(t *testing.T) {
	c := newCluster(t)
	lost := identityOf(t, "system:etcd-server:sno", identityOf(t, "gone", nil), "192.0.2.1")
	c.write("/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs/etcd-serving-sno.crt", lost.certPEM())
	answer, err := c.run("plan")
	require.ErrorIs(t, err, recert.ErrBlocked)
	require.Contains(t, answer, "Blocked (1):")
	_, err = c.run("apply")
	require.ErrorIs(t, err, recert.ErrBlocked)
}

func TestRefusals(t *testing.T) {
	c := newCluster(t)
	for name, tc := range map[string]struct {
		words []string
		says  string
	}{
		"no configuration": {[]string{"plan", "--config", "/none.json"}, "/none.json does not exist"},
		"no data":          {[]string{"plan", "--etcd-data", "/var/lib/none"}, "no etcd member"},
		"dead endpoint":    {[]string{"plan", "--endpoint", "unix:///nonexistent"}, "reach the running etcd"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := c.run(tc.words...)
			require.ErrorContains(t, err, tc.says)
		})
	}
	c.config(map[string]any{"surprise": 1})
	_, err := c.run("apply")
	require.ErrorContains(t, err, `key "surprise" is unknown`)
}

// TestAGivenEndpoint starts an etcd over the data, as somebody may have done, and leaves it running.
func TestAGivenEndpoint(t *testing.T) {
	c := newCluster(t)
	dir := etcdtest.ShortDir(t)
	cmd := exec.Command(c.binary, "--data-dir", filepath.Join(c.root, host.EtcdData), "--name", "offline", "--log-level", "error",
		"--listen-client-urls", "unix://client:0", "--advertise-client-urls", "unix://client:0", "--listen-peer-urls", "unix://peer:0")
	cmd.Dir = dir
	require.NoError(t, cmd.Start())
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	socket := filepath.Join(dir, "client:0")
	require.Eventually(t, func() bool { _, err := os.Stat(socket); return err == nil }, time.Minute, 10*time.Millisecond)
	endpoint := "unix://" + socket
	planned, err := c.run("plan", "--endpoint", endpoint)
	require.NoError(t, err)
	golden(t, "plan.txt", planned)
	require.False(t, c.asked.Write)
	done, err := c.run("apply", "--endpoint", endpoint)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(done, planned))
	left, err := c.run("plan", "--endpoint", endpoint)
	require.NoError(t, err)
	require.True(t, strings.HasPrefix(left, "Nothing to do."), left)
}

// verbsToTry are all verbs, in an order that makes each of them say something.
var verbsToTry = [][]string{{"plan"}, {"plan", "-o", "json"}, {"verify"}, {"scan"}, {"scan", "-o", "json"}, {"apply", "-o", "yaml"}, {"apply"},
	{"verify", "-o", "yaml"}}
