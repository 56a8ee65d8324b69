package relocation

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// Certificate is one of the cluster's, as far as its life matters for a journey.
type Certificate struct {
	Subject string    `json:"subject"`
	Ends    time.Time `json:"ends"`
	// Places are where it lies: files and objects.
	Places []string `json:"places"`
	// Renewed: the reconfiguration on site signs it again. What is not was signed by an authority whose key is not in the
	// cluster.
	Renewed bool `json:"renewedOnSite"`
}

// String names the certificate with its end.
func (c Certificate) String() string {
	text := fmt.Sprintf("%s, until %s", c.Subject, c.Ends.UTC().Format(time.DateOnly))
	if len(c.Places) > 0 {
		text += ", in " + c.Places[0]
	}
	if more := len(c.Places) - 1; more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text
}

// EndingBefore lists the certificates that end before then, the earliest first.
func EndingBefore(all []Certificate, then time.Time) (out []Certificate) {
	for _, c := range all {
		if c.Ends.Before(then) {
			out = append(out, c)
		}
	}
	slices.SortFunc(out, func(a, b Certificate) int {
		if c := a.Ends.Compare(b.Ends); c != 0 {
			return c
		}
		return strings.Compare(a.Subject, b.Subject)
	})
	return out
}

// NotRenewed are those that the reconfiguration on site cannot sign again.
func NotRenewed(all []Certificate) []Certificate {
	return slices.DeleteFunc(slices.Clone(all), func(c Certificate) bool { return c.Renewed })
}

// ShelfEnd is when a node that is shipped now is switched on.
func ShelfEnd(now time.Time, days int) time.Time {
	return now.Add(time.Duration(days) * 24 * time.Hour)
}

// Listed writes at most five certificates.
func Listed(all []Certificate) string {
	const most = 5
	var out []string
	for _, c := range all[:min(most, len(all))] {
		out = append(out, c.String())
	}
	if more := len(all) - most; more > 0 {
		out = append(out, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(out, "; ")
}
