package kernel

import (
	"github.com/vishvananda/netlink/nl"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
)

// Attributes of links of kind macsec, of linux/if_link.h.
const (
	iflaMACSecEncrypt    = 7
	iflaMACSecIncSCI     = 9
	iflaMACSecValidation = 13
	iflaMACSecOffload    = 15
)

// The kernel's numbers, in nmstate's words.
var (
	macSecValidations = []string{"disabled", "check", "strict"}
	macSecOffloads    = []string{"off", "phy", "mac"}
)

// ReadMACSec reads what the kernel reports of a link of kind macsec. Keys are not asked for.
func ReadMACSec(index int) *netstate.MACSec { return parseMACSec(readLinkData(index)) }

func parseMACSec(data []byte) *netstate.MACSec {
	out := &netstate.MACSec{}
	attrs, err := nl.ParseRouteAttr(data)
	if err != nil {
		return out
	}
	for _, a := range attrs {
		if len(a.Value) == 0 {
			continue
		}
		value := int(a.Value[0])
		switch a.Attr.Type {
		case iflaMACSecEncrypt:
			out.Encrypt = new(value != 0)
		case iflaMACSecIncSCI:
			out.SendSCI = new(value != 0)
		case iflaMACSecValidation:
			out.Validation = wordAt(macSecValidations, value)
		case iflaMACSecOffload:
			out.Offload = wordAt(macSecOffloads, value)
		}
	}
	return out
}

// wordAt is the word for a number; empty for one that has none.
func wordAt(words []string, n int) string {
	if n < 0 || n >= len(words) {
		return ""
	}
	return words[n]
}
