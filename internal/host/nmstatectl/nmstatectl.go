package nmstatectl

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/run"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Runner runs a command on the node; run.Exec is one.
type Runner interface {
	Run(ctx context.Context, c run.Command) (run.Result, error)
}

// Files is the part of host.Files this package needs; host.Files satisfies it.
type Files interface {
	Read(path string) ([]byte, error)
	Write(path string, data []byte, mode fs.FileMode) error
	Remove(path string) error
}

// Options are the parts a Network is made of. Runner, Files and StateDir are needed.
type Options struct {
	Runner Runner
	Files  Files
	// StateDir holds the way back while a change is open, "/var/lib/lca/network" say.
	StateDir string
	// Command is the program; default "nmstatectl".
	Command string
	Log     *slog.Logger
	// Timeout is when NetworkManager takes an uncommitted change back by itself; the
	// proof must be done by then. Default 2 min.
	Timeout time.Duration
}

// Network is host.Network over nmstatectl. Apply and Recover run one at a time.
type Network struct {
	o  Options
	mu sync.Mutex
}

var _ host.Network = (*Network)(nil)

// New makes a Network. It runs nothing yet.
func New(o Options) *Network {
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Timeout == 0 {
		o.Timeout = 2 * time.Minute
	}
	if o.Command == "" {
		o.Command = "nmstatectl"
	}
	return &Network{o: o}
}

// Observe implements host.Network. Loopback and IPv6 link-local addresses are left out.
func (n *Network) Observe(ctx context.Context) (netstate.Document, error) {
	out, err := n.run(ctx, nil, "show", "--json")
	if err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: %w", err)
	}
	// Not netstate.Decode: the tool reports far more than the product knows.
	var d netstate.Document
	if err := json.Unmarshal(out, &d); err != nil {
		return netstate.Document{}, fmt.Errorf("observe the network: read the output of nmstatectl show: %w", err)
	}
	return tidy(d), nil
}

// Apply implements host.Network.
func (n *Network) Apply(ctx context.Context, want netstate.Document, prove func(context.Context) error) error {
	if err := netstate.Validate(want); err != nil {
		return err
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.recover(ctx); err != nil {
		return fmt.Errorf("settle an earlier change of the network: %w", err)
	}
	now, err := n.Observe(ctx)
	if err != nil {
		return err
	}
	if len(netstate.Verify(want, now)) == 0 {
		n.o.Log.Info("the network is as wanted, nothing to change")
		return runProof(ctx, prove)
	}
	if err := n.remember(want, now); err != nil {
		return err
	}
	if err := n.change(ctx, want, prove); err != nil {
		return fmt.Errorf("change the network: %w", n.goBack(ctx, err))
	}
	return n.forget()
}

// change is the part that may have to be taken back.
func (n *Network) change(ctx context.Context, want netstate.Document, prove func(context.Context) error) error {
	text, err := want.Encode()
	if err != nil {
		return err
	}
	// The checkpoint cannot be extended: what is not proved in time must not be committed.
	ctx, cancel := context.WithTimeout(ctx, n.o.Timeout*9/10)
	defer cancel()
	seconds := strconv.Itoa(int(n.o.Timeout.Seconds()))
	if _, err := n.run(ctx, text, "apply", "--no-commit", "--timeout", seconds, "-"); err != nil {
		return err
	}
	if err := runProof(ctx, prove); err != nil {
		return err
	}
	_, err = n.run(ctx, nil, "commit")
	return err
}

func runProof(ctx context.Context, prove func(context.Context) error) error {
	if prove == nil {
		return nil
	}
	if err := prove(ctx); err != nil {
		return fmt.Errorf("prove the network: %w", err)
	}
	return nil
}

// goBack returns to the old network after a failure and reports both.
func (n *Network) goBack(ctx context.Context, cause error) error {
	n.o.Log.Warn("going back to the old network", "because", cause)
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.o.Timeout)
	defer cancel()
	if err := n.recover(ctx); err != nil {
		return fmt.Errorf("%w; and the old network is not back: %w", cause, err)
	}
	return fmt.Errorf("%w; the old network is back", cause)
}

// Recover implements host.Network.
func (n *Network) Recover(ctx context.Context) error {
	n.mu.Lock()
	defer n.mu.Unlock()
	if err := n.recover(ctx); err != nil {
		return fmt.Errorf("settle an interrupted change of the network: %w", err)
	}
	return nil
}

// recover takes an open change back: by its checkpoint where there still is
// one, else by applying the way back that was written down before.
func (n *Network) recover(ctx context.Context) error {
	back, err := n.wayBack()
	if back == nil || err != nil {
		return err
	}
	if _, err := n.run(ctx, nil, "rollback"); err != nil {
		n.o.Log.Info("there is no checkpoint to return to", "err", err)
	}
	now, err := n.Observe(ctx)
	if err != nil {
		return err
	}
	if len(netstate.Verify(*back, now)) > 0 {
		text, err := back.Encode()
		if err != nil {
			return err
		}
		if _, err := n.run(ctx, text, "apply", "-"); err != nil {
			return err
		}
	}
	return n.forget()
}

func (n *Network) wayBackPath() string {
	return filepath.Join(n.o.StateDir, "nmstatectl-way-back.yaml")
}

func (n *Network) remember(want, now netstate.Document) error {
	text, err := netstate.Revert(want, now).Encode()
	if err != nil {
		return err
	}
	if err := n.o.Files.Write(n.wayBackPath(), text, 0o600); err != nil {
		return fmt.Errorf("write down the way back to the old network: %w", err)
	}
	return nil
}

func (n *Network) wayBack() (*netstate.Document, error) {
	text, err := n.o.Files.Read(n.wayBackPath())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the way back to the old network: %w", err)
	}
	d, err := netstate.Decode(text)
	if err != nil {
		return nil, fmt.Errorf("read the way back to the old network: %w", err)
	}
	return &d, nil
}

func (n *Network) forget() error {
	if err := n.o.Files.Remove(n.wayBackPath()); err != nil {
		return fmt.Errorf("forget the way back to the old network: %w", err)
	}
	return nil
}

func (n *Network) run(ctx context.Context, stdin []byte, args ...string) ([]byte, error) {
	r, err := n.o.Runner.Run(ctx, run.Command{Argv: append([]string{n.o.Command}, args...), Stdin: stdin})
	return r.Stdout, err
}
