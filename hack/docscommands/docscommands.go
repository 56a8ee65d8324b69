// Package docscommands finds the commands that README.md and the pages of docs tell people to type. The tests of each program hold those
// of its own against its verbs and flags; this package's test does so for make.
package docscommands

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
)

// Command is one command of a page.
type Command struct {
	Page string
	Line int
	// Words are its arguments, without the program.
	Words []string
	// To is the file that its output is written to; empty for none.
	To string
	// Listed says that it stands in a listing, to be copied, and not inside a sentence.
	Listed bool
}

// String says where it is and what it is.
func (c Command) String() string {
	return fmt.Sprintf("%s:%d: %s", c.Page, c.Line, strings.Join(c.Words, " "))
}

// Of lists the commands of a program, one or more words, in all pages below the root of the repository.
func Of(root string, program ...string) ([]Command, error) {
	pages := []string{filepath.Join(root, "README.md"), filepath.Join(root, "CONTRIBUTING.md"), filepath.Join(root, "SECURITY.md")}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, entry os.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			pages = append(pages, path)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list the pages: %w", err)
	}
	var all []Command
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			return nil, fmt.Errorf("read a page: %w", err)
		}
		name, err := filepath.Rel(root, page)
		if err != nil {
			return nil, fmt.Errorf("name a page: %w", err)
		}
		all = append(all, in(name, string(text), program)...)
	}
	return all, nil
}

var inline = regexp.MustCompile("`([^`]+)`")

// in finds the commands of one page.
func in(page, text string, program []string) (all []Command) {
	listing, continued, begun := false, "", 0
	for n, line := range strings.Split(text, "\n") {
		trimmed := strings.TrimSpace(line)
		if strings.HasPrefix(trimmed, "```") {
			listing, continued = !listing, ""
			continue
		}
		if !listing {
			for _, span := range inline.FindAllStringSubmatch(line, -1) {
				all = append(all, commands(page, n+1, span[1], program, false)...)
			}
			continue
		}
		if continued == "" {
			begun = n + 1
		}
		if rest, more := strings.CutSuffix(trimmed, "\\"); more {
			continued += rest + " "
			continue
		}
		all = append(all, commands(page, begun, continued+trimmed, program, true)...)
		continued = ""
	}
	return all
}

// commands splits a line of shell into its commands and keeps those of the program.
func commands(page string, line int, text string, program []string, listed bool) (all []Command) {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "# "), "$ ")
	var words []string
	flush := func() {
		if rest, mine := cutProgram(words, program); mine {
			rest, to := cutOutput(rest)
			all = append(all, Command{page, line, rest, to, listed})
		}
		words = nil
	}
	for _, word := range split(text) {
		if slices.Contains([]string{"|", "||", "&&", ";", "&", "do", "then"}, word) {
			flush()
			continue
		}
		words = append(words, word)
	}
	flush()
	return all
}

// cutProgram takes the program off the words of a command, with what may stand before it: sudo, assignments.
func cutProgram(words, program []string) ([]string, bool) {
	for len(words) > 0 && (words[0] == "sudo" || words[0] == "-E" || words[0] == "until" || words[0] == "if" ||
		strings.Contains(words[0], "=") && !strings.HasPrefix(words[0], "-")) {
		words = words[1:]
	}
	if len(words) < len(program) || !slices.Equal(words[:len(program)], program) {
		return nil, false
	}
	return words[len(program):], true
}

// cutOutput takes off where a command's output and input go.
func cutOutput(words []string) (rest []string, to string) {
	at := slices.IndexFunc(words, func(w string) bool {
		return strings.HasPrefix(w, "<") || strings.HasPrefix(w, ">") || strings.HasPrefix(w, "2>")
	})
	if at < 0 {
		return words, ""
	}
	if words[at] == ">" && at+1 < len(words) {
		to = words[at+1]
	}
	return words[:at], to
}

// split cuts a line as a shell would, as far as pages use it: quotes, operators, comments.
func split(text string) (words []string) {
	var word strings.Builder
	quote, begun := rune(0), false
	flush := func() {
		if begun {
			words = append(words, word.String())
		}
		word.Reset()
		begun = false
	}
	for _, r := range text {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote, begun = r, true
		case r == '#' && !begun:
			return words
		case r == ' ' || r == '\t':
			flush()
		case r == '|' || r == ';' || r == '&':
			flush()
			words = append(words, string(r))
		default:
			word.WriteRune(r)
			begun = true
		}
	}
	flush()
	return words
}

// Placeholder says that a word stands for something that the reader puts in.
func Placeholder(word string) bool {
	return word == "" || word == strings.ToUpper(word) || strings.Contains(word, "...") || strings.ContainsAny(word, "<[{$…")
}
