// Command bundle writes and validates an OLM bundle of the operator role. It is a module of its own, because the library that validates
// bundles needs modules that the product does not. "make release" runs it; nothing imports it.
package main
