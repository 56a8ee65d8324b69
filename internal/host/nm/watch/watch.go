// Package watch wakes observers when the network changes, whoever changes it: links, addresses, routes and rules
// (rtnetlink), NetworkManager's profiles and devices (D-Bus signals), Open vSwitch (its database's monitor). It polls
// nothing; a source that breaks is opened again after a pause.
//
// Package nm uses it; it imports godbus and netlink only.
package watch

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/godbus/dbus/v5"
	"github.com/vishvananda/netlink/nl"
	"golang.org/x/sys/unix"
)

const (
	// quiet is how long nothing may change before observers are woken; latest bounds it while changes go on.
	quiet  = 100 * time.Millisecond
	latest = 500 * time.Millisecond
	// pause is the time before a broken source is opened again.
	pause = 2 * time.Second
)

// Source reports changes by calling changed until ctx ends or the source breaks, and once when it begins: what happened before that
// it has missed.
type Source func(ctx context.Context, changed func()) error

// Start runs the sources until ctx ends. Many changes in a row make one value; the first one comes at once.
func Start(ctx context.Context, sources ...Source) <-chan struct{} {
	raw := make(chan struct{}, 1)
	changed := func() {
		select {
		case raw <- struct{}{}:
		default:
		}
	}
	for _, s := range sources {
		go keepOpen(ctx, s, changed)
	}
	out := make(chan struct{}, 1)
	out <- struct{}{}
	go debounce(ctx, raw, out)
	return out
}

// keepOpen opens a source again whenever it breaks.
func keepOpen(ctx context.Context, s Source, changed func()) {
	for ctx.Err() == nil {
		if err := s(ctx, changed); err != nil && ctx.Err() == nil {
			changed() // it may be NetworkManager that went away
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
}

func debounce(ctx context.Context, raw <-chan struct{}, out chan<- struct{}) {
	defer close(out)
	for {
		select {
		case <-ctx.Done():
			return
		case <-raw:
		}
		waitQuiet(ctx, raw)
		if ctx.Err() != nil {
			return
		}
		select {
		case out <- struct{}{}:
		default:
		}
	}
}

// waitQuiet returns when the changes pause, or have gone on for long enough.
func waitQuiet(ctx context.Context, raw <-chan struct{}) {
	end := time.After(latest)
	for {
		select {
		case <-ctx.Done():
			return
		case <-end:
			return
		case <-time.After(quiet):
			return
		case <-raw:
		}
	}
}

// Kernel reports changes of links, addresses, routes and rules.
func Kernel(ctx context.Context, changed func()) error {
	s, err := nl.Subscribe(unix.NETLINK_ROUTE, unix.RTNLGRP_LINK, unix.RTNLGRP_IPV4_IFADDR, unix.RTNLGRP_IPV6_IFADDR,
		unix.RTNLGRP_IPV4_ROUTE, unix.RTNLGRP_IPV6_ROUTE, unix.RTNLGRP_IPV4_RULE, unix.RTNLGRP_IPV6_RULE)
	if err != nil {
		return fmt.Errorf("subscribe to the kernel's network events: %w", err)
	}
	var closed atomic.Bool
	closeOnce := func() {
		if closed.CompareAndSwap(false, true) {
			s.Close()
		}
	}
	defer closeOnce()
	stop := context.AfterFunc(ctx, closeOnce)
	defer stop()
	// A second of waiting is the bound on how late the end of ctx is seen.
	if err := s.SetReceiveTimeout(&unix.Timeval{Sec: 1}); err != nil && ctx.Err() == nil {
		return fmt.Errorf("subscribe to the kernel's network events: %w", err)
	}
	changed()
	for ctx.Err() == nil {
		_, _, err := s.Receive()
		switch {
		case err == nil, errors.Is(err, unix.ENOBUFS):
			changed() // also when events were lost
		case errors.Is(err, unix.EAGAIN), ctx.Err() != nil: // the end of ctx closes the socket
		default:
			return fmt.Errorf("read the kernel's network events: %w", err)
		}
	}
	return nil
}

// Manager reports NetworkManager's signals, and that it started or ended.
func Manager(bus func() (*dbus.Conn, error), name string) Source {
	return func(ctx context.Context, changed func()) error {
		conn, err := bus()
		if err != nil {
			return fmt.Errorf("connect to D-Bus: %w", err)
		}
		defer func() { _ = conn.Close() }() // nothing is buffered
		signals := make(chan *dbus.Signal, 256)
		conn.Signal(signals)
		if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender(name)); err != nil {
			return fmt.Errorf("subscribe to %s: %w", name, err)
		}
		if err := conn.AddMatchSignalContext(ctx, dbus.WithMatchSender("org.freedesktop.DBus"),
			dbus.WithMatchMember("NameOwnerChanged"), dbus.WithMatchArg(0, name)); err != nil {
			return fmt.Errorf("subscribe to %s: %w", name, err)
		}
		changed()
		for {
			select {
			case <-ctx.Done():
				return nil
			case _, open := <-signals:
				if !open {
					return fmt.Errorf("the connection to D-Bus ended")
				}
				changed()
			}
		}
	}
}
