// Package sites makes the configurations of many sites from one table and address pools: every site gets its names
// from its row, its address from its pool, and the rest from a template. It refuses the whole table where any two
// sites would share a name or an address, and names every mistake by its row.
//
// lca-cli calls it. It works on values, imports siteconfig and address management, and does no I/O.
package sites
