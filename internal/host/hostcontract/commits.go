package hostcontract

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// CommitsFixture is a subject of TestCommits: a node that runs another commit than Checksum, which the repository at Repo has
// and its own has not.
type CommitsFixture struct {
	Commits     host.Commits
	Deployments host.Deployments
	Repo        string
	Checksum    string
}

// TestCommits proves what host.Commits promises, short of booting.
func TestCommits(t *testing.T, fresh func(t *testing.T) CommitsFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[CommitsFixture]{
		{"a commit that was not imported is not deployed", deployUnknown},
		{"an imported commit is deployed and does not boot by itself", deployImported},
		{"importing and deploying again changes nothing", deployAgain},
		{"another commit is not put into a stateroot that has one", deployOther},
		{"what is no repository is not imported from", importNothing},
		{"a stateroot of a commit is removed like any other", removeDeployed},
	})
}

func (f CommitsFixture) deploy(t *testing.T) host.Deployment {
	t.Helper()
	noError(t, f.Commits.Import(t.Context(), f.Repo, f.Checksum))
	d, err := f.Commits.DeployCommit(t.Context(), cloned, f.Checksum, []string{"quiet"})
	noError(t, err)
	return d
}

func (f CommitsFixture) all(t *testing.T) []host.Deployment {
	t.Helper()
	all, err := f.Deployments.List(t.Context())
	noError(t, err)
	return all
}

func deployUnknown(t *testing.T, f CommitsFixture) {
	before := f.all(t)
	_, err := f.Commits.DeployCommit(t.Context(), cloned, f.Checksum, nil)
	require.ErrorContains(t, err, f.Checksum)
	require.Equal(t, before, f.all(t))
}

func deployImported(t *testing.T, f CommitsFixture) {
	before := f.all(t)
	d := f.deploy(t)
	require.Equal(t, []string{cloned, f.Checksum}, []string{d.Stateroot, d.Checksum})
	require.False(t, d.Booted || d.Default)
	all := f.all(t)
	require.Len(t, all, len(before)+1)
	require.Equal(t, before[0].Stateroot, all[0].Stateroot)
}

func deployAgain(t *testing.T, f CommitsFixture) {
	first := f.deploy(t)
	count := len(f.all(t))
	require.Equal(t, first, f.deploy(t))
	require.Len(t, f.all(t), count)
}

func deployOther(t *testing.T, f CommitsFixture) {
	f.deploy(t)
	booted, err := host.Booted(f.all(t))
	noError(t, err)
	_, err = f.Commits.DeployCommit(t.Context(), cloned, booted.Checksum, nil)
	require.ErrorContains(t, err, "already")
}

func importNothing(t *testing.T, f CommitsFixture) {
	require.Error(t, f.Commits.Import(t.Context(), strings.TrimSuffix(f.Repo, "/")+"-none", f.Checksum))
}

func removeDeployed(t *testing.T, f CommitsFixture) {
	f.deploy(t)
	noError(t, f.Deployments.Remove(t.Context(), cloned))
	_, found := host.FirstOf(f.all(t), cloned)
	require.False(t, found)
}
