package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/netip"
	"os"
	"strings"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cli/verb"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/dhcp"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/files"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	domain "github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/delivery"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/factory"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/intake"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/laptop"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/report"
)

// siteDirectories are those of the node in which a configuration may lie.
func siteDirectories() []delivery.Directory {
	var out []delivery.Directory
	for _, dir := range []string{"/opt/openshift", "/etc/lca/site-config"} {
		out = append(out, delivery.Directory{Path: dir, Files: os.DirFS(dir)})
	}
	return out
}

// siteNodeVerbs are the verbs of "relocation" that run on a node.
func siteNodeVerbs(shared verb.Wiring, open opener) []*cobra.Command {
	verbs := relocation.NodeCommands(relocation.NodeWiring{
		Wiring: shared, Factory: open.openSiteFactory, NewID: newOperationID, Machine: nodeLabel,
		Report: func(ctx context.Context) (report.Ports, error) { return open.shippingReport(ctx, shared.Lock) },
		Site:   open.openSite(shared.Lock),
		Alive:  func() { _, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog) },
	})
	return append(verbs, relocation.PageCommand(relocation.PageWiring{
		Log: open.log, Console: os.Stdout, Now: time.Now, Node: nodeLabel, Ports: cabledPorts, Addresses: siteAddresses,
		Keep:   func(text string) error { return domain.KeepOnScreen(files.New("/"), text) },
		Site:   func(context.Context) (portal.Site, error) { return intake.NewSite(buildNode(open.log, &evidence{})) },
		Laptop: func() (laptop.Access, bool, error) { return laptopAccess(open.log) },
	}))
}

// openSite builds the ports of the flows on site; each of their attempts takes the lock.
func (o opener) openSite(lock host.NodeLock) func(context.Context, bool) (onsite.Ports, operation.Instruments, error) {
	return func(ctx context.Context, acting bool) (onsite.Ports, operation.Instruments, error) {
		node, with, err := o.openNode(ctx, acting)
		p := sitePorts(node, o.log)
		p.Acquire = lock.Acquire
		return p, with, err
	}
}

// laptopPause lies between two tries to serve a laptop whose port is not ready, laptopAgain between two looks for other
// DHCP servers: a switch passes nothing to a port for half a minute after it is plugged in, so that the first look may see none.
const laptopPause, laptopAgain = 15 * time.Second, 15 * time.Second

// laptopAccess is on the factory's network port, where the preparation knew one and an address on it.
func laptopAccess(log *slog.Logger) (laptop.Access, bool, error) {
	record, err := domain.ReadRecord(files.New("/"))
	if err != nil || !record.Internal.IsValid() || record.Uplink == "" {
		return laptop.Access{}, false, err
	}
	a := laptop.Access{Link: dhcp.New(), Port: record.Uplink, Address: record.Internal, LeaseFile: "/run/lca-laptop/leases",
		Log: log, Pause: laptopPause, Again: laptopAgain, NodesOwn: record.Decoupled()}
	if !a.NodesOwn {
		node := buildNode(log, &evidence{})
		a.Yields = func() bool { return intake.ChoosesAddress(context.Background(), node) }
	}
	return a, true, nil
}

func (o opener) openSiteFactory(ctx context.Context, acting bool) (factory.Ports, operation.Instruments, error) {
	node, with, err := o.openNode(ctx, acting)
	return siteFactoryPorts(node, o.log), with, err
}

func siteFactoryPorts(node host.Node, log *slog.Logger) factory.Ports {
	return factory.Ports{Node: node, Cluster: siteCluster{localCluster{files: files.New("/")}}, Clock: flow.SystemClock{}, Log: log}
}

func sitePorts(node host.Node, log *slog.Logger) onsite.Ports {
	return onsite.Ports{
		Node: node, Cluster: siteCluster{localCluster{files: files.New("/")}}, Password: newKubeadminPassword,
		Withdraw: dhcp.New().WithdrawFromAll,
		Inbox:    intake.NewInbox(node.Files, node.Volumes, siteDirectories()...), NewID: newOperationID,
		NewClusterID: uuid.NewString, Clock: flow.SystemClock{}, Log: log,
	}
}

// nodeLabel is the serial number of the machine, which is on its label, or its name.
func nodeLabel() string {
	if serial, err := os.ReadFile("/sys/class/dmi/id/product_serial"); err == nil && strings.TrimSpace(string(serial)) != "" {
		return strings.TrimSpace(string(serial))
	}
	name, err := os.Hostname()
	if err != nil {
		return ""
	}
	return name
}

// cabledPorts lists the machine's network ports: links with a device behind them.
func cabledPorts(context.Context) []portal.Port {
	links, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var out []portal.Port
	for _, l := range links {
		dir := fmt.Sprintf("/sys/class/net/%s/", l.Name)
		if _, err := os.Stat(dir + "device"); err != nil {
			continue
		}
		carrier, err := os.ReadFile(dir + "carrier")
		out = append(out, portal.Port{Name: l.Name, Cable: err == nil && strings.TrimSpace(string(carrier)) == "1"})
	}
	return out
}

// siteAddresses are those at which the machine is reached from outside.
func siteAddresses() []netip.Addr {
	links, err := net.Interfaces()
	if err != nil {
		return nil
	}
	var all []siteLink
	for _, l := range links {
		_, err := os.Stat(fmt.Sprintf("/sys/class/net/%s/device", l.Name))
		all = append(all, siteLink{name: l.Name, port: err == nil, addresses: globalAddresses(l)})
	}
	return reachableAddresses(all)
}

// siteLink is a link and its addresses; port says that it has a device behind it.
type siteLink struct {
	name      string
	port      bool
	addresses []netip.Addr
}

// reachableAddresses are the addresses of the machine's ports, and of br-ex, which takes them over. A machine without any, such as
// one whose ports are bonded, has all of its addresses listed.
func reachableAddresses(links []siteLink) []netip.Addr {
	var reached, all []netip.Addr
	for _, l := range links {
		all = append(all, l.addresses...)
		if l.port || l.name == host.BridgeExternal {
			reached = append(reached, l.addresses...)
		}
	}
	if len(reached) == 0 {
		return all
	}
	return reached
}

func globalAddresses(l net.Interface) (out []netip.Addr) {
	addresses, err := l.Addrs()
	if err != nil {
		return nil // the link has just gone
	}
	for _, a := range addresses {
		if p, err := netip.ParsePrefix(a.String()); err == nil && p.Addr().IsGlobalUnicast() {
			out = append(out, p.Addr())
		}
	}
	return out
}
