// Package grub implements host.OneTimeBoot with GRUB.
//
// CoreOS installs a configuration of GRUB that is never generated anew and does not know next_entry, so that grub2-reboot has
// no effect there. Like GRUB's own generated configuration it reads custom.cfg or user.cfg, the files for local additions. Install
// puts a few lines into one of them: they read an environment block of the product's own, clear it, and only where that was
// written make what it named the default of this boot. The entry is named as blscfg names it, by its file in loader/entries.
//
// lca-cli uses it, and the agent for its finding. It imports host, files and the standard library.
package grub
