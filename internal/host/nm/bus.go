package nm

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/godbus/dbus/v5"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// Names of NetworkManager's D-Bus API.
const (
	busName       = "org.freedesktop.NetworkManager"
	pathManager   = dbus.ObjectPath("/org/freedesktop/NetworkManager")
	pathSettings  = dbus.ObjectPath("/org/freedesktop/NetworkManager/Settings")
	pathDNS       = dbus.ObjectPath("/org/freedesktop/NetworkManager/DnsManager")
	ifaceManager  = busName
	ifaceSettings = busName + ".Settings"
	ifaceProfile  = busName + ".Settings.Connection"
	ifaceDevice   = busName + ".Device"
	ifaceActive   = busName + ".Connection.Active"
	ifaceDNS      = busName + ".DnsManager"
	ifaceLease    = busName + ".Checkpoint"
	propsGetAll   = "org.freedesktop.DBus.Properties.GetAll"
	noObject      = dbus.ObjectPath("/")
)

// passing is an error of a kind that passes: it is a host.ErrNetworkUnavailable.
type passing string

// Error implements error.
func (p passing) Error() string { return string(p) }

// Is says so to errors.Is.
func (passing) Is(target error) bool { return target == host.ErrNetworkUnavailable }

// errNoManager says that NetworkManager does not run, or that its bus does not.
const errNoManager = passing("NetworkManager is not running")

// errNoAnswer says that NetworkManager, or the bus, did not answer in time.
const errNoAnswer = passing("NetworkManager does not answer")

// client is one connection to the bus, for the length of one call of the port.
type client struct{ conn *dbus.Conn }

// connect opens a client and makes sure that NetworkManager is there.
func (n *Network) connect(ctx context.Context) (*client, error) {
	conn, err := n.o.Bus()
	if err != nil {
		return nil, fmt.Errorf("%w: connect to D-Bus: %w", errNoManager, err)
	}
	c := &client{conn: conn}
	if _, err := c.busOwner(ctx); err != nil {
		c.close()
		return nil, err
	}
	return c, nil
}

func (c *client) close() { _ = c.conn.Close() } // nothing is buffered

// busOwner is the unique bus name of the running NetworkManager; it changes when that restarts.
func (c *client) busOwner(ctx context.Context) (string, error) {
	var name string
	err := c.conn.BusObject().CallWithContext(ctx, "org.freedesktop.DBus.GetNameOwner", 0, busName).Store(&name)
	if isError(err, "org.freedesktop.DBus.Error.NameHasNoOwner") {
		return "", errNoManager
	}
	if err != nil {
		return "", fmt.Errorf("ask D-Bus for NetworkManager: %w", markPassing(err))
	}
	return name, nil
}

// call invokes a method and stores what it returns.
func (c *client) call(ctx context.Context, path dbus.ObjectPath, method string, args []any, results ...any) error {
	// NoAutoStart: who stopped NetworkManager meant it.
	call := c.conn.Object(busName, path).CallWithContext(ctx, method, dbus.FlagNoAutoStart, args...)
	if call.Err != nil {
		return fmt.Errorf("%s: %w", shortName(method), markPassing(call.Err))
	}
	if len(results) == 0 {
		return nil
	}
	if err := call.Store(results...); err != nil {
		return fmt.Errorf("%s: read the answer: %w", shortName(method), err)
	}
	return nil
}

// markPassing marks the errors of a bus whose NetworkManager went away or is too busy.
func markPassing(err error) error {
	switch {
	case isError(err, "org.freedesktop.DBus.Error.ServiceUnknown", "org.freedesktop.DBus.Error.NameHasNoOwner"):
		return fmt.Errorf("%w: %w", errNoManager, err)
	case errors.Is(err, dbus.ErrClosed), isError(err, "org.freedesktop.DBus.Error.NoReply", "org.freedesktop.DBus.Error.Timeout",
		"org.freedesktop.DBus.Error.TimedOut", "org.freedesktop.DBus.Error.LimitsExceeded"):
		return fmt.Errorf("%w: %w", errNoAnswer, err)
	}
	return err
}

// properties are an object's properties of one D-Bus interface.
type properties map[string]dbus.Variant

func (c *client) readProperties(ctx context.Context, path dbus.ObjectPath, iface string) (properties, error) {
	var p properties
	if err := c.call(ctx, path, propsGetAll, []any{iface}, &p); err != nil {
		return nil, fmt.Errorf("%s of %s: %w", shortName(iface), path, err)
	}
	return p, nil
}

// isError compares the D-Bus name of an error.
func isError(err error, names ...string) bool {
	var e dbus.Error
	if !errors.As(err, &e) {
		return false
	}
	for _, n := range names {
		if e.Name == n {
			return true
		}
	}
	return false
}

// isGone says that the object asked for does not exist any more.
func isGone(err error) bool {
	return isError(err, "org.freedesktop.DBus.Error.UnknownObject", "org.freedesktop.DBus.Error.UnknownMethod",
		"org.freedesktop.DBus.Error.UnknownInterface")
}

func shortName(method string) string {
	return strings.TrimPrefix(method[strings.LastIndexByte(method, '.')+1:], ".")
}
