package nm_test

import (
	"context"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/nmtest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/ovs"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// A victim is a copy of this binary that applies a document and hangs where it is told to,
// until it is killed.
const (
	envVictim = "NMTEST_VICTIM" // state directory
	envHangAt = "NMTEST_HANG"   // "proof" or "committed"
	envDoc    = "NMTEST_DOC"
)

// victimLease is short: the tests wait for its end.
const victimLease = 3 * time.Second

func TestMain(m *testing.M) {
	if state := os.Getenv(envVictim); state != "" {
		fmt.Println("victim:", victim(state))
		os.Exit(1)
	}
	os.Exit(nmtest.Main(m))
}

func victim(state string) error {
	want, err := netstate.Decode([]byte(os.Getenv(envDoc)))
	if err != nil {
		return err
	}
	hang := func(where string) {
		if os.Getenv(envHangAt) == where {
			fmt.Println("hanging")
			time.Sleep(time.Hour)
		}
	}
	disk := nmtest.Disk{AfterWrite: func(path string, data []byte) {
		if strings.Contains(string(data), `"phase":"committed"`) {
			hang("committed")
		}
	}}
	net := nm.New(nm.Options{
		Bus: nm.SystemBus(nmtest.BusAddress), Files: disk, StateDir: state, Lease: victimLease, Switch: ovs.New(nmtest.OVSSocket),
	})
	return net.Apply(context.Background(), want, func(context.Context) error { hang("proof"); return nil })
}
