package drive

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// Seen is what an observer outside the node finds at an address.
type Seen struct {
	Address netip.Addr `json:"address"`
	// Ping: the address answers an ICMP echo request.
	Ping bool `json:"ping"`
	// API: an authenticated request succeeded and the server's certificate verified for the address.
	API bool `json:"api"`
	// NodeAddresses are the Node object's internal addresses, read through that request.
	NodeAddresses []string `json:"nodeAddresses,omitempty"`
	Error         string   `json:"error,omitempty"`
}

// Look observes an address from the LAN.
func Look(ctx context.Context, l *lab.Lab, a netip.Addr) Seen {
	s := Seen{Address: a, Ping: l.Net.Ping(ctx, a) == nil}
	addresses, err := nodeAddresses(ctx, l, a)
	if err != nil {
		s.Error = err.Error()
		return s
	}
	s.API, s.NodeAddresses = true, addresses
	return s
}

func nodeAddresses(ctx context.Context, l *lab.Lab, a netip.Addr) (out []string, err error) {
	config, err := ConfigAt(l, a)
	if err != nil {
		return nil, err
	}
	if config.Insecure || len(config.CAData) == 0 && config.CAFile == "" {
		return nil, x509.UnknownAuthorityError{}
	}
	api, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, err
	}
	for _, n := range nodes.Items {
		for _, addr := range n.Status.Addresses {
			if addr.Type == "InternalIP" {
				out = append(out, addr.Address)
			}
		}
	}
	return out, nil
}

// beat is the resolution of the outage meter.
var beat = map[machine.Kind]time.Duration{machine.Nspawn: 50 * time.Millisecond, machine.QEMU: 2 * time.Second}

// meterTimeout bounds one question of the meter: an answer later than that is none.
var meterTimeout = map[machine.Kind]time.Duration{machine.Nspawn: time.Second, machine.QEMU: 10 * time.Second}

// Meter measures how long nobody outside can use the API, at whichever address.
type Meter struct {
	lab       *lab.Lab
	addresses []netip.Addr
	stop      context.CancelFunc
	done      sync.WaitGroup
	mu        sync.Mutex
	good      []time.Time
}

// StartMeter asks each address for /readyz with the administrator's credentials, again and again.
func StartMeter(ctx context.Context, l *lab.Lab, addresses ...netip.Addr) (*Meter, error) {
	ctx, cancel := context.WithCancel(ctx)
	m := &Meter{lab: l, addresses: addresses, stop: cancel}
	for _, a := range addresses {
		config, err := ConfigAt(l, a)
		if err != nil {
			cancel()
			return nil, err
		}
		config.Timeout, config.QPS = meterTimeout[l.Kind], -1
		api, err := kubernetes.NewForConfig(config)
		if err != nil {
			cancel()
			return nil, err
		}
		m.done.Go(func() { m.watch(ctx, api) })
	}
	return m, nil
}

func (m *Meter) watch(ctx context.Context, api kubernetes.Interface) {
	for ctx.Err() == nil {
		if api.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error() == nil {
			m.mu.Lock()
			m.good = append(m.good, time.Now())
			m.mu.Unlock()
		}
		select {
		case <-ctx.Done():
		case <-time.After(beat[m.lab.Kind]):
		}
	}
}

// CatchUp waits for a good answer later than now: who is done with the node may have seen its API before the meter has, which
// has to find out first that its old connection leads nowhere any more.
func (m *Meter) CatchUp(ctx context.Context) error {
	since := time.Now()
	for !m.sawAfter(since) {
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API to answer the outage meter: %w", ctx.Err())
		case <-time.After(beat[m.lab.Kind]):
		}
	}
	return nil
}

func (m *Meter) sawAfter(moment time.Time) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return slices.ContainsFunc(m.good, moment.Before)
}

// Stop ends the measurement and returns the longest time without a good answer.
func (m *Meter) Stop() (outage time.Duration, err error) {
	m.stop()
	m.done.Wait()
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.good) < 2 {
		return 0, fmt.Errorf("the API answered %d times while it was watched: nothing to measure", len(m.good))
	}
	slices.SortFunc(m.good, time.Time.Compare)
	for i := 1; i < len(m.good); i++ {
		outage = max(outage, m.good[i].Sub(m.good[i-1]))
	}
	return outage, nil
}
