package ovs_test

import (
	"context"
	"encoding/json"
	"net"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
)

func TestNoOpenVSwitch(t *testing.T) {
	s := ovs.New(filepath.Join(t.TempDir(), "db.sock"))
	all, err := s.Interfaces(t.Context())
	require.NoError(t, err)
	require.Empty(t, all)
	_, err = s.Uplink(t.Context(), "br-ex")
	require.ErrorContains(t, err, "find the uplink of bridge br-ex: connect to the Open vSwitch database")
}

// server answers each connection's first request with the given text, after asking for
// a sign of life as ovsdb-server does.
func server(t *testing.T, answer string) string {
	t.Helper()
	socket := filepath.Join(t.TempDir(), "db.sock")
	l, err := net.Listen("unix", socket)
	require.NoError(t, err)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			dec := json.NewDecoder(c)
			var req map[string]any
			_ = dec.Decode(&req) // the test sees what follows
			_, _ = c.Write([]byte(`{"id":"echo","method":"echo","params":[]}`))
			_ = dec.Decode(&req)
			_, _ = c.Write([]byte(answer))
		}
	}()
	return socket
}

func TestOneRowIsNoSet(t *testing.T) {
	// A set of one is sent as its only member.
	s := ovs.New(server(t, `{"id":1,"error":null,"result":[
	 {"rows":[{"name":"br-ex","ports":["uuid","p1"]}]},
	 {"rows":[{"_uuid":["uuid","p1"],"name":"eno1","interfaces":["uuid","i1"]}]},
	 {"rows":[{"_uuid":["uuid","i1"],"name":"eno1","type":""}]}]}`))
	uplink, err := s.Uplink(t.Context(), "br-ex")
	require.NoError(t, err)
	require.Equal(t, "eno1", uplink)
}

func TestRefusals(t *testing.T) {
	for name, c := range map[string]struct{ answer, want string }{
		"request refused":     {`{"id":1,"error":"unknown database","result":null}`, "unknown database"},
		"operation refused":   {`{"id":1,"error":null,"result":[{"error":"not supported","details":"no such table"}]}`, "no such table"},
		"too short an answer": {`{"id":1,"error":null,"result":[]}`, "0 of 3"},
		"no JSON at all":      {`what?`, "ask the Open vSwitch database"},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := ovs.New(server(t, c.answer)).Uplink(t.Context(), "br-ex")
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestSilentServerIsLeftWithTheContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	_, err := ovs.New(server(t, ` `)).Uplink(ctx, "br-ex")
	require.ErrorIs(t, err, context.DeadlineExceeded)
}

// A watch that begins again after the connection broke has missed what changed meanwhile.
func TestAWatchThatBeginsIsAChange(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	changes, ended := make(chan struct{}, 1), make(chan error, 1)
	go func() {
		ended <- ovs.New(server(t, `{"id":1,"error":null,"result":{}}`)).Watch(ctx, func() { changes <- struct{}{} })
	}()
	select {
	case <-changes:
	case err := <-ended:
		t.Fatalf("the watch ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatal("nothing was reported")
	}
	cancel()
	require.NoError(t, <-ended)
}
