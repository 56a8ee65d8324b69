package nmtest

import (
	"context"
	"os"
	"path/filepath"
)

// OVSSocket is where the database of a node's Open vSwitch listens.
const OVSSocket = "/run/openvswitch/db.sock"

// NeedsOVSPlugin skips the test where NetworkManager cannot drive Open vSwitch. Debian's
// cannot: it is built without.
func (n *Node) NeedsOVSPlugin() {
	n.t.Helper()
	for _, root := range []string{os.Getenv(EnvRoot), depsRoot()} {
		found, err := filepath.Glob(filepath.Join("/", root, "usr/lib*/*/NetworkManager/*/libnm-device-plugin-ovs.so"))
		if err == nil && len(found) > 0 && (root == os.Getenv(EnvRoot) || os.Getenv(EnvRoot) == "") {
			return
		}
	}
	n.t.Skipf("reason: NetworkManager has no Open vSwitch plugin here; set %s to a root file system whose NetworkManager has one", EnvRoot)
}

// StartOVS runs Open vSwitch. Bridges must use the userspace datapath ("netdev").
// Start NetworkManager after it.
func (n *Node) StartOVS() {
	n.t.Helper()
	schema, db := "/usr/share/openvswitch/vswitch.ovsschema", "/etc/openvswitch/conf.db"
	if os.Getenv(EnvRoot) == "" {
		var err error
		schema, err = File(schema)
		n.must(err)
	}
	n.runCommand("ovsdb-tool", "create", db, schema)
	n.runOVS(db)
}

// RestartOVS does to Open vSwitch what a power cut does: its database stays, its links go.
func (n *Node) RestartOVS() {
	n.t.Helper()
	for _, cmd := range n.others {
		n.must(cmd.Process.Kill())
		_ = cmd.Wait() // always an error: it was killed
	}
	n.others = nil
	n.must(os.RemoveAll("/run/openvswitch"))
	n.runOVS("/etc/openvswitch/conf.db")
}

func (n *Node) runOVS(db string) {
	n.t.Helper()
	n.must(os.MkdirAll("/run/openvswitch", 0o755))
	n.startBackground("ovsdb-server", "--remote=punix:"+OVSSocket, "--unixctl=/run/openvswitch/ovsdb.ctl", "--log-file=/dev/null", db)
	n.Until("the Open vSwitch database answers", func() bool { return fileExists(OVSSocket) })
	n.runCommand("ovs-vsctl", "--no-wait", "init")
	n.startBackground("ovs-vswitchd", "unix:"+OVSSocket, "--unixctl=/run/openvswitch/vswitchd.ctl", "--log-file=/dev/null")
}

// runCommand runs a program to its end.
func (n *Node) runCommand(name string, args ...string) {
	n.t.Helper()
	cmd, err := Command(context.Background(), name, args...)
	n.must(err)
	if out, err := cmd.CombinedOutput(); err != nil {
		n.t.Fatalf("%s %v: %v: %s", name, args, err, out)
	}
}

// startBackground runs a program until the test ends.
func (n *Node) startBackground(name string, args ...string) {
	n.t.Helper()
	cmd, err := Command(context.Background(), name, args...)
	n.must(err)
	cmd.Stdout, cmd.Stderr = n.log, n.log
	n.must(cmd.Start())
	n.others = append(n.others, cmd)
}
