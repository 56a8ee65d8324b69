package relocation

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/netip"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/laptop"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/screen"
)

// PageWiring is what main gives the verb "serve".
type PageWiring struct {
	Log *slog.Logger
	// Console is the node's screen: it shows what the node does, how it ended, and how its page is opened.
	Console io.Writer
	// Keep has a result stay on the screen when the page has closed; an empty text ends that. nil keeps none.
	Keep func(text string) error
	Now  func() time.Time
	// Node names the machine, as on its label.
	Node func() string
	// Ports lists the network ports of the machine.
	Ports func(ctx context.Context) []portal.Port
	// Addresses are the node's at present.
	Addresses func() []netip.Addr
	// Site is the flow that the page drives.
	Site func(ctx context.Context) (portal.Site, error)
	// Laptop is where a laptop gets an address while the page is open; found is false on a node without a known address.
	Laptop func() (access laptop.Access, found bool, err error)
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
		RunE: func(cmd *cobra.Command, _ []string) error { return w.servePage(cmd.Context(), listen) },
	}
	cmd.Flags().StringVar(&listen, "listen", "", "address and port, such as 192.0.2.1:8443")
	_ = cmd.MarkFlagRequired("listen") // fails for unknown flags only
	return cmd
}

func (w PageWiring) servePage(ctx context.Context, listen string) error {
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
	known := []netip.Addr(nil)
	if found {
		known = append(known, table.Address.Addr())
	}
	certificate, fingerprint, err := portal.Certificate(w.Now(), append(w.pageAddresses(at.Addr()), known...)...)
	if err != nil {
		return err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", listen)
	if err != nil {
		return fmt.Errorf("serve the page: %w", err)
	}
	port := netip.MustParseAddrPort(l.Addr().String()).Port()
	console := &console{to: w.Console, keep: w.Keep, log: w.Log, site: site, view: screen.View{Fingerprint: fingerprint}}
	if found {
		console.view.Port, console.view.Laptop = table.Port, "https://"+netip.AddrPortFrom(known[0], port).String()
		defer runInBackground(ctx, table.Open)()
	}
	page := portal.New(portal.Options{
		Site: site, Node: w.Node(), Ports: w.Ports, Now: w.Now, Log: w.Log,
		ShowCode: func(code string) { console.updateView(func(v *screen.View) { v.Door = code }) },
	})
	defer runInBackground(ctx, func(ctx context.Context) {
		console.followNode(ctx, port, func() []netip.Addr { return excludeAddrs(w.pageAddresses(at.Addr()), known) })
	})()
	if err := page.Serve(ctx, l, certificate); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

func excludeAddrs(all, some []netip.Addr) []netip.Addr {
	return slices.DeleteFunc(all, func(a netip.Addr) bool { return slices.Contains(some, a) })
}

// pageAddresses are the addresses at which the page is: the one that it listens on, or all of the node's.
func (w PageWiring) pageAddresses(listen netip.Addr) []netip.Addr {
	if listen.IsUnspecified() {
		return w.Addresses()
	}
	return []netip.Addr{listen}
}

// runInBackground runs do until the returned function is called, which waits for its end.
func runInBackground(ctx context.Context, do func(context.Context)) (end func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		do(ctx)
	}()
	return func() {
		cancel()
		<-done
	}
}
