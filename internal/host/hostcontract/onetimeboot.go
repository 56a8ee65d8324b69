package hostcontract

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// OneTimeBootFixture is a subject of TestOneTimeBoot: a node whose boot loader can start a deployment once.
type OneTimeBootFixture struct {
	Once        host.OneTimeBoot
	Deployments host.Deployments
	// Start starts the node once and says which stateroot the boot loader chose.
	Start func(t *testing.T) (stateroot string)
}

// TestOneTimeBoot proves what host.OneTimeBoot promises.
func TestOneTimeBoot(t *testing.T, fresh func(t *testing.T) OneTimeBootFixture) {
	t.Helper()
	contract(t, fresh, []behaviour[OneTimeBootFixture]{
		{"installing changes nothing that boots, once and again", installBootsNothing},
		{"a choice starts once, and the default after it", choiceStartsOnce},
		{"a choice leaves the default as it is, and is found until it has started", choiceIsFound},
		{"the last choice counts", lastChoice},
		{"a deployment that does not exist is refused", chooseUnknown},
		{"nothing is chosen where nothing is installed", chooseUninstalled},
		{"uninstalling clears a choice, once and again", uninstallTwice},
		{"installing again clears a choice", installAgain},
	})
}

func (f OneTimeBootFixture) findDeployments(t *testing.T) (booted, other host.Deployment) {
	t.Helper()
	noError(t, f.Once.Usable(t.Context()))
	other, err := f.Deployments.Clone(t.Context(), cloned)
	noError(t, err)
	all, err := f.Deployments.List(t.Context())
	noError(t, err)
	booted, err = host.Booted(all)
	noError(t, err)
	return booted, other
}

func (f OneTimeBootFixture) readChoice(t *testing.T) string {
	t.Helper()
	d, found, err := f.Once.ChosenOnce(t.Context())
	noError(t, err)
	require.Equal(t, found, d.Stateroot != "")
	return d.Stateroot
}

func installBootsNothing(t *testing.T, f OneTimeBootFixture) {
	booted, _ := f.findDeployments(t)
	noError(t, f.Once.Install(t.Context()), f.Once.Install(t.Context()))
	require.Empty(t, f.readChoice(t))
	require.Equal(t, booted.Stateroot, f.Start(t))
}

func choiceStartsOnce(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	noError(t, f.Once.Install(t.Context()), f.Once.ChooseOnce(t.Context(), other), f.Once.ChooseOnce(t.Context(), other))
	require.Equal(t, other.Stateroot, f.Start(t))
	for range 2 {
		require.Equal(t, booted.Stateroot, f.Start(t))
	}
}

func choiceIsFound(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	require.Empty(t, f.readChoice(t))
	noError(t, f.Once.Install(t.Context()), f.Once.ChooseOnce(t.Context(), other))
	require.Equal(t, other.Stateroot, f.readChoice(t))
	all, err := f.Deployments.List(t.Context())
	noError(t, err)
	require.Equal(t, booted.Stateroot, all[0].Stateroot, "the default")
	f.Start(t)
	require.Empty(t, f.readChoice(t))
}

func lastChoice(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	noError(t, f.Once.Install(t.Context()), f.Once.ChooseOnce(t.Context(), other), f.Once.ChooseOnce(t.Context(), booted))
	require.Equal(t, booted.Stateroot, f.readChoice(t))
	require.Equal(t, booted.Stateroot, f.Start(t))
}

func chooseUnknown(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	noError(t, f.Once.Install(t.Context()))
	other.Serial += 7
	require.Error(t, f.Once.ChooseOnce(t.Context(), other))
	require.Empty(t, f.readChoice(t))
	require.Equal(t, booted.Stateroot, f.Start(t))
}

func chooseUninstalled(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	require.Error(t, f.Once.ChooseOnce(t.Context(), other))
	require.Equal(t, booted.Stateroot, f.Start(t))
}

func uninstallTwice(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	noError(t, f.Once.Install(t.Context()), f.Once.ChooseOnce(t.Context(), other))
	for range 2 {
		noError(t, f.Once.Uninstall(t.Context()))
		require.Empty(t, f.readChoice(t))
	}
	require.Equal(t, booted.Stateroot, f.Start(t))
}

func installAgain(t *testing.T, f OneTimeBootFixture) {
	booted, other := f.findDeployments(t)
	noError(t, f.Once.Install(t.Context()), f.Once.ChooseOnce(t.Context(), other), f.Once.Install(t.Context()))
	require.Empty(t, f.readChoice(t))
	require.Equal(t, booted.Stateroot, f.Start(t))
}
