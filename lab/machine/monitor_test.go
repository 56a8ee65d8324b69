package machine

import (
	"bufio"
	"context"
	"net"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// monitorSays is a monitor that gives these lines to each command after the first; it returns what it was asked.
func monitorSays(t *testing.T, lines string) (Emulated, <-chan string) {
	t.Helper()
	e := Emulated{Dir: t.TempDir()}
	require.Equal(t, filepath.Join(e.Dir, "monitor.sock"), e.monitorSocket())
	listener, err := net.Listen("unix", e.monitorSocket())
	require.NoError(t, err)
	t.Cleanup(func() { listener.Close() })
	asked := make(chan string, 8)
	go func() {
		conn, err := listener.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		_, _ = conn.Write([]byte("{\"QMP\": {\"version\": {}, \"capabilities\": []}}\n"))
		answer := "{\"return\": {}}\n"
		for heard := bufio.NewScanner(conn); heard.Scan(); answer = lines {
			asked <- heard.Text()
			_, _ = conn.Write([]byte(answer))
		}
	}()
	return e, asked
}

func TestACableIsPulledAndPluggedIn(t *testing.T) {
	e, asked := monitorSays(t, "{\"event\": \"NIC_RX_FILTER_CHANGED\", \"data\": {}}\n{\"return\": {}}\n")
	require.NoError(t, e.Cable(context.Background(), 0, false))
	require.JSONEq(t, `{"execute": "qmp_capabilities", "arguments": {}}`, <-asked)
	require.JSONEq(t, `{"execute": "set_link", "arguments": {"name": "net0", "up": false}}`, <-asked)

	e, asked = monitorSays(t, "{\"return\": {}}\n")
	require.NoError(t, e.Cable(context.Background(), 1, true))
	<-asked
	require.JSONEq(t, `{"execute": "set_link", "arguments": {"name": "card1", "up": true}}`, <-asked)
}

func TestACableThatIsNotThere(t *testing.T) {
	e, _ := monitorSays(t, "{\"error\": {\"class\": \"DeviceNotFound\", \"desc\": \"Device 'card7' not found\"}}\n")
	require.ErrorContains(t, e.Cable(context.Background(), 7, false), "set_link: refused: Device 'card7' not found")
	require.ErrorIs(t, Emulated{Dir: t.TempDir()}.Cable(context.Background(), 0, false), ErrOff)
}
