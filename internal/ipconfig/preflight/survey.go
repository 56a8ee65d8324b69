package preflight

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"time"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/stateroot"
)

// Surveyor finds out about a node what the checks must know of it. It changes nothing.
type Surveyor struct {
	Files host.Files
	Disk  stateroot.Disk
	// Deployments and Prober are host.Deployments and host.Prober, as far as they are needed.
	Deployments interface {
		List(ctx context.Context) ([]host.Deployment, error)
		CanSetDefault(ctx context.Context) error
		KernelArguments(ctx context.Context) ([]string, error)
	}
	// OneTimeBoot is host.OneTimeBoot, as far as it is needed.
	OneTimeBoot interface {
		Usable(ctx context.Context) error
	}
	Prober interface {
		InUse(ctx context.Context, addr netip.Prefix, ifaces ...string) (host.Claim, error)
	}
	// Kernel is the part of host.NetworkPlanner that asks the kernel, Units that of host.Units that looks.
	Kernel interface {
		CheckKernel(want netstate.Document) error
	}
	Units interface {
		State(ctx context.Context, unit string) (host.UnitState, error)
	}
	Now func() time.Time
}

// later is said of a check that is not made yet.
const later = "checked last, after all other checks pass"

// Look adds what is known at once. Facts that take seconds to gather are unknown until Measure.
func (s Surveyor) Look(ctx context.Context, old string, f *Facts) {
	f.Now = s.Now()
	f.SetDefault = s.Deployments.CanSetDefault(ctx)
	f.OneTimeBoot = s.OneTimeBoot.Usable(ctx)
	f.State = stateroot.OwnState(s.Files, old)
	if _, err := s.Files.Stat(host.EtcdPodManifest); err != nil {
		f.Etcd = fmt.Errorf("look at %s: %w", host.EtcdPodManifest, err)
	}
	s.lookAtBridge(f)
	var noArguments, notOwned error
	f.KernelArguments, noArguments = s.Deployments.KernelArguments(ctx)
	f.Owned, notOwned = ownedFiles(s.Files)
	config, noConfig := bringup.ReadMachineConfig(s.Files)
	f.OwnedArguments = config.KernelArguments
	f.Certificates = readExpiries(s.Files)
	f.Unknown = map[string]string{
		CheckAddressInUse: later, CheckDiskSpace: later, CheckDiskInodes: later,
		CheckLinks:      later,
		CheckRecertPlan: "the forecast is made in step collect-inputs, before anything is made or stopped",
	}
	s.lookAtUnits(ctx, f)
	if noArguments != nil {
		f.Unknown[CheckFirstBoot] = noArguments.Error()
	}
	if err := errors.Join(noArguments, noConfig); err != nil {
		f.Unknown[CheckKernelStuck], f.Unknown[CheckKernelMoved] = err.Error(), err.Error()
	}
	if notOwned != nil {
		f.Unknown[CheckMachineConfig] = notOwned.Error()
	}
	if len(f.Certificates) == 0 {
		const none = "no certificate of kubelet or API server was found on the node"
		f.Unknown[CheckCertificates], f.Unknown[CheckClock] = none, none
	}
}

// lookAtUnits adds the units that the new system could not start: its /etc is a copy of this system's.
func (s Surveyor) lookAtUnits(ctx context.Context, f *Facts) {
	f.UnitsAway = map[string]string{}
	for unit, required := range map[string]bool{
		host.UnitKubelet: true, host.UnitNetwork: true, host.UnitCRIO: false, host.UnitOVSConfiguration: false,
	} {
		state, err := s.Units.State(ctx, unit)
		switch {
		case err != nil:
			f.Unknown[CheckUnits] = err.Error()
		case required && !state.Exists():
			f.UnitsAway[unit] = "does not exist"
		case state.File == "masked": // a mask in /run does not outlive the boot
			f.UnitsAway[unit] = "is masked"
		}
	}
}

// lookAtBridge adds who makes the node's bridge, and which one it is.
func (s Surveyor) lookAtBridge(f *Facts) {
	_, err := s.Files.Stat(host.NMStateApplied)
	f.NMStateBridge = err == nil
	if text, err := s.Files.Read(host.OVNDefaultBridge); err == nil {
		if name := strings.TrimSpace(string(text)); name != host.BridgeExternal {
			f.OtherBridge = name
		}
	}
}

