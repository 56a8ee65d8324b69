package dnsmasq

import (
	"bufio"
	"fmt"
	"io"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// Lease is a line of dnsmasq's lease file.
type Lease struct {
	// Expires is zero for a lease without end.
	Expires time.Time
	// Client is the MAC address, or for IPv6 the identity association.
	Client  string
	Address netip.Addr
	Host    string // "" where the client said none
}

// Alive reports whether the lease holds at a time.
func (l Lease) Alive(now time.Time) bool { return l.Expires.IsZero() || l.Expires.After(now) }

// ReadLeases reads the file; a line that is no lease is an error with its number.
func ReadLeases(r io.Reader) (out []Lease, err error) {
	lines := bufio.NewScanner(r)
	for n := 1; lines.Scan(); n++ {
		fields := strings.Fields(lines.Text())
		if len(fields) == 0 || fields[0] == "duid" {
			continue // the server's own identity
		}
		l, err := parseLease(fields)
		if err != nil {
			return nil, fmt.Errorf("lease file: line %d: %w", n, err)
		}
		out = append(out, l)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("lease file: %w", err)
	}
	return out, nil
}

func parseLease(fields []string) (Lease, error) {
	if len(fields) < 4 {
		return Lease{}, fmt.Errorf("%d fields are too few for a lease", len(fields))
	}
	seconds, err := strconv.ParseInt(fields[0], 10, 64)
	if err != nil {
		return Lease{}, fmt.Errorf("%q is not a time", fields[0])
	}
	a, err := netip.ParseAddr(fields[2])
	if err != nil {
		return Lease{}, fmt.Errorf("%q is not an address", fields[2])
	}
	l := Lease{Client: fields[1], Address: a, Host: fields[3]}
	if l.Host == "*" {
		l.Host = ""
	}
	if seconds != 0 {
		l.Expires = time.Unix(seconds, 0).UTC()
	}
	return l, nil
}
