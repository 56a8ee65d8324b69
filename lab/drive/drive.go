// Package drive uses the IPConfig of a lab node as its administrator would, and
// watches the node from outside while it changes.
//
// lab/demo and the lab scenarios call it. Of the product it knows the API types and
// nothing else.
package drive

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// poll is how often the object is looked at. An emulated API server must not be kept busy by
// those who wait for it.
var poll = map[machine.Kind]time.Duration{machine.Nspawn: 200 * time.Millisecond, machine.QEMU: 4 * time.Second}

// callTimeout bounds one call to an API server that may be anywhere, or nowhere; an emulated
// one is more than ten times slower.
var callTimeout = map[machine.Kind]time.Duration{machine.Nspawn: 5 * time.Second, machine.QEMU: 45 * time.Second}

// Driver is an administrator with a laptop on the lab's LAN.
type Driver struct {
	Lab *lab.Lab
	// Addresses are where the node may be.
	Addresses []netip.Addr
	// Say is told what changes, in words; nil for nobody.
	Say     func(string)
	clients map[netip.Addr]client.Client
	last    netip.Addr
	said    string
}

// New returns a driver for a node that is at one of the addresses.
func New(l *lab.Lab, say func(string), addresses ...netip.Addr) (*Driver, error) {
	if say == nil {
		say = func(string) {}
	}
	d := &Driver{Lab: l, Addresses: addresses, Say: say, clients: map[netip.Addr]client.Client{}}
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), lcav1.AddToScheme(scheme)); err != nil {
		return nil, err
	}
	for _, a := range addresses {
		config, err := ConfigAt(l, a)
		if err != nil {
			return nil, err
		}
		// The mapper asks the API when it is first needed, not now.
		if d.clients[a], err = client.New(config, client.Options{Scheme: scheme}); err != nil {
			return nil, fmt.Errorf("client for %s: %w", a, err)
		}
	}
	return d, nil
}

// ConfigAt is the administrator's access with the server at the address; its
// certificate must verify for that very address.
func ConfigAt(l *lab.Lab, a netip.Addr) (*rest.Config, error) {
	config, err := clientcmd.BuildConfigFromFlags("", l.Kubeconfig())
	if err != nil {
		return nil, fmt.Errorf("read the lab's kubeconfig: %w", err)
	}
	config.Host = "https://" + net.JoinHostPort(a.String(), "6443")
	config.Dial, config.Timeout = l.Net.DialContext, callTimeout[l.Kind]
	return config, nil
}

// anywhere calls do at each address, the last good one first, until the API answers.
func (d *Driver) anywhere(ctx context.Context, do func(context.Context, client.Client) error) error {
	var errs []error
	order := append([]netip.Addr{}, d.Addresses...)
	for i, a := range order {
		if a == d.last {
			order[0], order[i] = order[i], order[0]
		}
	}
	for _, a := range order {
		err := do(ctx, d.clients[a])
		if err == nil || apierrors.ReasonForError(err) != "" {
			d.last = a
			return err
		}
		errs = append(errs, fmt.Errorf("at %s: %w", a, err))
	}
	return errors.Join(errs...)
}

// Get reads the IPConfig.
func (d *Driver) Get(ctx context.Context) (*lcav1.IPConfig, error) {
	ipc := &lcav1.IPConfig{}
	err := d.anywhere(ctx, func(ctx context.Context, c client.Client) error {
		return c.Get(ctx, types.NamespacedName{Name: lcav1.IPConfigName}, ipc)
	})
	return ipc, err
}

// Patch merges a change into the IPConfig; a refusal comes back as the API server worded it.
func (d *Driver) Patch(ctx context.Context, change any) error {
	data, err := json.Marshal(change)
	if err != nil {
		return err
	}
	return d.anywhere(ctx, func(ctx context.Context, c client.Client) error {
		ipc := &lcav1.IPConfig{}
		ipc.Name = lcav1.IPConfigName
		return c.Patch(ctx, ipc, client.RawPatch(types.MergePatchType, data))
	})
}

// Delete deletes the IPConfig.
func (d *Driver) Delete(ctx context.Context) error {
	return d.anywhere(ctx, func(ctx context.Context, c client.Client) error {
		ipc := &lcav1.IPConfig{}
		ipc.Name = lcav1.IPConfigName
		return c.Delete(ctx, ipc)
	})
}

