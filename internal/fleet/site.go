package fleet

import (
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/validation"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// Site is one cluster, checked.
type Site struct {
	Cluster string
	Canary  bool
	// IPConfig is the change of the node's address; nil where the row asks for none.
	IPConfig *lcav1.IPConfigSpec
	// Objects are what the templates made, in their order.
	Objects []*unstructured.Unstructured
}

// Sites checks the whole table and makes its sites. The error is Problems.
func Sites(t Table, templates []Template) ([]Site, error) {
	c := &checker{table: t, templates: templates, seen: map[string]int{}}
	for _, template := range templates {
		c.problems = append(c.problems, template.checkUsable(t)...)
	}
	c.checkUnused()
	broken := len(c.problems) > 0
	out := make([]Site, len(t.Rows))
	for i, row := range t.Rows {
		out[i] = c.readSite(row)
		if !broken {
			out[i].Objects = c.fillObjects(row)
		}
	}
	c.checkEmpty(out)
	if len(c.problems) == 0 {
		c.checkSame(out)
	}
	slices.SortStableFunc(c.problems, func(a, b Problem) int { return a.Row - b.Row })
	return out, c.problems.asError()
}

type checker struct {
	table     Table
	templates []Template
	seen      map[string]int
	problems  Problems
}

// checkUnused refuses a column that nothing reads: it is most likely a mistyped one.
func (c *checker) checkUnused() {
	for _, column := range c.table.Columns {
		used := column == columnCluster || column == columnCanary || slices.Contains(addressColumns(), column) ||
			slices.ContainsFunc(c.templates, func(t Template) bool { return slices.Contains(t.columns, column) })
		if !used {
			c.problems = append(c.problems, Problem{Row: 1, Column: column, Want: fmt.Sprintf(
				"nothing reads it; a template reads it as ${%s}, and the columns of addresses are %s",
				column, strings.Join(addressColumns(), ", "))})
		}
	}
}

func (c *checker) readSite(row Row) Site {
	s := Site{Cluster: row.Values[columnCluster]}
	if len(validation.IsDNS1123Label(s.Cluster)) > 0 {
		c.addProblems(row.newProblem(columnCluster,
			"it must be the name of a ManagedCluster: lower-case letters, digits and hyphens, 63 at most"))
	} else if before, twice := c.seen[s.Cluster]; twice {
		c.addProblems(row.newProblem(columnCluster, fmt.Sprintf("it is that of row %d, too; a cluster has one row", before)))
	}
	c.seen[s.Cluster] = row.Number
	switch strings.ToLower(row.Values[columnCanary]) {
	case "", "no", "false":
	case "yes", "true":
		s.Canary = true
	default:
		c.addProblems(row.newProblem(columnCanary, "it must be yes, no or empty"))
	}
	var problems Problems
	s.IPConfig, problems = ipConfig(row)
	c.addProblems(problems...)
	return s
}

func (c *checker) fillObjects(row Row) (out []*unstructured.Unstructured) {
	for _, t := range c.templates {
		o, err := t.fillRow(row)
		if err == nil {
			err = checkObject(o)
		}
		if err != nil {
			want := fmt.Sprintf("template %s: %v", t.Name, err)
			c.addProblems(Problem{Row: row.Number, Column: strings.Join(t.columns, ", "), Want: want})
			continue
		}
		if slices.ContainsFunc(out, func(other *unstructured.Unstructured) bool { return objectName(other) == objectName(o) }) {
			c.addProblems(Problem{Row: row.Number, Want: fmt.Sprintf(
				"template %s makes %s, as another does; an object comes from one template", t.Name, objectName(o))})
		}
		out = append(out, o)
	}
	return out
}

// checkEmpty refuses rows by which nothing would change.
func (c *checker) checkEmpty(sites []Site) {
	for i, s := range sites {
		if s.IPConfig == nil && len(c.templates) == 0 {
			c.addProblems(Problem{Row: c.table.Rows[i].Number,
				Want: "it asks for nothing: fill " + columnIPv4Address + " or another column of addresses, or name a template"})
		}
	}
}

// checkSame refuses rows that differ in which kinds they ask for: a policy is one for all clusters, and its objects have one name.
func (c *checker) checkSame(sites []Site) {
	for i, s := range sites {
		if (s.IPConfig == nil) != (sites[0].IPConfig == nil) {
			c.addProblems(Problem{Row: c.table.Rows[i].Number, Column: columnIPv4Address,
				Want: "rows with and without addresses need tables of their own: one roll-out changes the same kinds everywhere"})
		}
		for k, o := range s.Objects {
			if objectName(o) != objectName(sites[0].Objects[k]) {
				c.addProblems(Problem{Row: c.table.Rows[i].Number, Want: fmt.Sprintf(
					"template %s: the name and namespace of an object must be the same on all clusters", c.templates[k].Name)})
			}
		}
	}
}

func (c *checker) addProblems(problems ...Problem) { c.problems = append(c.problems, problems...) }
