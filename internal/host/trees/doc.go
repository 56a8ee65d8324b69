// Package trees implements host.Trees on a real file system.
//
// The stateroot steps of a flow use it to carry /var and /etc of the running system
// into the clone: a first pass while everything runs, a second, short one when
// all writers are down.
//
// The package imports host, files (path resolution), the standard library and
// golang.org/x/sys.
package trees
