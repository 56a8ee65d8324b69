package certs

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
)

func mapping(t testing.TB, pairs ...string) replace.Mapping {
	t.Helper()
	var changes []replace.Address
	for _, p := range pairs {
		from, to, _ := strings.Cut(p, ">")
		changes = append(changes, replace.Address{Old: netip.MustParseAddr(from), New: netip.MustParseAddr(to)})
	}
	m, err := replace.NewMapping(changes)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// Old and new addresses.
const (
	oldV4, newV4 = "192.0.2.1", "198.51.100.20"
)
