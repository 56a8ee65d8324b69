// Package probing proves that a changed network still carries what it carried before: it selects the probes that pass
// before a change, and requires them, and those that the change itself calls for, after it.
//
// The netpolicy domain calls it. It imports the prober port and netstate only.
package probing
