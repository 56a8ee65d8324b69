package report

import (
	"fmt"
	"html/template"
	"io"
	"strings"
	"time"
)

// page prints on A4 and Letter without colours: each severity is a word.
const page = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Shipping report: {{.Machine}}</title>
<style>
body { font: 11pt/1.4 system-ui, sans-serif; margin: 2em auto; max-width: 60em; padding: 0 1em; color: #111; background: #fff; }
h1 { font-size: 1.5em; } .verdict { border: 2px solid; padding: .6em 1em; font-size: 1.2em; font-weight: bold; }
.ready { color: #14532d; } .notready { color: #8b0000; }
table { border-collapse: collapse; width: 100%; }
th, td { border: 1px solid #777; padding: .35em .6em; text-align: left; vertical-align: top; }
tr { break-inside: avoid; } thead { display: table-header-group; }
ul { margin: .3em 0; padding-left: 1.2em; overflow-wrap: anywhere; }
.failure { font-weight: bold; color: #8b0000; } .warning { font-weight: bold; } .hint { font-style: italic; }
.sign { display: flex; gap: 3em; margin-top: 3em; } .sign div { border-top: 1px solid; flex: 1; padding-top: .3em; }
@media print { body { margin: 0; max-width: none; } @page { margin: 15mm; } }
</style>
</head>
<body>
<h1>Shipping report</h1>
<p class="verdict {{if .Ready}}ready{{else}}notready{{end}}">{{.Verdict}}</p>
<table>
<tr><th scope="row">Machine</th><td>{{.Machine}}</td></tr>
<tr><th scope="row">Cluster</th><td>{{.Facts.Domain}}, version {{known .Facts.Version}}</td></tr>
<tr><th scope="row">Node</th><td>{{.Facts.Node}}{{range .Facts.Addresses}}, {{.}}{{end}}</td></tr>
<tr><th scope="row">Made</th><td>{{time .Made}}</td></tr>
<tr><th scope="row">May be switched off</th><td>{{.ShelfDays}} days, until {{day .ShelfEnd}}</td></tr>
</table>
<h2>Checks</h2>
<table>
<thead><tr><th scope="col">Result</th><th scope="col">Check</th><th scope="col">Finding</th></tr></thead>
<tbody>
{{range .Checks}}<tr><td class="{{.Severity}}">{{upper .Severity}}</td><td>{{.Title}}</td><td>{{.Message}}
{{- if .Details}}<ul>{{range .Details}}<li>{{.}}</li>{{end}}</ul>{{end}}
{{- if .Hint}}<p class="hint">To do: {{.Hint}}</p>{{end}}</td></tr>
{{end}}</tbody>
</table>
<div class="sign"><div>Date, name</div><div>Signature</div></div>
</body>
</html>
`

// HTML writes the report as a page to print, which loads nothing.
func (r Report) HTML(w io.Writer) error {
	t, err := template.New("report").Funcs(template.FuncMap{
		"known": known, "upper": func(s Severity) string { return strings.ToUpper(string(s)) },
		"time": func(t time.Time) string { return t.UTC().Format(time.RFC1123) },
		"day":  func(t time.Time) string { return t.UTC().Format(time.DateOnly) },
	}).Parse(page)
	if err != nil {
		return fmt.Errorf("read the template of the report: %w", err)
	}
	if err := t.Execute(w, r); err != nil {
		return fmt.Errorf("write the report: %w", err)
	}
	return nil
}
