//go:build interop

package interop

import (
	"bufio"
	"encoding/binary"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/godbus/dbus/v5"
	"github.com/stretchr/testify/require"
)

// serveUnitFiles stands in for systemd at its private socket, as far as the machine config daemon asks it: which unit files there are,
// to which it answers that there are none but those on the disk.
func serveUnitFiles(t *testing.T, socket string) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(socket), 0o755))
	listener, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go answer(conn)
		}
	}()
}

// answer accepts the peer under any name, and answers its calls until it hangs up.
func answer(conn net.Conn) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	for line := ""; line != "BEGIN"; {
		text, err := in.ReadString('\n')
		if err != nil {
			return
		}
		line = strings.Trim(text, "\x00\r\n")
		reply := map[string]string{"AUTH": "REJECTED EXTERNAL\r\n", "NEGOTIATE_UNIX_FD": "ERROR\r\n"}[line]
		if strings.HasPrefix(line, "AUTH EXTERNAL") {
			reply = "OK 00000000000000000000000000000000\r\n"
		}
		if _, err := conn.Write([]byte(reply)); err != nil {
			return
		}
	}
	for {
		call, err := dbus.DecodeMessage(in)
		if err != nil || call.Type != dbus.TypeMethodCall || reply(conn, call) != nil {
			return
		}
	}
}

// unitFile is what systemd says of one.
type unitFile struct{ Path, State string }

func reply(conn net.Conn, call *dbus.Message) error {
	none := []unitFile{}
	out := &dbus.Message{Type: dbus.TypeMethodReply, Body: []any{none}, Headers: map[dbus.HeaderField]dbus.Variant{
		dbus.FieldReplySerial: dbus.MakeVariant(call.Serial()), dbus.FieldSignature: dbus.MakeVariant(dbus.SignatureOf(none))}}
	if member, _ := call.Headers[dbus.FieldMember].Value().(string); member != "ListUnitFiles" {
		out.Type, out.Body = dbus.TypeError, nil
		delete(out.Headers, dbus.FieldSignature)
		out.Headers[dbus.FieldErrorName] = dbus.MakeVariant("org.freedesktop.DBus.Error.UnknownMethod")
	}
	return out.EncodeTo(conn, binary.LittleEndian)
}
