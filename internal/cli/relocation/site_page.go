package relocation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/laptop"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
)

// PageWiring is what main gives the verb "serve".
type PageWiring struct {
	Log *slog.Logger
	// Console is where address, fingerprint and code are shown.
	Console io.Writer
	Now     func() time.Time
	// Node names the machine, as on its label.
	Node func() string
	// Ports lists the network ports of the machine.
	Ports func(ctx context.Context) []portal.Port
	// Site is the flow that the page drives.
	Site func(ctx context.Context) (portal.Site, error)
	// Laptop is where a laptop gets an address while the page is open; found is false on a node without a known address.
	Laptop func() (desk laptop.Desk, found bool, err error)
}

// PageCommand is "relocation serve".
func PageCommand(w PageWiring) *cobra.Command {
	var listen string
	cmd := &cobra.Command{
		Use:   "serve --listen ADDRESS:PORT",
		Short: "Serve the page on which a technician sets the node up",
		Long: "Serve the page on the node's known address, over TLS with a certificate of its own. Address, fingerprint of\n" +
			"the certificate and the one-time code are printed. The page closes when the change is committed.",
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return w.serve(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address and port, such as 192.0.2.1:8443")
	_ = cmd.MarkFlagRequired("listen") // fails for unknown flags only
	return cmd
}

func (w PageWiring) serve(ctx context.Context, listen string) error {
	at, err := netip.ParseAddrPort(listen)
	if err != nil {
		return fmt.Errorf("--listen %q is not an address and port, such as 192.0.2.1:8443", listen)
	}
	site, err := w.Site(ctx)
	if err != nil {
		return err
	}
	table, found, err := w.Laptop()
	if err != nil {
		return err
	}
	addresses := []netip.Addr{at.Addr()}
	if found {
		addresses = append(addresses, table.Address.Addr())
	}
	certificate, fingerprint, err := portal.Certificate(w.Now(), addresses...)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	fmt.Fprintf(w.Console, "\nOpen this page on a laptop or a phone:  https://%s\nFingerprint of its certificate (SHA-256):\n  %s\n",
		l.Addr(), fingerprint)
	if found {
		fmt.Fprintf(w.Console, "A laptop on port %s, without another network there, opens:  https://%s\n", table.Port,
			netip.AddrPortFrom(table.Address.Addr(), at.Port()))
		defer openTable(ctx, table)()
	}
	page := portal.New(portal.Options{
		Site: site, Node: w.Node(), Ports: w.Ports, Now: w.Now, Log: w.Log,
		ShowCode: func(code string) { fmt.Fprintf(w.Console, "Code: %s (works once)\n", code) },
	})
	if err := page.Serve(ctx, l, certificate); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// openTable gives a laptop its address until the returned function is called, which waits until it was taken away.
func openTable(ctx context.Context, table laptop.Desk) (closed func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		table.Open(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
