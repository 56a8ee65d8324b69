package systemd

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/coreos/go-systemd/v22/dbus"
	godbus "github.com/godbus/dbus/v5"
	"golang.org/x/sys/unix"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

const (
	systemBus = "/run/dbus/system_bus_socket"
	// privateSocket is systemd's own socket. It needs no message bus and knows no Hello.
	privateSocket = "/run/systemd/private"
)

// Options say how to reach systemd.
type Options struct {
	// Root is the host's root as this process sees it; empty is "/".
	Root string
	// Socket is the D-Bus socket; empty is the system bus beneath Root, and
	// systemd's private socket where there is no bus.
	Socket string
	Log    *slog.Logger
}

// Manager implements host.Units, host.RuntimeMasks, host.Transients, host.ForeignUnits and
// host.Power.
type Manager struct {
	root   string
	socket string
	log    *slog.Logger

	mu   sync.Mutex
	conn *dbus.Conn
}

// New returns a Manager; it connects when it is first used, and again when the
// connection broke.
func New(o Options) *Manager {
	if o.Root == "" {
		o.Root = "/"
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Manager{root: o.Root, socket: o.Socket, log: o.Log}
}

// Close ends the connection.
func (m *Manager) Close() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil {
		m.conn.Close()
		m.conn = nil
	}
}

func (m *Manager) connect() (*dbus.Conn, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.conn != nil && m.conn.Connected() {
		return m.conn, nil
	}
	if m.conn != nil {
		m.conn.Close()
		m.conn = nil
	}
	var errs []error
	for _, socket := range m.socketPaths() {
		conn, err := dbus.NewConnection(func() (*godbus.Conn, error) { return dialSocket(socket) })
		if err == nil {
			m.conn = conn
			return conn, nil
		}
		errs = append(errs, fmt.Errorf("connect to systemd at %s: %w", socket, err))
	}
	return nil, errors.Join(errs...)
}

func (m *Manager) socketPaths() []string {
	if m.socket != "" {
		return []string{m.socket}
	}
	return []string{filepath.Join(m.root, systemBus), filepath.Join(m.root, privateSocket)}
}

// dialSocket opens an authenticated connection; only a message bus wants to be greeted.
func dialSocket(socket string) (*godbus.Conn, error) {
	conn, err := godbus.Dial("unix:path=" + socket)
	if err != nil {
		return nil, fmt.Errorf("connect to %s: %w", socket, err)
	}
	err = conn.Auth([]godbus.Auth{godbus.AuthExternal(fmt.Sprint(os.Getuid()))})
	if err == nil && !strings.HasSuffix(socket, privateSocket) {
		err = conn.Hello()
	}
	if err != nil {
		conn.Close()
		return nil, err
	}
	return conn, nil
}

// Errors of systemd, see org.freedesktop.systemd1(5).
const (
	errNoSuchUnit = "org.freedesktop.systemd1.NoSuchUnit"
	errUnitExists = "org.freedesktop.systemd1.UnitExists"
)

func isError(err error, name string) bool {
	var e godbus.Error
	return errors.As(err, &e) && e.Name == name
}

// BootID implements host.Power.
func (m *Manager) BootID(context.Context) (string, error) {
	data, err := os.ReadFile(filepath.Join(m.root, host.BootIDFile))
	if err != nil {
		return "", fmt.Errorf("read the boot id: %w", err)
	}
	return strings.TrimSpace(string(data)), nil
}

// Reboot implements host.Power. The reboot is asked for by a unit of its own, so that the
// caller's end (its pod, its unit) cannot take the request with it.
func (m *Manager) Reboot(ctx context.Context, reason string) error {
	err := m.Launch(ctx, host.Transient{
		Unit:        host.UnitReboot,
		Description: "Lifecycle Agent: reboot (" + reason + ")",
		Argv:        []string{"systemctl", "--message=" + reason, "reboot"},
	})
	if errors.Is(err, host.ErrUnitRunning) {
		return nil
	}
	return err
}

// flushFolder makes changes below a folder of the host survive a power cut; systemd does not.
func (m *Manager) flushFolder(dir string) error {
	f, err := os.Open(filepath.Join(m.root, dir))
	if err != nil {
		return fmt.Errorf("flush: %w", err)
	}
	defer f.Close()
	if err := unix.Syncfs(int(f.Fd())); err != nil {
		return fmt.Errorf("flush %s: %w", dir, err)
	}
	return nil
}
