package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCheck(t *testing.T) {
	dir := t.TempDir()
	write(t, dir, "other.md", "# A page\n## What `it` is, really\n")
	long := strings.Repeat("x", longest+1)
	for _, test := range []struct{ name, page, finding string }{
		{"a file", "[a](other.md)", ""},
		{"another site", "[a](https://example.com/none.md)", ""},
		{"a heading", "[a](other.md#what-it-is-really)", ""},
		{"a heading of the page itself", "# Here\n[a](#here)", ""},
		{"a named place", "<a id=\"here\"></a>\n[a](#here)", ""},
		{"a missing file", "\n[a](none.md)", "page.md:2: link to none.md: no such file"},
		{"a missing heading", "[a](other.md#none)", "page.md:1: link to other.md#none: no such heading"},
		{"a missing heading of the page itself", "[a](#none)", "page.md:1: link to #none: no such heading"},
		{"two links on a line", "[a](other.md) [b](none.md)", "page.md:1: link to none.md: no such file"},
		{"a listing", "```\n[a](none.md)" + long + "\n```", ""},
		{"after a listing", "```\n```\n[a](none.md)", "page.md:3: link to none.md: no such file"},
		{"a long line", long, "page.md:1: line of 121 characters, 120 are allowed"},
		{"a long row of a table", "|" + long, ""},
	} {
		t.Run(test.name, func(t *testing.T) {
			findings, err := check(write(t, dir, "page.md", test.page))
			if err != nil {
				t.Fatal(err)
			}
			got := strings.ReplaceAll(strings.Join(findings, "\n"), dir+string(filepath.Separator), "")
			if got != test.finding {
				t.Errorf("got %q, expected %q", got, test.finding)
			}
		})
	}
}

func write(t *testing.T, dir, name, text string) string {
	t.Helper()
	path := filepath.Join(dir, name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}
