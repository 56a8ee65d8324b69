package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/nm/profile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/keys"
	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate/tree"
)

// planEthtool refuses what the driver of the link cannot do, and brings features into its profile; other keys are properties of
// their own. NetworkManager would only warn in its log. Of a link that is yet to be made, nothing is known.
func (p *Plan) planEthtool(c *Change, i netstate.Interface) error {
	now, exists := p.carrierNow(i.Name)
	if exists {
		have := now.Ethtool
		if have == nil {
			have = &netstate.Ethtool{}
		}
		if err := refuseUndriven(*i.Ethtool, *have); err != nil {
			return err
		}
	}
	setFeatures(c.After, i.Ethtool.Features, now.Ethtool)
	return nil
}

func refuseUndriven(want, have netstate.Ethtool) error {
	for _, name := range slices.Sorted(maps.Keys(want.Features)) {
		if _, ok := have.Features[keys.Feature(name)]; !ok {
			return fmt.Errorf("ethtool.feature.%s: its driver has no such feature, or does not let it be switched; leave it out", name)
		}
	}
	want.Features, have.Features = nil, nil
	for _, m := range tree.Missing(want, have) {
		part, _, _ := strings.Cut(m.Path, ".")
		if m.Unknown {
			return fmt.Errorf("ethtool.%s: its driver does not support this setting of %s; leave it out", m.Path, part)
		}
	}
	if want.Ring == nil {
		return nil
	}
	for _, r := range []struct {
		key        string
		want, most *int
	}{
		{"rx", want.Ring.RX, have.Ring.RXMax}, {"rx-mini", want.Ring.RXMini, have.Ring.RXMiniMax},
		{"rx-jumbo", want.Ring.RXJumbo, have.Ring.RXJumboMax}, {"tx", want.Ring.TX, have.Ring.TXMax},
	} {
		if r.want != nil && r.most != nil && *r.want > *r.most {
			return fmt.Errorf("ethtool.ring.%s: %d is more than %d, the most that the card has", r.key, *r.want, *r.most)
		}
	}
	return nil
}

// setFeatures leaves a profile alone that is silent on a feature which the link has as wanted.
func setFeatures(s profile.Settings, want map[string]bool, now *netstate.Ethtool) {
	for name, on := range want {
		feature := keys.Feature(name)
		key, _ := keys.FeatureProperty(feature)
		have, says := s["ethtool"][key].Value().(bool)
		if now != nil && !says {
			have, says = now.Features[feature]
		}
		if !says || have != on {
			s.Set("ethtool", key, on)
		}
	}
}
