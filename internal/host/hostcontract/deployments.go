package hostcontract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// DeploymentsFixture is a subject of TestDeployments: a node that runs the default of
// its deployments, with no stateroot whose name begins with "contract".
type DeploymentsFixture struct {
	Deployments host.Deployments
	// Files reach /ostree of the same node.
	Files host.Files
}

// TestDeployments proves what host.Deployments promises, short of booting.
func TestDeployments(t *testing.T, fresh func(t *testing.T) DeploymentsFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[DeploymentsFixture]{
		{"one deployment is booted and the first is the default", listOrder},
		{"a clone is the booted commit and does not boot by itself", cloneIsBooted},
		{"the kernel arguments are without what ostree adds", kernelArguments},
		{"cloning again returns the clone", cloneAgain},
		{"a clone completes a stateroot that was only begun", cloneBegun},
		{"a clone starts with an empty /var and the commit's /etc", cloneFresh},
		{"the default can be set, and set back", setDefault},
		{"an unknown stateroot cannot become the default", setDefaultUnknown},
		{"a deployment can be chosen by its name, and only one that is deployed", choose},
		{"the booted stateroot is not removed", removeBooted},
		{"the default stateroot is not removed", removeDefault},
		{"removing takes deployment and directory, once and again", removeClone},
		{"removing takes a stateroot that was only begun", removeBegun},
		{"names that are paths are refused", pathsAsNames},
	})
}

const (
	cloned = "contract-new"
	begun  = "contract-begun"
)

func (f DeploymentsFixture) list(t *testing.T) []host.Deployment {
	t.Helper()
	all, err := f.Deployments.List(t.Context())
	noError(t, err)
	return all
}

func kernelArguments(t *testing.T, f DeploymentsFixture) {
	words, err := f.Deployments.KernelArguments(t.Context())
	noError(t, err)
	for _, word := range words {
		if strings.HasPrefix(word, "ostree=") {
			t.Errorf("kernel arguments %v have ostree=", words)
		}
	}
}

func (f DeploymentsFixture) booted(t *testing.T) host.Deployment {
	t.Helper()
	d, err := host.Booted(f.list(t))
	noError(t, err)
	return d
}

func (f DeploymentsFixture) clone(t *testing.T) host.Deployment {
	t.Helper()
	d, err := f.Deployments.Clone(t.Context(), cloned)
	noError(t, err)
	return d
}

// defaultStateroot checks the order on the way.
func (f DeploymentsFixture) defaultStateroot(t *testing.T) string {
	t.Helper()
	all := f.list(t)
	require.NotEmpty(t, all)
	booted := 0
	for i, d := range all {
		require.Equal(t, i, d.Index)
		require.Equal(t, i == 0, d.Default, "%+v", d)
		if d.Booted {
			booted++
		}
	}
	require.Equal(t, 1, booted)
	return all[0].Stateroot
}

func listOrder(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	require.Equal(t, booted.Stateroot, f.defaultStateroot(t))
	require.NotEmpty(t, booted.Checksum)
	noError(t, f.Deployments.CanSetDefault(t.Context()))
	st, err := f.Files.Stat(booted.Dir())
	noError(t, err)
	require.True(t, st.IsDir())
	roots, err := f.Deployments.Stateroots(t.Context())
	noError(t, err)
	require.Contains(t, roots, booted.Stateroot)
}

func cloneIsBooted(t *testing.T, f DeploymentsFixture) {
	booted, before := f.booted(t), f.list(t)
	d := f.clone(t)
	require.Equal(t, cloned, d.Stateroot)
	require.Equal(t, booted.Checksum, d.Checksum)
	require.False(t, d.Booted)
	require.False(t, d.Default)
	require.Equal(t, booted.Stateroot, f.defaultStateroot(t))
	require.Equal(t, booted.Stateroot, f.booted(t).Stateroot)
	require.Len(t, f.list(t), len(before)+1)
	found, ok := host.FirstOf(f.list(t), cloned)
	require.True(t, ok)
	require.Equal(t, d, found)
	roots, err := f.Deployments.Stateroots(t.Context())
	noError(t, err)
	require.Contains(t, roots, cloned)
	_, err = f.Files.Stat(d.Origin())
	noError(t, err)
}

func cloneAgain(t *testing.T, f DeploymentsFixture) {
	first := f.clone(t)
	count := len(f.list(t))
	require.Equal(t, first, f.clone(t))
	require.Len(t, f.list(t), count)
}

func cloneBegun(t *testing.T, f DeploymentsFixture) {
	noError(t, f.Files.Write(host.InVar(begun, "/var/lib/left"), nil, 0o600))
	d, err := f.Deployments.Clone(t.Context(), begun)
	noError(t, err)
	require.Equal(t, begun, d.Stateroot)
	found, ok := host.FirstOf(f.list(t), begun)
	require.True(t, ok)
	require.Equal(t, d, found)
}

