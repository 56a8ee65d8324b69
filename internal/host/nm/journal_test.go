package nm

import (
	"errors"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/kernel"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nodewide"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// memory is a disk in memory.
type memory map[string]string

func (m memory) Read(p string) ([]byte, error) {
	if text, ok := m[p]; ok {
		return []byte(text), nil
	}
	return nil, fs.ErrNotExist
}
func (m memory) Write(p string, data []byte, _ fs.FileMode) error { m[p] = string(data); return nil }
func (m memory) Append(p string, data []byte, _ fs.FileMode) error {
	if m[p] = string(data); m[p] == "\n" {
		m[p] = ""
	}
	return nil
}
func (m memory) Remove(p string) error { delete(m, p); return nil }
func (m memory) List(dir string) ([]string, error) {
	var out []string
	for p := range m {
		if filepath.Dir(p) == dir {
			out = append(out, filepath.Base(p))
		}
	}
	return out, nil
}

func offline(m memory) *Network {
	return New(Options{Files: m, StateDir: "/state", Bus: func() (*dbus.Conn, error) { return nil, errors.New("no bus") }})
}

const (
	oldFile = "[connection]\nid=x\nuuid=u1\n[ipv4]\naddress1=192.0.2.10/24\n"
	newFile = "[connection]\nid=x\nuuid=u1\n[ipv4]\naddress1=192.0.2.77/24\n"
	etcX    = persistentDir + "/x.nmconnection"
	runX    = volatileDir + "/x.nmconnection"
	etcNew  = persistentDir + "/new.nmconnection"
	other   = persistentDir + "/other.nmconnection"
)

// Before services run, the stored name is put in order by its file.
func TestTheStoredNameIsRecoveredWithoutServices(t *testing.T) {
	name := func(stored string) netstate.Document {
		return netstate.Document{Hostname: &netstate.Hostname{Config: &stored}}
	}
	for phase, want := range map[string]string{phaseOpen: "node-1\n", phaseCommitted: "node-7\n"} {
		m := memory{host.HostnameFile: "half of a na"}
		n := offline(m)
		require.NoError(t, n.storeJournal(&record{Version: journalVersion, Phase: phase,
			Node: &nodewide.Change{Old: name("node-1"), New: name("node-7")}}))
		require.NoError(t, n.RecoverFiles(t.Context()))
		require.Equal(t, want, m[host.HostnameFile], phase)
		require.Contains(t, m, "/state/transaction.json", "what runs is for the recovery with services")
	}
	m := memory{host.HostnameFile: "node-7\n"}
	n := offline(m)
	require.NoError(t, n.storeJournal(&record{Version: journalVersion, Phase: phaseOpen, Node: &nodewide.Change{Old: name(""), New: name("node-7")}}))
	require.NoError(t, n.RecoverFiles(t.Context()))
	require.NotContains(t, m, host.HostnameFile, "no name was stored")
}

// A unit ordered before NetworkManager settles the files; what a crash can leave is mixed.
func TestRecoverWithoutNetworkManager(t *testing.T) {
	mixed := func() memory {
		return memory{
			etcX: newFile, runX: newFile, etcNew: "[connection]\nuuid=u2\n", other: "[connection]\nuuid=u7\n",
			persistentDir + "/u1.nmmeta": "",
		}
	}
	r := &record{
		Version: journalVersion, Profiles: []touched{{UUID: "u1", Iface: "eno1"}, {UUID: "u2", Iface: "eno2"}},
		Old: map[string]string{etcX: oldFile}, New: map[string]string{etcX: newFile, etcNew: "[connection]\nuuid=u2\nid=n\n"},
	}
	for phase, want := range map[string]map[string]string{phaseOpen: r.Old, phaseCommitted: r.New} {
		m := mixed()
		n := offline(m)
		r.Phase = phase
		require.NoError(t, n.storeJournal(r))
		require.NoError(t, n.Recover(t.Context()))
		require.Contains(t, m, "/state/transaction.json", "nobody has seen yet what runs")
		delete(m, "/state/transaction.json")
		require.Equal(t, "[connection]\nuuid=u7\n", m[other], "other profiles are not ours")
		delete(m, other)
		require.Equal(t, memory(want), m, phase)
	}
}

// br-ex of OpenShift is made of profiles in memory, anew in each boot: those of an interrupted boot must not come back beside them.
func TestRecoverLeavesProfilesOfAnEarlierBootsMemoryAlone(t *testing.T) {
	const runOVS, madeAnew = volatileDir + "/ovs-if-br-ex.nmconnection", "[connection]\nuuid=made-in-this-boot\n"
	r := &record{
		Version: journalVersion, Phase: phaseOpen, Boot: "earlier",
		Profiles: []touched{{UUID: "u1", Iface: "eno1", Active: true}, {UUID: "u2", Iface: "br-ex", Active: true}},
		Old:      map[string]string{etcX: oldFile, runOVS: "[connection]\nuuid=u2\n"},
		Before: netstate.Document{
			Interfaces: []netstate.Interface{{Name: "eno1"}, {Name: "br-ex"}},
			Routes:     &netstate.Routes{Config: []netstate.Route{{NextHopInterface: "br-ex"}, {NextHopInterface: "eno1"}}},
		},
		ForeignBefore: []kernel.Foreign{{Iface: "br-ex"}, {Iface: "eno1"}},
	}
	for boot, want := range map[string]string{"now": madeAnew, "earlier": "[connection]\nuuid=u2\n"} {
		m := memory{etcX: newFile, runOVS: madeAnew}
		n := offline(m)
		n.o.Boot = func() string { return boot }
		require.NoError(t, n.storeJournal(r))
		require.NoError(t, n.RecoverFiles(t.Context()))
		require.NoError(t, n.Recover(t.Context()))
		require.Equal(t, oldFile, m[etcX], "what is on the disk is put in order in every boot")
		require.Equal(t, want, m[runOVS], boot)
	}
	left := r.survivingPart("now", folders{persistent: persistentDir})
	require.Equal(t, []netstate.Interface{{Name: "eno1"}}, left.Before.Interfaces, "br-ex is not waited for")
	require.Equal(t, []netstate.Route{{NextHopInterface: "eno1"}}, left.Before.Routes.Config)
	require.Equal(t, []kernel.Foreign{{Iface: "eno1"}}, left.ForeignBefore)
	require.False(t, left.Profiles[1].Active, "br-ex is not activated")
	require.True(t, left.Profiles[0].Active)
}

// A program that makes its profiles anew in each boot may give them the same UUID: they are of this boot, not left over from the
// interrupted one.
func TestRecoverKeepsAProfileOfThisBootThatHasTheUUIDOfAnEarlierOne(t *testing.T) {
	const runOVS, old, now = volatileDir + "/ovs-if-br-ex.nmconnection", "[connection]\nuuid=u2\n# earlier\n", "[connection]\nuuid=u2\n"
	for _, phase := range []string{phaseOpen, phaseCommitted} {
		m := memory{etcX: newFile, runOVS: now}
		n := offline(m)
		n.o.Boot = func() string { return "now" }
		require.NoError(t, n.storeJournal(&record{
			Version: journalVersion, Phase: phase, Boot: "earlier",
			Profiles: []touched{{UUID: "u1", Iface: "eno1", Active: true}, {UUID: "u2", Iface: "br-ex", Active: true}},
			Old:      map[string]string{etcX: oldFile, runOVS: old}, New: map[string]string{etcX: newFile, runOVS: old},
		}))
		require.NoError(t, n.RecoverFiles(t.Context()))
		require.NoError(t, n.Recover(t.Context()))
		require.Equal(t, now, m[runOVS], phase)
		require.Equal(t, map[string]string{phaseOpen: oldFile, phaseCommitted: newFile}[phase], m[etcX], phase)
	}
}

func TestRecoverRefusesAJournalItCannotRead(t *testing.T) {
	require.ErrorContains(t, offline(memory{"/state/transaction.json": `{"version":2}`}).Recover(t.Context()), "version 2")
	require.ErrorContains(t, offline(memory{"/state/transaction.json": `{`}).Recover(t.Context()), "read the network journal")
}

func TestNothingHappensWithoutNetworkManager(t *testing.T) {
	n := offline(memory{})
	require.NoError(t, n.Recover(t.Context()))
	_, err := n.Observe(t.Context())
	require.ErrorIs(t, err, errNoManager)
	require.True(t, strings.HasPrefix(err.Error(), "observe the network: NetworkManager is not running"))
}

func TestKeyfileUUID(t *testing.T) {
	require.Equal(t, "a-b", keyfileUUID("# x\n[connection]\nid=y\nuuid=a-b\n"))
	require.Empty(t, keyfileUUID("[vpn]\nuuid=a-b\n"))
	require.Empty(t, keyfileUUID(""))
}

// Which of the two primary ports a bond has is decided by the commit, as all else.
func TestThePrimaryPortFollowsTheRecord(t *testing.T) {
	const file = "/sys/class/net/bond0/bonding/primary"
	r := &record{PrimaryOld: map[string]string{"bond0": "nic1"}, PrimaryNew: map[string]string{"bond0": "", "bond9": ""}}
	for phase, want := range map[string]string{phaseOpen: "nic1\n", phaseCommitted: ""} {
		m := memory{file: "nic2\n"}
		r.Phase = phase
		right, _ := r.sides()
		require.NoError(t, offline(m).setPrimaries(right.primary))
		require.Equal(t, want, m[file], phase)
	}
}

// The configuration of pairs follows the profiles on the disk, and goes with the last of them.
func TestPairsAreManagedWhileTheyHaveAProfile(t *testing.T) {
	pair := persistentDir + "/pair0.nmconnection"
	m := memory{
		etcX:                                  oldFile,
		pair:                                  "[connection]\nuuid=u3\ntype=veth\ninterface-name=pair0\n[veth]\npeer=pair1\n",
		persistentDir + "/pair1.nmconnection": "[connection]\nuuid=u4\ntype=ethernet\ninterface-name=pair1\n",
		volatileDir + "/pair8.nmconnection":   "[connection]\nuuid=u5\ntype=veth\ninterface-name=pair8\n[veth]\npeer=pair9\n",
	}
	require.NoError(t, offline(m).settlePairs())
	require.Contains(t, m[pairsConf], "\nmatch-device=interface-name:=pair0;interface-name:=pair1\nmanaged=1\n")
	delete(m, pair)
	require.NoError(t, offline(m).settlePairs())
	require.NotContains(t, m, pairsConf)
}
