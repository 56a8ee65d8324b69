package policy

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"
)

// Expression is a parsed capture.
type Expression struct {
	// Source is the capture that the expression reads, nil for the current state.
	Source *Path
	// Path is what it looks at; empty for all.
	Path Path
	// Op is "==", ":=", "=~" or, for a path alone, empty.
	Op string
	// Value is the right-hand side of Op: a text, or a path into a capture, or (Null) nothing at all.
	Value Value
}

// Path is a way into a state.
type Path struct {
	Steps        []string
	line, column int
}

func (p Path) String() string { return strings.Join(p.Steps, ".") }

// captureName is the name of the capture that the path begins with.
func (p Path) captureName() (string, bool) {
	if len(p.Steps) >= 2 && p.Steps[0] == "capture" {
		return p.Steps[1], true
	}
	return "", false
}

// Value is the right-hand side of an operator.
type Value struct {
	Text   string
	Null   bool
	Path   *Path
	quoted bool
	regex  *regexp.Regexp
}

type reference struct {
	name         string
	line, column int
}

// referencedCaptures are the captures that the expression reads.
func (x Expression) referencedCaptures() []reference {
	var out []reference
	for _, p := range []*Path{x.Source, x.Value.Path} {
		if p == nil {
			continue
		}
		if name, ok := p.captureName(); ok {
			out = append(out, reference{name, p.line, p.column})
		}
	}
	return out
}

// Parse reads a capture:
//
//	[capture.NAME |] [PATH [== VALUE | := VALUE | =~ "REGULAR EXPRESSION"]]
//
// The pipe may be left out: capture.NAME.PATH. PATH is keys joined by dots. VALUE is a quoted text, a word, null (with := it
// deletes) or capture.NAME.PATH, in which a number picks an item of a list. Errors are *Error.
func Parse(text string) (Expression, error) {
	if len(text) > maxExpression {
		return Expression{}, &Error{Line: 1, Column: 1, Reason: fmt.Sprintf("the expression is longer than %d bytes", maxExpression)}
	}
	tokens, err := scanTokens(strings.ReplaceAll(text, "\u00a0", " "))
	if err != nil {
		return Expression{}, err
	}
	p := &parser{tokens: tokens}
	return p.parseExpression()
}

type token struct {
	kind, text   string // kind: word, string, op, end
	line, column int
}

func (t token) errorAt(format string, args ...any) error {
	return &Error{Line: t.line, Column: t.column, Reason: fmt.Sprintf(format, args...)}
}

func (t token) String() string {
	if t.kind == "end" {
		return "the end"
	}
	return fmt.Sprintf("%.40q", t.text)
}

type scanner struct {
	text         string
	line, column int
}

func (s *scanner) consumeText(n int) string {
	out := s.text[:n]
	for _, r := range out {
		if s.column++; r == '\n' {
			s.line, s.column = s.line+1, 1
		}
	}
	s.text = s.text[n:]
	return out
}

func scanTokens(text string) ([]token, error) {
	s := &scanner{text: text, line: 1, column: 1}
	var out []token
	for {
		s.consumeText(len(s.text) - len(strings.TrimLeft(s.text, " \t\r\n")))
		at := token{line: s.line, column: s.column, kind: "end"}
		if s.text == "" {
			return append(out, at), nil
		}
		n, kind := s.measureToken()
		switch {
		case kind == "":
			r, _ := utf8.DecodeRuneInString(s.text)
			return nil, at.errorAt("%q has no meaning here", r)
		case n < 0:
			return nil, at.errorAt("the quote is never closed")
		}
		at.kind, at.text = kind, s.consumeText(n)
		if kind == "string" {
			at.text = at.text[1 : len(at.text)-1]
		}
		out = append(out, at)
	}
}