func cloneFresh(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	noError(t, f.Files.Write(booted.InDeployment("/etc/lca-contract"), nil, 0o600),
		f.Files.Write(host.InVar(booted.Stateroot, "/var/lib/lca-contract"), nil, 0o600))
	d := f.clone(t)
	for _, p := range []string{d.InDeployment("/etc/lca-contract"), host.InVar(cloned, "/var/lib/lca-contract")} {
		_, err := f.Files.Stat(p)
		require.Error(t, err, p)
	}
	for _, p := range []string{d.InDeployment("/etc"), d.InDeployment("/usr"), host.InVar(cloned, "/var")} {
		_, err := f.Files.Stat(p)
		noError(t, err)
	}
	noError(t, f.Files.Write(d.InDeployment("/etc/lca-contract"), []byte("1"), 0o600))
	require.Equal(t, "1", read(t, f.Files, d.InDeployment("/etc/lca-contract")))
}

func setDefault(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	f.clone(t)
	count := len(f.list(t))
	for range 2 {
		noError(t, f.Deployments.SetDefault(t.Context(), cloned))
		require.Equal(t, cloned, f.defaultStateroot(t))
		require.Equal(t, booted.Stateroot, f.booted(t).Stateroot, "what runs stays")
		require.Len(t, f.list(t), count)
	}
	noError(t, f.Deployments.SetDefault(t.Context(), booted.Stateroot))
	require.Equal(t, booted.Stateroot, f.defaultStateroot(t))
	require.Len(t, f.list(t), count)
}

func choose(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	d := f.clone(t)
	for _, want := range []host.Deployment{d, d, booted} {
		want.Index, want.Default = 0, false // the place in the boot order says nothing
		noError(t, f.Deployments.Choose(t.Context(), want))
		require.Equal(t, want.Stateroot, f.defaultStateroot(t))
		require.Equal(t, booted.ID(), f.booted(t).ID(), "what runs stays")
	}
	d.Serial += 7
	require.Error(t, f.Deployments.Choose(t.Context(), d))
	require.Equal(t, booted.Stateroot, f.defaultStateroot(t))
}

func setDefaultUnknown(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	require.Error(t, f.Deployments.SetDefault(t.Context(), cloned))
	require.Equal(t, booted.Stateroot, f.defaultStateroot(t))
}

func removeBooted(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	f.clone(t)
	noError(t, f.Deployments.SetDefault(t.Context(), cloned))
	require.Error(t, f.Deployments.Remove(t.Context(), booted.Stateroot), "booted, and not the default")
	noError(t, f.Deployments.SetDefault(t.Context(), booted.Stateroot))
	require.Error(t, f.Deployments.Remove(t.Context(), booted.Stateroot))
	require.Equal(t, booted.ID(), f.booted(t).ID())
}

func removeDefault(t *testing.T, f DeploymentsFixture) {
	d := f.clone(t)
	noError(t, f.Deployments.SetDefault(t.Context(), cloned))
	require.Error(t, f.Deployments.Remove(t.Context(), cloned))
	require.Equal(t, cloned, f.defaultStateroot(t))
	_, err := f.Files.Stat(d.Dir())
	noError(t, err)
}

func (f DeploymentsFixture) requireGone(t *testing.T, stateroot string) {
	t.Helper()
	_, ok := host.FirstOf(f.list(t), stateroot)
	require.False(t, ok)
	roots, err := f.Deployments.Stateroots(t.Context())
	noError(t, err)
	require.NotContains(t, roots, stateroot)
	_, err = f.Files.Stat(host.StaterootDir(stateroot))
	require.Error(t, err)
}

func removeClone(t *testing.T, f DeploymentsFixture) {
	booted := f.booted(t)
	d := f.clone(t)
	noError(t, f.Files.Write(d.InDeployment("/etc/file"), nil, 0o600), f.Files.Write(host.InVar(cloned, "/var/file"), nil, 0o600))
	for range 2 {
		noError(t, f.Deployments.Remove(t.Context(), cloned))
		f.requireGone(t, cloned)
		require.Equal(t, booted.Stateroot, f.defaultStateroot(t))
	}
	f.clone(t) // the name is free again
}

func removeBegun(t *testing.T, f DeploymentsFixture) {
	noError(t, f.Files.Write(host.InVar(begun, "/var/lib/left"), nil, 0o600))
	noError(t, f.Deployments.Remove(t.Context(), begun))
	f.requireGone(t, begun)
}

func pathsAsNames(t *testing.T, f DeploymentsFixture) {
	for _, name := range []string{"", ".", "..", "a/b", "../deploy"} {
		_, err := f.Deployments.Clone(t.Context(), name)
		require.Error(t, err, name)
		require.Error(t, f.Deployments.Remove(t.Context(), name), name)
	}
	_, err := f.Files.Stat(host.DeployDir)
	noError(t, err)
}
