package fleet

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	metal3 "github.com/lifecycle-agent/lifecycle-agent/api/metal3/v1alpha1"
	nmstatev1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1"
	relocation "github.com/lifecycle-agent/lifecycle-agent/api/relocation/v1beta1"
)

// placeholder stands in a template for the value of a column.
var placeholder = regexp.MustCompile(`\$\{([^}]*)\}`)

// goal says by which condition an object of a kind has arrived, and by which it has failed.
type goal struct {
	group, kind, resource string
	reached               string
	failed                string
}

// templateGoals are the kinds that templates may have.
func templateGoals() []goal {
	return []goal{
		{nmstatev1.GroupVersion.Group, "NodeNetworkConfigurationPolicy", "nodenetworkconfigurationpolicies",
			nmstatev1.PolicyAvailable, nmstatev1.PolicyDegraded},
		{relocation.GroupVersion.Group, "ClusterRelocation", "clusterrelocations", relocation.ConditionReconciled, ""},
		{metal3.GroupVersion.Group, "IPPool", "ippools", metal3.ConditionReady, ""},
	}
}

// addressGoal is that of an IPConfig.
func addressGoal() goal {
	return goal{lcav1.GroupVersion.Group, "IPConfig", "ipconfigs", lcav1.ConditionConfigCompleted, ""}
}

func goalOf(o *unstructured.Unstructured) (goal, bool) {
	gvk := o.GroupVersionKind()
	all := append(templateGoals(), addressGoal())
	i := slices.IndexFunc(all, func(g goal) bool { return g.group == gvk.Group && g.kind == gvk.Kind })
	if i < 0 {
		return goal{}, false
	}
	return all[i], true
}

// Template is one object with placeholders.
type Template struct {
	// Name is that of the file, for messages.
	Name string
	node yaml.Node
	// columns are those whose values it takes.
	columns []string
}

// ReadTemplates reads the objects of a file, one or many.
func ReadTemplates(name string, data []byte) ([]Template, error) {
	decoder := yaml.NewDecoder(bytes.NewReader(data))
	var out []Template
	for {
		t := Template{Name: name}
		err := decoder.Decode(&t.node)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read template %s: %w", name, err)
		}
		t.columns = slices.Sorted(maps.Keys(mentionedColumns(&t.node)))
		out = append(out, t)
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("template %s has no object", name)
	}
	return out, nil
}

// mentionedColumns are the columns that placeholders name.
func mentionedColumns(n *yaml.Node) map[string]bool {
	out := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(n.Value, -1) {
		out[m[1]] = true
	}
	for _, c := range n.Content {
		maps.Copy(out, mentionedColumns(c))
	}
	return out
}

// fillRow makes the object of a row. A value never changes the shape of the document: it is put into a scalar that was read.
func (t Template) fillRow(row Row) (*unstructured.Unstructured, error) {
	filled := substituteNode(&t.node, row.Values)
	var object map[string]any
	if err := filled.Decode(&object); err != nil {
		return nil, fmt.Errorf("template %s is not an object: %w", t.Name, err)
	}
	text, err := yaml.Marshal(object)
	if err != nil {
		return nil, fmt.Errorf("template %s: %w", t.Name, err)
	}
	return decodeObject(text)
}

func substituteNode(n *yaml.Node, values map[string]string) *yaml.Node {
	out := *n
	if n.Kind == yaml.ScalarNode && placeholder.MatchString(n.Value) {
		out.Value = placeholder.ReplaceAllStringFunc(n.Value, func(m string) string { return values[m[2:len(m)-1]] })
		out.Tag = ""
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle|yaml.LiteralStyle|yaml.FoldedStyle) != 0 {
			out.Tag = "!!str"
		}
	}
	out.Content = make([]*yaml.Node, len(n.Content))
	for i, c := range n.Content {
		out.Content[i] = substituteNode(c, values)
	}
	return &out
}

// checkUsable lists columns that a template names and the table has not, and the fields that a row leaves empty.
func (t Template) checkUsable(table Table) (problems Problems) {
	for _, column := range t.columns {
		if !table.hasColumn(column) {
			problems = append(problems, Problem{Value: "${" + column + "}",
				Want: fmt.Sprintf("template %s names a column that the table has not; it has %s",
					t.Name, strings.Join(table.Columns, ", "))})
			continue
		}
		for _, row := range table.Rows {
			if row.Values[column] == "" {
				problems = append(problems, row.newProblem(column, fmt.Sprintf("it is empty, and template %s needs it", t.Name)))
			}
		}
	}
	return problems
}
