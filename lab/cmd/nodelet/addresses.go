package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

// addressWait bounds how long the agent waits for nodeip-configuration's files: kubelet-dependencies.target has been reached, so
// they ought to be there already.
const addressWait = 30 * time.Second

// waitAddresses reads the node's addresses, primary first, waiting a little for them to appear.
func waitAddresses(ctx context.Context, dir string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, addressWait)
	defer cancel()
	for {
		ips, err := readAddresses(dir)
		if err == nil || !errors.Is(err, fs.ErrNotExist) {
			return ips, err
		}
		select {
		case <-ctx.Done():
			return nil, err
		case <-time.After(200 * time.Millisecond):
		}
	}
}

// readAddresses reads the files of nodeip-configuration.service: "primary-ip" must exist, "ipv4" and "ipv6" may. Each holds one
// address.
func readAddresses(dir string) ([]netip.Addr, error) {
	var ips []netip.Addr
	for _, file := range []string{"primary-ip", "ipv4", "ipv6"} {
		text, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) && file != "primary-ip" {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("read the node's address: %w", err)
		}
		if strings.TrimSpace(string(text)) == "" {
			continue
		}
		ip, err := netip.ParseAddr(strings.TrimSpace(string(text)))
		if err != nil {
			return nil, fmt.Errorf("read the node's address from %s: %w", file, err)
		}
		if !slices.Contains(ips, ip) {
			ips = append(ips, ip)
		}
	}
	if len(ips) == 0 {
		return nil, fmt.Errorf("read the node's address from %s: the files are empty", dir)
	}
	return ips, nil
}
