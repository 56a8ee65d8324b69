package onsite_test

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
)

// errIll is what an unhealthy cluster says of itself.
var errIll = errors.New("the storage operator is degraded")

func siteFor(network string) string { return fmt.Sprintf(siteYAML, network) }

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}
