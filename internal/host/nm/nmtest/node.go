package nmtest

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"
)

// Where things are on a Node.
const (
	BusAddress  = "unix:path=/run/dbus/system_bus_socket"
	KeyfileDir  = "/etc/NetworkManager/system-connections"
	VolatileDir = "/run/NetworkManager/system-connections"
	busName     = "org.freedesktop.NetworkManager"
	peer        = "peer" // network namespace at the far end of every link
)

const busConfig = `<!DOCTYPE busconfig PUBLIC "-//freedesktop//DTD D-Bus Bus Configuration 1.0//EN"
 "http://www.freedesktop.org/standards/dbus/1.0/busconfig.dtd">
<busconfig><type>system</type><listen>` + BusAddress + `</listen><auth>EXTERNAL</auth>
<policy context="default"><allow send_destination="*" eavesdrop="true"/><allow eavesdrop="true"/><allow own="*"/></policy>
<limit name="max_replies_per_connection">1024</limit></busconfig>
`

// No dns= handler but none: the machine's /etc/resolv.conf is not ours to write.
const nmConfig = `[main]
plugins=keyfile
auth-polkit=false
dns=none
rc-manager=unmanaged
dhcp=internal
no-auto-default=*
[logging]
level=INFO
[device-tun]
match-device=type:tun
managed=0
[device-all]
match-device=*
managed=1
`

// Node is a NetworkManager with its bus, inside this process's namespaces.
type Node struct {
	t   testing.TB
	bus *exec.Cmd
	nm  *exec.Cmd
	// others end with the test.
	others []*exec.Cmd
	log    *os.File
}

// Start makes a node with no links and no profiles and runs NetworkManager on it.
// It skips the test where that is impossible, and takes all away when the test ends.
func Start(t testing.TB) *Node {
	t.Helper()
	n := Bare(t)
	n.StartManager()
	return n
}

// StartManager runs D-Bus and NetworkManager on a bare node.
func (n *Node) StartManager() {
	n.t.Helper()
	if reason := missingTool("NetworkManager", "dbus-daemon"); reason != "" {
		n.t.Skip("reason: " + reason)
	}
	n.writeFile("/etc/NetworkManager/NetworkManager.conf", nmConfig)
	n.writeFile("/run/dbus/bus.conf", busConfig)
	bus, err := Command(context.Background(), "dbus-daemon", "--nofork", "--nopidfile", "--config-file=/run/dbus/bus.conf")
	n.must(err)
	n.must(bus.Start())
	n.bus = bus
	n.Until("the bus answers", func() bool { _, err := os.Stat("/run/dbus/system_bus_socket"); return err == nil })
	n.StartNM()
}

// Bare makes a node as Start does, but with nothing running on it.
func Bare(t testing.TB) *Node {
	t.Helper()
	if reason := os.Getenv(envSkip); reason != "" {
		t.Skip("reason: " + reason)
	}
	if os.Getenv(envInside) == "" {
		t.Fatal("nmtest.Main was not called from TestMain")
	}
	t.Attr("uses", "NetworkManager")
	n := &Node{t: t}
	var err error
	n.log, err = os.Create(filepath.Join(t.TempDir(), "NetworkManager.log"))
	n.must(err)
	t.Cleanup(n.stop)
	n.resetState()
	n.IP("link", "set", "lo", "up")
	n.IP("netns", "add", peer)
	n.Peer("link", "set", "lo", "up")
	return n
}

// StartNM runs NetworkManager and returns when it has finished starting up.
func (n *Node) StartNM() {
	n.t.Helper()
	// Devices that are there when /sys can be written would have to wait for udev.
	n.must(unix.Mount("", "/sys", "", unix.MS_REMOUNT|unix.MS_RDONLY, ""))
	nm, err := Command(context.Background(), "NetworkManager", "--debug")
	n.must(err)
	nm.Stdout, nm.Stderr = n.log, n.log
	n.must(nm.Start())
	n.nm = nm
	n.Until("NetworkManager has started", n.hasStarted)
	n.Sync() // what it writes as it starts is old when a change begins
	n.must(unix.Mount("", "/sys", "", unix.MS_REMOUNT, ""))
}

func (n *Node) hasStarted() bool {
	conn, err := dbus.Connect(BusAddress)
	if err != nil {
		return false
	}
	defer conn.Close()
	v, err := conn.Object(busName, "/org/freedesktop/NetworkManager").GetProperty(busName + ".Startup")
	return err == nil && v.Value() == false
}

// KillNM ends NetworkManager the hard way.
func (n *Node) KillNM() {
	n.t.Helper()
	n.must(n.nm.Process.Kill())
	_ = n.nm.Wait() // always an error: it was killed
	n.nm = nil
}

// StopNM keeps NetworkManager from running until ContinueNM: it is there and does not answer.
func (n *Node) StopNM() { n.t.Helper(); n.must(n.nm.Process.Signal(unix.SIGSTOP)) }