// Stage asks for a stage.
func (d *Driver) Stage(ctx context.Context, stage lcav1.IPConfigStage) error {
	return d.Patch(ctx, map[string]any{"spec": map[string]any{"stage": stage}})
}

// Until waits for a state of the IPConfig. A condition with reason Failed ends the wait
// at once unless the caller waits for just that.
func (d *Driver) Until(ctx context.Context, what string, reached func(*lcav1.IPConfig) bool) (*lcav1.IPConfig, error) {
	return d.wait(ctx, what, reached, failure)
}

// Eventually waits for a state through failures that are there, or that pass.
func (d *Driver) Eventually(ctx context.Context, what string, reached func(*lcav1.IPConfig) bool) (*lcav1.IPConfig, error) {
	return d.wait(ctx, what, reached, func(*lcav1.IPConfig) string { return "" })
}

func (d *Driver) wait(ctx context.Context, what string, reached func(*lcav1.IPConfig) bool,
	failure func(*lcav1.IPConfig) string) (*lcav1.IPConfig, error) {
	var last string
	for {
		ipc, err := d.Get(ctx)
		if err == nil {
			d.narrate(ipc)
			if reached(ipc) {
				return ipc, nil
			}
			last = Summary(ipc)
			if f := failure(ipc); f != "" {
				return ipc, fmt.Errorf("waiting for %s: %s", what, f)
			}
		}
		select {
		case <-ctx.Done():
			return nil, fmt.Errorf("waited for %s in vain; last seen: %s; last error: %w", what, last, errors.Join(err, ctx.Err()))
		case <-time.After(poll[d.Lab.Kind]):
		}
	}
}

func failure(ipc *lcav1.IPConfig) string {
	for _, c := range ipc.Status.Conditions {
		if c.Reason == lcav1.ReasonFailed {
			return c.Type + " failed: " + c.Message
		}
	}
	return ""
}

// Is says whether a condition of the IPConfig is True and of the present generation.
func Is(condition string) func(*lcav1.IPConfig) bool {
	return func(ipc *lcav1.IPConfig) bool {
		for _, c := range ipc.Status.Conditions {
			if c.Type == condition {
				return c.Status == "True" && ipc.Status.ObservedGeneration >= ipc.Generation
			}
		}
		return false
	}
}

// Summary is an IPConfig in one line.
func Summary(ipc *lcav1.IPConfig) string {
	text := "no condition yet"
	if n := len(ipc.Status.Conditions); n > 0 {
		c := ipc.Status.Conditions[n-1]
		text = fmt.Sprintf("%s=%s %s: %s", c.Type, c.Status, c.Reason, c.Message)
	}
	if s := ipc.Status.Step; s != nil {
		text += fmt.Sprintf(" (step %d of %d, %s)", s.Index, s.Total, s.Name)
	}
	var next []string
	for _, s := range ipc.Status.ValidNextStages {
		next = append(next, string(s))
	}
	return text + " next: [" + strings.Join(next, ", ") + "]"
}

func (d *Driver) narrate(ipc *lcav1.IPConfig) {
	if s := Summary(ipc); s != d.said {
		d.said = s
		d.Say(s)
	}
}

// Journal asks lca-cli on the node for its own account of the operation.
func (d *Driver) Journal(ctx context.Context) (Journal, error) {
	text, err := machine.Output(ctx, d.Lab.Machine, "/usr/local/bin/lca-cli", "ip-config", "status", "-o", "json")
	if err != nil {
		return Journal{}, err
	}
	var j Journal
	if err := json.Unmarshal([]byte(text), &j); err != nil {
		return Journal{}, fmt.Errorf("decode the node's account: %w", err)
	}
	return j, nil
}

// Journal is what "lca-cli ip-config status -o json" answers.
type Journal struct {
	Operation string   `json:"operation"`
	Booted    string   `json:"booted"`
	Where     string   `json:"where"`
	Failure   string   `json:"failure,omitempty"`
	Cause     string   `json:"rollbackCause,omitempty"`
	Steps     []Step   `json:"steps"`
	Evidence  []string `json:"evidence,omitempty"`
}

// Step is one step of the timeline.
type Step struct {
	Flow    string    `json:"flow"`
	Step    string    `json:"step"`
	Title   string    `json:"title"`
	Ended   time.Time `json:"ended"`
	Seconds float64   `json:"seconds"`
	Result  string    `json:"result"`
	Error   string    `json:"error,omitempty"`
}
