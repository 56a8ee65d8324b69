package sitefiles_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"

	cli "github.com/lifecycle-agent/lifecycle-agent/internal/cli/sitefiles"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

func run(t *testing.T, make func(out *bytes.Buffer) *cobra.Command, args ...string) (string, error) {
	t.Helper()
	var out bytes.Buffer
	cmd := make(&out)
	cmd.SetArgs(args)
	cmd.SetOut(&out)
	cmd.SilenceErrors, cmd.SilenceUsage = true, true
	err := cmd.ExecuteContext(t.Context())
	return out.String(), err
}

func config(in string) func(*bytes.Buffer) *cobra.Command {
	return func(out *bytes.Buffer) *cobra.Command {
		return cli.ConfigCommand(cli.ConfigWiring{In: strings.NewReader(in), Out: out})
	}
}

func many(out *bytes.Buffer) *cobra.Command {
	return cli.SitesCommand(cli.SitesWiring{Out: out, Now: time.Now, Rand: rand.NewPCG(1, 2)})
}

func put(t *testing.T, name, text string) string {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(name), 0o755))
	require.NoError(t, os.WriteFile(name, []byte(text), 0o644))
	return name
}

func TestWhatInitPrintsIsValid(t *testing.T) {
	for _, args := range [][]string{{"init"}, {"init", "--full"}} {
		text, err := run(t, config(""), args...)
		require.NoError(t, err)
		out, err := run(t, config(text), "validate", "-")
		require.NoError(t, err)
		require.Equal(t, "standard input: valid\n", out)
	}
	out, err := run(t, config(""), "schema")
	require.NoError(t, err)
	require.Contains(t, out, `"title": "SiteConfig"`)
}

func TestValidate(t *testing.T) {
	dir := t.TempDir()
	bad := put(t, dir+"/site-config.yaml", "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: a_b\nnoo: 1\n")
	for _, name := range []string{bad, dir} {
		out, err := run(t, config(""), "validate", name)
		require.EqualError(t, err, "the configuration has 2 problems")
		require.Contains(t, out, "site-config.yaml: line 4: noo: is not a known key")
		require.Contains(t, out, `site-config.yaml: line 3: hostname: "a_b": must be lower-case letters`)
	}
	out, err := run(t, config(""), "validate", bad, "-o", "json")
	require.Error(t, err)
	require.Contains(t, out, `"valid": false`)
	_, err = run(t, config(""), "validate", dir+"/none")
	require.ErrorContains(t, err, "no such file or directory")
	_, err = run(t, config(""), "validate", t.TempDir())
	require.ErrorContains(t, err, "no configuration file")
}

const pools = `apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: stores, namespace: fleet}
spec:
  namePrefix: stores
  pools: [{subnet: 10.0.0.0/16}]
  gateway: 10.0.0.1
  dnsServers: [10.0.0.53]
  exclusions: ["10.0.0.53"]
`

func TestSites(t *testing.T) {
	dir := t.TempDir()
	table, out := put(t, dir+"/sites.csv", "site,cluster,domain,port,pool\nb,b,example.org,eno1,stores\n"), dir+"/out"
	template := put(t, dir+"/common.yaml", "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nntpServers: [ntp.example.org]\n")
	args := []string{"--csv", table, "--pools", put(t, dir+"/pools.yaml", pools), "--template", template, "-o", out}
	said, err := run(t, many, args...)
	require.NoError(t, err)
	require.Equal(t, fmt.Sprintf("1 site in %s, listed in sites.csv\n", out), said)
	text, err := os.ReadFile(out + "/b/site-config.yaml")
	require.NoError(t, err)
	c, problems := siteconfig.Decode(text)
	require.Empty(t, problems)
	require.Equal(t, []string{"10.0.0.2"}, c.NodeIPs)
	require.Equal(t, []string{"ntp.example.org"}, c.NTPServers)

	put(t, table, "site,cluster,domain,port,pool\na,a,example.org,eno1,stores\nb,b,example.org,eno1,stores\n")
	_, err = run(t, many, args...)
	require.NoError(t, err)
	again, err := os.ReadFile(out + "/b/site-config.yaml")
	require.NoError(t, err)
	require.Equal(t, string(text), string(again), "a site keeps its address")

	put(t, table, "site,cluster,domain,port,pool\nc,a,example.org,eno1,stores\nb,a,example.org,eno1,stores\n")
	_, err = run(t, many, args...)
	require.ErrorContains(t, err, `cluster "a.example.org" is that of line 2, too`)
	require.NoDirExists(t, out+"/c", "nothing is written where anything is wrong")
}
