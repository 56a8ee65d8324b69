// Package archive implements host.Archives: gzip-compressed tar archives of trees, compressed on all processors, without
// anything in them that differs between two runs over one tree.
//
// The format is what GNU tar writes with --xattrs --selinux --acls: PAX records SCHILY.xattr.*, RHT.security.selinux and
// SCHILY.acl.*, and sparse files in GNU's PAX format 1.0
// (https://www.gnu.org/software/tar/manual/html_section/Sparse-Formats.html).
//
// The seed flows use it. The package imports host, files (path resolution), the standard library, pgzip and
// golang.org/x/sys.
package archive
