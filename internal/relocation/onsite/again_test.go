package onsite_test

import (
	"bytes"
	"context"
	"io/fs"
	"log/slog"
	"net/netip"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// The stick is still plugged in when a node that is at home boots again.
func TestAtHomeTheSameStickIsNotAppliedAgain(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	applied := len(w.asks)
	for range 2 {
		require.NoError(t, w.switchOn())
		verdict, err := w.Judge()
		require.NoError(t, err)
		require.Equal(t, "home", verdict)
	}
	require.Len(t, w.asks, applied)
}

// rows delivers the same stick a few times, and nothing after that.
type rows struct {
	data string
	left int
}

func (r *rows) Next(context.Context) (onsite.Delivery, error) {
	if r.left--; r.left < 0 {
		return onsite.Delivery{}, errNothing
	}
	return onsite.Delivery{Data: []byte(r.data), Source: "volume"}, nil
}

// In the factory state, to which the node has gone back, the stick that failed is told of once and not tried again.
func TestAConfigurationThatFailedIsToldOnceAndNotTriedAgain(t *testing.T) {
	w := newWorld(t, false)
	w.sick = errIll
	require.NoError(t, w.Live(nil))
	var log bytes.Buffer
	s := w.service()
	s.Log, s.Inbox = slog.New(slog.NewTextHandler(&log, nil)), &rows{w.stick, 3}
	require.ErrorIs(t, s.Run(t.Context()), errNothing)
	require.Equal(t, 1, strings.Count(log.String(), "was tried already"))
	_, found, err := relocation.ReadRequest(w.node.Files())
	require.NoError(t, err)
	require.False(t, found)
}

// A node whose MachineConfig keeps it at an internal address stays there, whatever the site's network is.
func TestAnInternalAddressStays(t *testing.T) {
	internal := netip.MustParseAddr("192.168.126.2")
	record := relocation.Record{Internal: netip.MustParsePrefix("192.168.126.2/24"), Facts: relocation.Facts{Addresses: []netip.Addr{internal}}}
	c, problems := siteconfig.Decode([]byte(strings.Replace(siteFor("198.51.100"), "machineNetworks: [198.51.100.0/24]\n", "", 1)))
	require.Empty(t, problems)
	require.Empty(t, onsite.Misfits(record, c))
	require.Equal(t, []netip.Addr{internal}, onsite.Addresses(record, c))

	c.NodeIPs, c.MachineNetworks = []string{"198.51.100.20"}, []string{"198.51.100.0/24"}
	found := onsite.Misfits(record, c)
	require.Len(t, found, 2)
	require.Contains(t, found[0].String(), "keeps the node at its internal address 192.168.126.2")
}

// The address for a laptop was on the port before the site's: nodeip-configuration would choose it for the cluster.
func TestTheAddressForALaptopIsWithdrawnBeforeTheClusterStarts(t *testing.T) {
	w := newWorld(t, false)
	known := netip.MustParsePrefix("203.0.113.1/29")
	w.internal = known
	require.NoError(t, w.Live(nil))
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "home", verdict)
	require.Equal(t, []string{known.String() + " held=true"}, w.withdrawn)
}

// Power goes between the end of the flow and that of its units.
func TestANodeAtHomeRetiresItsUnits(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.node.Units().Enable(t.Context(), relocation.UnitReconfigure))
	require.NoError(t, w.switchOn())
	verdict, err := w.Judge()
	require.NoError(t, err)
	require.Equal(t, "home", verdict)
}

func TestKeepLeavesNothingOfTheRelocation(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.node.Run(t.Context(), w.service().Keep))
	require.Len(t, w.node.Describe().Stateroots, 1)
	for _, file := range []string{relocation.RecordFile, relocation.HoldFile} {
		_, err := w.node.Files().Stat(file)
		require.Error(t, err, file)
	}
	require.NoError(t, w.switchOn())
	require.NoError(t, w.node.ClusterUp())
	require.ErrorIs(t, w.service().AskBack(t.Context(), onsite.CauseRequested), operation.ErrRefused)
}

// A node that was in the factory state before has its configuration there too: it goes with the other secrets.
func TestTheFactoryStateKeepsNoConfigurationOfANodeAtHome(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.Again())
	require.NotEqual(t, factoryStateroot, w.node.Describe().Booted)
	_, err := w.node.Files().Stat(host.InVar(factoryStateroot, relocation.SiteConfigFile))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// A power cut has left what came by the page in the factory state, with the request for it.
func TestARollbackDoesNotTryAgainWhatCameByThePage(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	require.NoError(t, w.node.Files().Write(host.InVar(factoryStateroot, relocation.TypedFile), []byte(w.stick), 0o600))
	require.NoError(t, w.during(nil, w.back))
	require.Equal(t, factoryStateroot, w.node.Describe().Booted)
	_, err := w.node.Files().Stat(relocation.TypedFile)
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The credentials of one site are readable once, and not on the next site.
func TestAPreparationCopiesNoCredentialsOfASite(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.Live(nil))
	_, err := w.node.Files().Stat(relocation.HandoverFile)
	require.NoError(t, err)
	require.NoError(t, w.node.Run(t.Context(), w.service().Keep))
	kept := w.node.Describe().Booted
	require.NoError(t, w.prepare())
	site := w.node.Describe().Default
	require.NotEqual(t, kept, site, "failures: %v", w.node.Failures())
	_, err = w.node.Files().Stat(host.InVar(site, relocation.RecordFile))
	require.NoError(t, err)
	_, err = w.node.Files().Stat(host.InVar(site, relocation.HandoverFile))
	require.ErrorIs(t, err, fs.ErrNotExist)
}

// The disk may be full when the node is switched on at its site: the way back has its room from the factory.
func TestTheFactoryKeepsRoomForTheWayBack(t *testing.T) {
	w := newWorld(t, false)
	require.NoError(t, w.prepare())
	require.NoError(t, w.switchOn())
	require.True(t, relocation.IsSite(w.node.Describe().Booted))
	info, err := w.node.Files().Stat(stateroot.Ballast)
	require.NoError(t, err)
	require.Equal(t, int64(1<<20), info.Size())
}
