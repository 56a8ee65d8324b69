// Package replace maps old addresses and names to new ones. Addresses are compared as addresses and found as whole words: 192.0.2.1
// never touches 192.0.2.10, and any spelling of an IPv6 address is found. Names are mapped as whole names.
//
// The other packages of recert call it. It imports recert/wire only.
package replace
