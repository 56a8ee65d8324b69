// Package screen draws what the node's console shows a technician on site: where the node stands, in letters that are read from two
// metres, and what to do, in short lines. Package internal/cli/relocation shows it. It does no I/O, and imports the portal's words for
// the progress and the list of codes only.
package screen

import (
	"fmt"
	"strings"
	"unicode"

	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
)

// View is all that the screen shows.
type View struct {
	portal.Progress

	// Pages are the addresses of the page, Laptop that for a laptop on the port of its name; empty for none.
	Pages        []string
	Port, Laptop string
	// Door is the code that opens the page; Fingerprint is that of its certificate.
	Door, Fingerprint string
}

const (
	margin = "  "
	// width is what every console has.
	width = 76
	// maxLines bounds a message: the code and what to do stay on the screen.
	maxLines = 4
)

// Render draws the view. Each line stands by itself; the first and the last are empty.
func Render(v View) string {
	d := &drawing{}
	switch v.State {
	case portal.Running:
		d.running(v)
	case portal.Succeeded:
		d.succeeded(v)
	case portal.Failed:
		d.failed(v)
	default:
		d.waiting(v)
	}
	return "\n" + d.b.String() + "\n"
}

// Result says that the view is the end of an attempt, which is to stay on the screen.
func (v View) Result() bool { return v.State == portal.Succeeded || v.State == portal.Failed }

type drawing struct{ b strings.Builder }

// big draws a word with space around it.
func (d *drawing) big(word string) {
	for _, line := range large(word) {
		d.line(line)
	}
	d.line("")
}

func (d *drawing) line(text string) {
	if text != "" {
		d.b.WriteString(margin)
	}
	d.b.WriteString(text)
	d.b.WriteString("\n")
}

// sentences writes each on lines of its own, and an empty line behind all.
func (d *drawing) sentences(text string) {
	for _, s := range strings.SplitAfter(text, ". ") {
		for _, line := range wrap(s) {
			d.line(line)
		}
	}
	d.line("")
}

func (d *drawing) waiting(v View) {
	d.big("STICK")
	d.sentences("Plug in the stick and leave it in. The node needs power and its network cable.")
	d.page(v)
}

func (d *drawing) running(v View) {
	if v.Steps > 0 {
		d.big(fmt.Sprintf("%d/%d", v.Step, v.Steps))
	}
	d.line(v.Title)
	d.line("")
	d.sentences("Leave power, network cable and stick in.")
}

func (d *drawing) succeeded(v View) {
	d.big("DONE")
	d.sentences("The node is at home on its site. Remove the stick. Report that the site is ready.")
	for _, f := range v.Facts {
		for _, line := range clip(f.Name + ": " + f.Value) {
			d.line(line)
		}
	}
}

func (d *drawing) failed(v View) {
	e := sitecode.Lookup(v.Code)
	d.big(string(e.Code))
	d.sentences(e.Meaning)
	d.sentences(e.Action)
	if v.Returned {
		d.sentences("The node is back in its factory state. Nothing is lost.")
	}
	if strings.HasPrefix(string(e.Code), "L") {
		d.sentences("The node tries again by itself.")
	}
	if v.Message != "" {
		for _, line := range clip("Message: " + v.Message) {
			d.line(line)
		}
		d.line("")
	}
	d.page(v)
}

// page says how the page is opened.
func (d *drawing) page(v View) {
	for _, at := range v.Pages {
		d.line("Open this page on a laptop or a phone:  " + at)
	}
	if v.Laptop != "" {
		d.line(fmt.Sprintf("A laptop on port %s, without another network there, opens:  %s", v.Port, v.Laptop))
	}
	if v.Door != "" {
		d.line(fmt.Sprintf("Code: %s (works once)", v.Door))
	}
	if v.Fingerprint != "" {
		d.line("Fingerprint of its certificate (SHA-256):")
		d.line(v.Fingerprint)
	}
}

// clip is a text of others in a few lines, without anything that would move the cursor.
func clip(text string) []string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	lines := wrap(text)
	if len(lines) > maxLines {
		lines = lines[:maxLines]
		lines[maxLines-1] += " ..."
	}
	return lines
}

// wrap breaks a text between words; a word that is longer than a line has a line of its own.
func wrap(text string) (out []string) {
	line := ""
	for word := range strings.FieldsSeq(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) <= width:
			line += " " + word
		default:
			out = append(out, line)
			line = word
		}
	}
	if line != "" {
		out = append(out, line)
	}
	return out
}