// Measure adds what the second stateroot takes and what is free, who has the new addresses, and whether the kernel can make the
// links of the wanted network. The link is asked while the disk is measured: both take seconds, and neither needs the other.
func (s Surveyor) Measure(ctx context.Context, spec lcav1.IPConfigSpec, pair stateroot.Pair, want netstate.Document, f *Facts) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var heard conflicts
	var asking sync.WaitGroup
	asking.Go(func() { heard = s.findConflicts(ctx, spec, f.Current) })
	err := s.measureSpace(ctx, pair, f)
	if err != nil {
		cancel() // the answer is of no use
	}
	asking.Wait()
	if err != nil {
		return err
	}
	for _, check := range []string{CheckAddressInUse, CheckDiskSpace, CheckDiskInodes, CheckLinks} {
		delete(f.Unknown, check)
	}
	if f.Claimed = heard.claimed; heard.unknown != "" {
		f.Unknown[CheckAddressInUse] = heard.unknown
	}
	if len(want.Interfaces) == 0 {
		f.Unknown[CheckLinks] = "the request is not one that could be carried out"
		return nil
	}
	f.Links = s.Kernel.CheckKernel(want)
	return nil
}

// measureSpace adds what the second stateroot takes and what is free.
func (s Surveyor) measureSpace(ctx context.Context, pair stateroot.Pair, f *Facts) (err error) {
	room := stateroot.Room{Files: s.Files, Disk: s.Disk}
	if f.Need, f.Free, err = room.SpaceFor(ctx, pair.Old); err != nil {
		return err
	}
	if f.BootNeedBytes, f.BootFreeBytes, err = room.BootSpaceFor(ctx, pair); err != nil {
		return err
	}
	all, err := s.Deployments.List(ctx)
	if err != nil {
		return fmt.Errorf("list deployments: %w", err)
	}
	f.Spare = nil
	for _, d := range all {
		if !d.Booted && !d.Default {
			f.Spare = append(f.Spare, d)
		}
	}
	return nil
}

// conflicts are the machines that answered for the new addresses.
type conflicts struct {
	claimed []Claimed
	unknown string
}

// findConflicts asks the link for the addresses that are new to the node. What stays unknown is no reason to
// refuse: the question may be put to the wrong network, where the node is about to be moved.
func (s Surveyor) findConflicts(ctx context.Context, spec lcav1.IPConfigSpec, now ipconfig.Current) (heard conflicts) {
	if id, said := ipconfig.DesiredVLAN(spec); said && id != now.VLANID {
		heard.unknown = "the new address is for " + vlanName(id) + ", which the node is not on yet"
		return heard
	}
	asked := newAddresses(spec, now)
	claims, errs := make([]host.Claim, len(asked)), make([]error, len(asked))
	var all sync.WaitGroup
	for i, a := range asked {
		all.Go(func() { claims[i], errs[i] = s.Prober.InUse(ctx, a, probeInterfaces(now)...) })
	}
	all.Wait()
	for i, a := range asked {
		switch {
		case errs[i] != nil:
			heard.unknown = errs[i].Error()
		case claims[i].Proxy:
			heard.unknown = fmt.Sprintf("who has %s cannot be found out: the machine with hardware address %s answers "+
				"for every address of %s (proxy ARP)", a.Addr(), claims[i].Hardware, a.Masked())
		case claims[i].Hardware != "":
			heard.claimed = append(heard.claimed, Claimed{Address: a.Addr(), Hardware: claims[i].Hardware})
		}
	}
	return heard
}

// probeInterfaces are where an answer can be heard: the bridge may keep it from the card, or the card from the bridge.
func probeInterfaces(now ipconfig.Current) []string {
	if now.Uplink == "" {
		return []string{host.BridgeExternal}
	}
	return []string{host.BridgeExternal, now.Uplink}
}

func vlanName(id int32) string {
	if id == 0 {
		return "the untagged network"
	}
	return "VLAN " + strconv.Itoa(int(id))
}

// newAddresses are those that the node does not have yet, with their networks.
func newAddresses(spec lcav1.IPConfigSpec, now ipconfig.Current) (out []netip.Prefix) {
	have := map[string]*lcav1.IPStatus{"ipv4": now.IPv4, "ipv6": now.IPv6}
	for _, w := range ipconfig.DesiredFamilies(spec, now) {
		if h := have[w.Name]; h != nil && ipconfig.SameAddr(h.Address, w.Address) {
			continue
		}
		if addr, err := netip.ParseAddr(w.Address); err == nil && w.PrefixLength > 0 {
			out = append(out, netip.PrefixFrom(addr, w.PrefixLength))
		}
	}
	return out
}
