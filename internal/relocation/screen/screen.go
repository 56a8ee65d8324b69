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
		d.drawRunning(v)
	case portal.Succeeded:
		d.drawSucceeded(v)
	case portal.Failed:
		d.drawFailed(v)
	default:
		d.drawWaiting(v)
	}
	return "\n" + d.b.String() + "\n"
}

// Result says that the view is the end of an attempt, which is to stay on the screen.
func (v View) Result() bool { return v.State == portal.Succeeded || v.State == portal.Failed }

type drawing struct{ b strings.Builder }

// addLarge draws a word with space around it.
func (d *drawing) addLarge(word string) {
	for _, line := range largeLetters(word) {
		d.addLine(line)
	}
	d.addLine("")
}

func (d *drawing) addLine(text string) {
	if text != "" {
		d.b.WriteString(margin)
	}
	d.b.WriteString(text)
	d.b.WriteString("\n")
}

// addSentences writes each on lines of its own, and an empty line behind all.
func (d *drawing) addSentences(text string) {
	for _, s := range strings.SplitAfter(text, ". ") {
		for _, line := range wrapText(s) {
			d.addLine(line)
		}
	}
	d.addLine("")
}

func (d *drawing) drawWaiting(v View) {
	d.addLarge("STICK")
	d.addSentences("Plug in the stick and leave it in. The node needs power and its network cable.")
	d.drawPageAccess(v)
}

func (d *drawing) drawRunning(v View) {
	if v.Steps > 0 {
		d.addLarge(fmt.Sprintf("%d/%d", v.Step, v.Steps))
	}
	d.addLine(v.Title)
	d.addLine("")
	d.addSentences("Leave power, network cable and stick in.")
}

func (d *drawing) drawSucceeded(v View) {
	d.addLarge("DONE")
	d.addSentences("The node is at home on its site. Remove the stick. Report that the site is ready.")
	for _, f := range v.Facts {
		for _, line := range clipText(f.Name + ": " + f.Value) {
			d.addLine(line)
		}
	}
}

func (d *drawing) drawFailed(v View) {
	e := sitecode.Lookup(v.Code)
	d.addLarge(string(e.Code))
	d.addSentences(e.Meaning)
	d.addSentences(e.Action)
	if v.Returned {
		d.addSentences("The node is back in its factory state. Nothing is lost.")
	}
	if strings.HasPrefix(string(e.Code), "L") {
		d.addSentences("The node tries again by itself.")
	}
	if v.Message != "" {
		for _, line := range clipText("Message: " + v.Message) {
			d.addLine(line)
		}
		d.addLine("")
	}
	d.drawPageAccess(v)
}

// drawPageAccess says how the page is opened.
func (d *drawing) drawPageAccess(v View) {
	for _, at := range v.Pages {
		d.addLine("Open this page on a laptop or a phone:  " + at)
	}
	if v.Laptop != "" {
		d.addLine(fmt.Sprintf("A laptop on port %s, without another network there, opens:  %s", v.Port, v.Laptop))
	}
	if v.Door != "" {
		d.addLine(fmt.Sprintf("Code: %s (works once)", v.Door))
	}
	if v.Fingerprint != "" {
		d.addLine("Fingerprint of its certificate (SHA-256):")
		d.addLine(v.Fingerprint)
	}
}

// clipText is a text of others in a few lines, without anything that would move the cursor.
func clipText(text string) []string {
	text = strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, text)
	lines := wrapText(text)
	if len(lines) > maxLines {
		lines = lines[:maxLines]
		lines[maxLines-1] += " ..."
	}
	return lines
}

// wrapText breaks a text between words; a word that is longer than a line has a line of its own.
func wrapText(text string) (out []string) {
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
