package main

import (
	"fmt"
	"net"
)

// splitBind splits servingInfo.bindAddress into upstream's two flags.
func splitBind(address string) (host, port string, err error) {
	host, port, err = net.SplitHostPort(address)
	if err != nil {
		return "", "", fmt.Errorf("parse servingInfo.bindAddress: %w", err)
	}
	return host, port, nil
}
