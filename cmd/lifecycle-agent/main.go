// Command lifecycle-agent is the operator: it watches resources and has lca-cli act on the
// node it runs on. It runs as a privileged pod with the host's root at /host, or as
// a plain service on the node. This package only wires; nothing may import it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"os"
	"os/signal"
	"syscall"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/lifecycle-agent/lifecycle-agent/internal/controller"
	"github.com/lifecycle-agent/lifecycle-agent/internal/controller/caches"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

// flags of the program.
type flags struct {
	hostRoot, kubeconfig, metrics, probes string
	webhookCerts                          string
	leaderElection, debug                 bool
}

func main() {
	f, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		return
	}
	if err != nil {
		os.Exit(2)
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	log := newLog(f.debug)
	caches.FillByList()
	if err := serve(ctx, f, log); err != nil {
		log.Error("lifecycle-agent ends", "error", err)
		stop()
		os.Exit(1) //nolint:gocritic // stop was called
	}
}

func parse(args []string) (flags, error) {
	var f flags
	set := flag.NewFlagSet("lifecycle-agent", flag.ContinueOnError)
	set.StringVar(&f.hostRoot, "host-root", defaultHostRoot(), "where the node's root directory is seen; /host in the pod")
	set.StringVar(&f.kubeconfig, "kubeconfig", "", "kubeconfig file; empty uses the pod's service account")
	set.StringVar(&f.metrics, "metrics-bind-address", "127.0.0.1:9443", "where Prometheus metrics are served; 0 for nowhere")
	set.StringVar(&f.probes, "health-probe-bind-address", "127.0.0.1:9444", "where /healthz and /readyz are served; 0 for nowhere")
	set.StringVar(&f.webhookCerts, "webhook-certs", "",
		"directory with tls.crt and tls.key; with it, pools that overlap are refused on port 9446 (config/webhook)")
	set.BoolVar(&f.leaderElection, "leader-elect", false, "run only while holding a lease; a single node has one agent, so it is off")
	set.BoolVar(&f.debug, "debug", false, "log more")
	err := set.Parse(args)
	return f, err
}

// defaultHostRoot is /host where that is a host's root, as in the pod.
func defaultHostRoot() string {
	if info, err := os.Stat("/host/etc"); err == nil && info.IsDir() {
		return "/host"
	}
	return "/"
}

// newLog narrates to standard error, for the Kubernetes libraries too.
func newLog(debug bool) *slog.Logger {
	level := slog.LevelInfo
	if debug {
		level = slog.LevelDebug
	}
	handler := slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: level, ReplaceAttr: ipconfig.RedactAttr})
	ctrl.SetLogger(logr.FromSlogHandler(handler))
	log := slog.New(handler)
	klog.SetSlogLogger(log)
	return log
}

// serve runs the controllers until ctx ends.
func serve(ctx context.Context, f flags, log *slog.Logger) error {
	mgr, err := newManager(f)
	if err != nil {
		return err
	}
	options := controller.Options{
		Node:        newNode(f.hostRoot, log),
		Log:         log,
		RecertImage: recertImage(os.Getenv),
		CLI:         shippedCLI(f.hostRoot),
		Webhooks:    f.webhookCerts != "",
	}
	if err := controller.Setup(mgr, options); err != nil {
		return err
	}
	log.Info("lifecycle-agent starts", "hostRoot", f.hostRoot)
	if err := mgr.Start(ctx); err != nil {
		return fmt.Errorf("run the controllers: %w", err)
	}
	return nil
}