// ContinueNM lets a stopped NetworkManager run again.
func (n *Node) ContinueNM() { n.t.Helper(); n.must(n.nm.Process.Signal(unix.SIGCONT)) }

// Link makes a network card of that name; its far end is NAMEp in the peer namespace.
// It looks for duplicate addresses no time at all; LinkWithDAD does it properly.
func (n *Node) Link(name string) {
	n.t.Helper()
	n.LinkWithDAD(name)
	n.must(os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/dad_transmits", []byte("0"), 0o600))
}

// LinkWithDAD is a Link on which IPv6 addresses take a second to be usable.
func (n *Node) LinkWithDAD(name string) {
	n.t.Helper()
	far := name + "p"
	n.IP("link", "add", name, "type", "veth", "peer", "name", far, "netns", peer)
	n.Peer("link", "set", far, "up")
}

// Card is a Link that has the given MAC address from the first moment on, as a card has its own.
func (n *Node) Card(name, mac string) {
	n.t.Helper()
	far := name + "p"
	n.IP("link", "add", name, "address", mac, "type", "veth", "peer", "name", far, "netns", peer)
	n.Peer("link", "set", far, "up")
	n.must(os.WriteFile("/proc/sys/net/ipv6/conf/"+name+"/dad_transmits", []byte("0"), 0o600))
}

// Keyfile puts a profile on disk, private as NetworkManager demands.
func (n *Node) Keyfile(name, text string) string {
	n.t.Helper()
	path := filepath.Join(KeyfileDir, name)
	n.writeFile(path, text)
	return path
}

// IP runs ip(8) on the node; Peer at the far end of its links.
func (n *Node) IP(args ...string) string { n.t.Helper(); return n.runIP(args...) }

// Peer runs ip(8) in the peer namespace.
func (n *Node) Peer(args ...string) string {
	n.t.Helper()
	return n.runIP(append([]string{"-n", peer}, args...)...)
}

// Log is what NetworkManager has written so far.
func (n *Node) Log() string {
	data, err := os.ReadFile(n.log.Name())
	n.must(err)
	return string(data)
}

// Until polls the condition and fails the test when it does not come true in time.
func (n *Node) Until(what string, condition func() bool) {
	n.t.Helper()
	deadline := time.Now().Add(Patience(60 * time.Second))
	for !condition() {
		if time.Now().After(deadline) {
			n.t.Fatalf("waited in vain until %s", what)
		}
		time.Sleep(20 * time.Millisecond)
	}
}

// Patience stretches a time that a test waits at most, where the whole machine is slow: EnvPatience says how many times.
func Patience(d time.Duration) time.Duration {
	if times, err := strconv.Atoi(os.Getenv(EnvPatience)); err == nil && times > 0 {
		return d * time.Duration(times)
	}
	return d
}

func (n *Node) runIP(args ...string) string {
	n.t.Helper()
	path, err := findBinary("ip")
	n.must(err)
	out, err := exec.Command(path, args...).CombinedOutput()
	if err != nil {
		n.t.Fatalf("ip %v: %v: %s", args, err, out)
	}
	return string(out)
}

func (n *Node) writeFile(path, text string) {
	n.t.Helper()
	n.must(os.MkdirAll(filepath.Dir(path), 0o755))
	n.must(os.WriteFile(path, []byte(text), 0o600))
	n.must(flushFile(path))
}

func (n *Node) must(err error) {
	n.t.Helper()
	if err != nil {
		n.t.Fatal(err)
	}
}

func (n *Node) stop() {
	for _, cmd := range append(n.others, n.nm, n.bus) {
		if cmd != nil && cmd.Process != nil {
			_ = cmd.Process.Kill() // it may have ended by itself
			_ = cmd.Wait()
		}
	}
	if n.t.Failed() {
		n.t.Logf("NetworkManager said:\n%s", tail(n.Log(), 8000))
	}
}

func tail(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return fmt.Sprintf("(...)%s", s[len(s)-n:])
}

// resetState takes away what an earlier test left.
func (n *Node) resetState() {
	n.t.Helper()
	for _, dir := range []string{"/run/NetworkManager", durable, "/run/dbus", "/run/openvswitch", "/etc/openvswitch", "/etc/NetworkManager", "/var/lib/NetworkManager"} {
		entries, _ := os.ReadDir(dir) // none there is fine
		for _, e := range entries {
			n.must(os.RemoveAll(filepath.Join(dir, e.Name())))
		}
	}
	n.must(os.MkdirAll(KeyfileDir, 0o755))
	n.must(os.MkdirAll("/run/dbus", 0o755))
	n.removeLinks()
	for _, family := range []string{"-4", "-6"} { // rules belong to no link, and a manager that was killed leaves its own
		n.IP(family, "rule", "flush")
		n.IP(family, "rule", "add", "lookup", "main", "priority", "32766", "protocol", "kernel")
	}
	n.IP("-4", "rule", "add", "lookup", "default", "priority", "32767", "protocol", "kernel")
	if _, err := os.Stat("/run/netns/" + peer); err == nil {
		n.IP("netns", "del", peer)
	}
}
