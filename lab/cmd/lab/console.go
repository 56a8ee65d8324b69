package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/term"
)

// leave is the key that ends a console session: Ctrl-], as in telnet.
const leave = 0x1d

func terminal(file *os.File) bool { return term.IsTerminal(int(file.Fd())) }

// serialConsole connects our terminal to a machine's serial console, which a unix socket leads to.
func serialConsole(ctx context.Context, socket string) error {
	if !terminal(os.Stdin) {
		return errors.New("the serial console needs a terminal; use: lab exec")
	}
	conn, err := (&net.Dialer{}).DialContext(ctx, "unix", socket)
	if err != nil {
		return fmt.Errorf("connect to the serial console: %w", err)
	}
	defer conn.Close()
	fmt.Fprint(os.Stderr, "serial console: Enter for the login prompt (root, no password), Ctrl-] to leave\r\n")
	old, err := term.MakeRaw(int(os.Stdin.Fd()))
	if err != nil {
		return err
	}
	ended := make(chan error, 2)
	go func() { _, err := io.Copy(os.Stdout, conn); ended <- err }()
	go func() { ended <- typed(conn) }()
	err = <-ended
	return errors.Join(err, term.Restore(int(os.Stdin.Fd()), old))
}

// typed passes on what is typed until the key that leaves.
func typed(conn io.Writer) error {
	buffer := make([]byte, 256)
	for {
		n, err := os.Stdin.Read(buffer)
		if err != nil {
			return err
		}
		for i, key := range buffer[:n] {
			if key == leave {
				_, err := conn.Write(buffer[:i])
				return err
			}
		}
		if _, err := conn.Write(buffer[:n]); err != nil {
			return err
		}
	}
}
