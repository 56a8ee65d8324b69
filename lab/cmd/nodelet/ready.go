package main

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"k8s.io/client-go/kubernetes"
)

// waitReady polls /readyz until the API server says it is ready. It gives up only with ctx: systemd owns the time limit.
func waitReady(ctx context.Context, clients kubernetes.Interface, log *slog.Logger) error {
	lastLog := time.Now()
	for {
		probe, cancel := context.WithTimeout(ctx, 3*time.Second)
		err := clients.Discovery().RESTClient().Get().AbsPath("/readyz").Do(probe).Error()
		cancel()
		if err == nil {
			return nil
		}
		if time.Since(lastLog) > 5*time.Second {
			log.Info("waiting for the API server", "reason", err)
			lastLog = time.Now()
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for the API server: %w", ctx.Err())
		case <-time.After(200 * time.Millisecond):
		}
	}
}
