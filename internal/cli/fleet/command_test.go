package fleet

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"
)

func run(args ...string) (string, error) {
	var out bytes.Buffer
	cmd := Command(Wiring{Out: &out})
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.Execute()
	return out.String(), err
}

func table(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "sites.csv")
	require.NoError(t, os.WriteFile(name, []byte(text), 0o600))
	return name
}

func listed(t *testing.T, folder string) (names []string) {
	t.Helper()
	require.NoError(t, filepath.WalkDir(folder, func(name string, d os.DirEntry, err error) error {
		if err == nil && !d.IsDir() {
			rel, _ := filepath.Rel(folder, name)
			names = append(names, rel)
		}
		return err
	}))
	return names
}

func TestRenderWritesAFolder(t *testing.T) {
	csv := table(t, "cluster,canary,ipv4Address\na,yes,192.0.2.10\nb,,192.0.2.11\n")
	folder := filepath.Join(t.TempDir(), "out")
	for range 2 { // into its own folder it can be rendered again
		out, err := run("render", "--csv", csv, "-o", folder)
		require.NoError(t, err)
		require.Equal(t, "2 clusters in "+folder+"\n", out)
		require.Equal(t, []string{"clusters/a.yaml", "clusters/b.yaml", "placement.yaml", "policies.yaml", "rollout.yaml"}, listed(t, folder))
	}
	_, err := run("render", "--csv", table(t, "cluster,ipv4Address\na,192.0.2.10\n"), "-o", folder)
	require.EqualError(t, err, filepath.Join(folder, "clusters/b.yaml")+" does not belong to this roll-out; remove it")
	works := filepath.Join(t.TempDir(), "works")
	_, err = run("render", "--csv", csv, "--for", "works", "-o", works)
	require.NoError(t, err)
	require.Equal(t, []string{"canaries/a.yaml", "clusters/b.yaml"}, listed(t, works))
}

func TestNothingIsWrittenWhereAnythingIsWrong(t *testing.T) {
	folder := filepath.Join(t.TempDir(), "out")
	good, bad := table(t, "cluster,ipv4Address\na,192.0.2.10\n"), table(t, "cluster,ipv4Address\na,192.0.2.10\nb,x\nc,y\n")
	_, err := run("render", "--csv", bad, "-o", folder)
	require.EqualError(t, err, bad+`:
row 3, column ipv4Address: "x": it must be a unicast IPv4 address without prefix length, for example 192.0.2.10
row 4, column ipv4Address: "y": it must be a unicast IPv4 address without prefix length, for example 192.0.2.10`)
	_, err = run("render", "--csv", good, "--for", "pigeons", "-o", folder)
	require.ErrorContains(t, err, `--for "pigeons" is none of policies, works`)
	_, err = run("render", "--csv", good, "--max-concurrency", "0", "-o", folder)
	require.ErrorContains(t, err, "max-concurrency 0: at least one cluster has to change at a time")
	_, err = run("render", "--csv", good, "--template", "absent.yaml", "-o", folder)
	require.ErrorContains(t, err, "absent.yaml: no such file or directory")
	require.NoDirExists(t, folder)
}

func TestHealthChecksArePrinted(t *testing.T) {
	out, err := run("health-checks", "--namespace", "openshift-gitops")
	require.NoError(t, err)
	m := &corev1.ConfigMap{}
	require.NoError(t, yaml.UnmarshalStrict([]byte(out), m))
	require.Equal(t, "openshift-gitops", m.Namespace)
	require.Len(t, m.Data, 5)
}

// The table and the template of the page are those that a reader copies.
func TestTheExampleOfThePageRenders(t *testing.T) {
	page, err := os.ReadFile("../../../docs/fleet.md")
	require.NoError(t, err)
	folder := t.TempDir()
	for _, m := range regexp.MustCompile("(?s)<!-- test: (\\S+) -->\n```\\w+\n(.*?)```").FindAllStringSubmatch(string(page), -1) {
		require.NoError(t, os.WriteFile(filepath.Join(folder, m[1]), []byte(m[2]), 0o600))
	}
	for _, by := range []string{"policies", "works"} {
		out := filepath.Join(folder, by)
		said, err := run("render", "--csv", filepath.Join(folder, "sites.csv"), "--template", filepath.Join(folder, "storage.yaml"), "--for", by, "--name", "move", "-o", out)
		require.NoError(t, err)
		require.Equal(t, "2 clusters in "+out+"\n", said)
	}
}
