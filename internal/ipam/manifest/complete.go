package manifest

import (
	"errors"
	"fmt"
)

// CheckComplete refuses an inventory whose claims have addresses while no address of their kind was read: what is missing is
// most likely the kind, and every claim would look as if it had lost its address.
func (v *Inventory) CheckComplete() error {
	bound := map[string]int{}
	for _, c := range v.Claims {
		if c.Status.Address != nil {
			bound[metal3Group]++
		}
	}
	for _, c := range v.CAPIClaims {
		if c.Status.AddressRef.Name != "" {
			bound[capiGroup]++
		}
	}
	return errors.Join(errAbsent(metal3Group, bound[metal3Group], len(v.Addresses)),
		errAbsent(capiGroup, bound[capiGroup], len(v.CAPIAddresses)))
}

func errAbsent(group string, bound, addresses int) error {
	if bound == 0 || addresses > 0 {
		return nil
	}
	return fmt.Errorf("no ipaddresses.%s was read, but claims that have one (%d): read that kind too", group, bound)
}