// measureToken measures the token at the beginning; -1 is a text without an end.
func (s *scanner) measureToken() (length int, kind string) {
	for _, op := range []string{"==", ":=", "=~", "|"} {
		if strings.HasPrefix(s.text, op) {
			return len(op), "op"
		}
	}
	if q := s.text[0]; q == '"' || q == '\'' {
		end := strings.IndexByte(s.text[1:], q)
		if end < 0 {
			return -1, "string"
		}
		return end + 2, "string"
	}
	n := strings.IndexFunc(s.text, func(r rune) bool { return !isWord(r) })
	if n < 0 {
		n = len(s.text)
	}
	if n == 0 {
		return 0, ""
	}
	return n, "word"
}

func isWord(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' || r == '.' || r == '/'
}

type parser struct{ tokens []token }

func (p *parser) peek() token { return p.tokens[0] }

func (p *parser) pop() token {
	t := p.tokens[0]
	if t.kind != "end" {
		p.tokens = p.tokens[1:]
	}
	return t
}

func (p *parser) parseExpression() (Expression, error) {
	var x Expression
	if p.peek().kind == "end" {
		return x, nil
	}
	first, err := p.parsePath()
	if err != nil {
		return x, err
	}
	_, captured := first.captureName()
	switch {
	case captured && len(first.Steps) > 2 && p.peek().text != "|":
		source := first
		source.Steps, first.Steps = first.Steps[:2], first.Steps[2:]
		x.Source = &source
	case p.peek().text == "|":
		if !captured || len(first.Steps) != 2 {
			return x, p.peek().errorAt("before a pipe stands capture.NAME, not %q", first)
		}
		p.pop()
		source := first
		x.Source = &source
		if first, err = p.parsePath(); err != nil {
			return x, err
		}
	}
	if x.Path = first; len(first.Steps) > 0 && first.Steps[0] == "capture" {
		return x, (token{line: first.line, column: first.column}).errorAt("a capture is read as capture.NAME | path, or capture.NAME.path")
	}
	err = p.parseOperator(&x)
	return x, err
}

func (p *parser) parseOperator(x *Expression) error {
	op := p.pop()
	if op.kind == "end" {
		return nil
	}
	if op.kind != "op" || op.text == "|" {
		return op.errorAt("expected ==, := or =~, not %s", op)
	}
	if x.Op = op.text; len(x.Path.Steps) < 2 {
		return op.errorAt("%s needs a path to a property, such as interfaces.name", op.text)
	}
	if err := p.parseValue(x); err != nil {
		return err
	}
	if rest := p.pop(); rest.kind != "end" {
		return rest.errorAt("expected the end, not %s", rest)
	}
	return nil
}

func (p *parser) parseValue(x *Expression) error {
	t := p.pop()
	switch {
	case t.kind == "end" || t.kind == "op":
		return t.errorAt("expected a value, not %s", t)
	case x.Op == "=~":
		re, err := regexp.Compile(t.text)
		if err != nil {
			return t.errorAt("not a regular expression: %v", err)
		}
		x.Value = Value{Text: t.text, regex: re}
	case t.kind == "string":
		x.Value = Value{Text: t.text, quoted: true}
	case t.text == "null":
		x.Value = Value{Null: true}
	case strings.HasPrefix(t.text, "capture."):
		path, err := pathOf(t)
		x.Value = Value{Path: &path}
		if err == nil && len(path.Steps) < 3 {
			err = t.errorAt("%s needs a path into what the capture selected", t.text)
		}
		return err
	default:
		x.Value = Value{Text: t.text}
	}
	return nil
}

func (p *parser) parsePath() (Path, error) {
	t := p.pop()
	if t.kind != "word" {
		return Path{}, t.errorAt("expected a path, not %s", t)
	}
	return pathOf(t)
}

func pathOf(t token) (Path, error) {
	out := Path{Steps: strings.Split(t.text, "."), line: t.line, column: t.column}
	for _, s := range out.Steps {
		if s == "" {
			return Path{}, t.errorAt("the path %q has an empty part", t.text)
		}
	}
	return out, nil
}
