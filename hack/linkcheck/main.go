// Command linkcheck fails when a page has a relative link whose file or heading does not exist, or a line of prose that
// is too long: `linkcheck PAGE...`. "make verify" runs it over README.md and docs.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

// longest is how many characters a line of prose may have; tables and listings are exempt.
const longest = 120

var (
	link    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading = regexp.MustCompile(`^#{1,6} +(.*)$`)
	named   = regexp.MustCompile(`<a id="([^"]+)">`)
	// A heading's anchor keeps letters, digits, hyphens and underscores.
	notInAnchor = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
)

func main() {
	findings := 0
	for _, page := range os.Args[1:] {
		found, err := check(page)
		if err != nil {
			fmt.Fprintln(os.Stderr, "linkcheck:", err)
			os.Exit(1)
		}
		for _, finding := range found {
			fmt.Fprintln(os.Stderr, finding)
		}
		findings += len(found)
	}
	if findings > 0 {
		os.Exit(1)
	}
}

func check(page string) ([]string, error) {
	lines, err := prose(page)
	if err != nil {
		return nil, err
	}
	var findings []string
	for n, line := range lines {
		where := fmt.Sprintf("%s:%d: ", page, n+1)
		if length := len([]rune(line)); length > longest && !strings.HasPrefix(strings.TrimSpace(line), "|") {
			findings = append(findings, fmt.Sprintf("%sline of %d characters, %d are allowed", where, length, longest))
		}
		for _, match := range link.FindAllStringSubmatch(line, -1) {
			if problem := resolve(page, match[1]); problem != "" {
				findings = append(findings, where+problem)
			}
		}
	}
	return findings, nil
}

// resolve says what is wrong with the target of a link on a page; links to other sites are not followed.
func resolve(page, target string) string {
	if strings.Contains(target, "://") {
		return ""
	}
	path, anchor, _ := strings.Cut(target, "#")
	file := page
	if path != "" {
		file = filepath.Join(filepath.Dir(page), path)
	}
	if _, err := os.Stat(file); err != nil {
		return fmt.Sprintf("link to %s: no such file", target)
	}
	if anchor == "" || filepath.Ext(file) != ".md" {
		return ""
	}
	lines, err := prose(file)
	if err != nil {
		return err.Error()
	}
	if !anchors(lines)[anchor] {
		return fmt.Sprintf("link to %s: no such heading", target)
	}
	return ""
}

func anchors(lines []string) map[string]bool {
	found := map[string]bool{}
	for _, line := range lines {
		if match := heading.FindStringSubmatch(line); match != nil {
			plain := notInAnchor.ReplaceAllString(strings.ToLower(match[1]), "")
			found[strings.ReplaceAll(plain, " ", "-")] = true
		}
		for _, match := range named.FindAllStringSubmatch(line, -1) {
			found[match[1]] = true
		}
	}
	return found
}

// prose returns the lines of a page with its code blocks left empty.
func prose(page string) ([]string, error) {
	data, err := os.ReadFile(page)
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", page, err)
	}
	lines := strings.Split(string(data), "\n")
	inCode := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inCode {
			lines[i] = ""
		}
		inCode = inCode != fence
	}
	return lines, nil
}
