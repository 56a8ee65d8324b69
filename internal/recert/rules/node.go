package rules

import (
	"slices"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// nodeRules are the fields of the cluster's objects that carry the node's name. What is named for it besides is in planRename,
// and what is deleted so that it is made again under the new name in deletions.
func nodeRules() []FieldRule {
	rule := func(keys, field string, in Within, why string) FieldRule {
		return FieldRule{keys, wire.FieldPath(field), in, why}
	}
	const (
		etcd    = "configmaps/openshift-etcd/"
		secrets = "secrets/openshift-etcd/"
		monitor = "node name of kube-apiserver's startup monitor"
	)
	rules := []FieldRule{
		rule(etcd+"etcd-pod*", "data/pod.yaml", nodePod, "node's name in the static pod of etcd"),
		rule(etcd+"restore-etcd-pod", "data/*", nodePod, "node's name in the static pod of etcd for a restore"),
		rule(etcd+"etcd-scripts*", "data/*", nodeScript, "node's name in etcd's scripts"),
		rule(secrets+"etcd-peer-*", "metadata/annotations/openshift.io|description", nodeText, "description of the etcd certificate"),
		rule(secrets+"etcd-serving-*", "metadata/annotations/openshift.io|description", nodeText, "description of the etcd certificate"),
		rule("configmaps/openshift-kube-apiserver/kube-apiserver-pod*", "data/kube-apiserver-startup-monitor-pod.yaml", nodeFlag, monitor),
		rule("machine.openshift.io/machines/*/*", "status/nodeRef/name", nodeExact, "node of the Machine"),
	}
	for _, operator := range []string{"etcds", "kubeapiservers", "kubecontrollermanagers", "kubeschedulers"} {
		rules = append(rules, rule("operator.openshift.io/"+operator+"/cluster", "status/nodeStatuses/*/nodeName", nodeExact,
			"node whose revision the operator notes"))
	}
	return rules
}

// nodeDiskRules are the files that mirror them.
func nodeDiskRules() []DiskRule {
	const (
		pod     = "node's name in the static pod of etcd"
		script  = "node's name in etcd's scripts"
		monitor = "node name of kube-apiserver's startup monitor"
	)
	return []DiskRule{
		{"etcd-pod.yaml", nodePod, pod},
		{"*etcd-pod/pod.yaml", nodePod, pod},
		{"restore-etcd-pod/quorum-restore-pod.yaml", nodePod, pod},
		{"etcd-scripts/*", nodeScript, script},
		{"kube-apiserver-startup-monitor-pod.yaml", nodeFlag, monitor},
	}
}

// nodeExact maps a text that is nothing but the node's name.
func nodeExact(m replace.Mapping, text string) (string, error) {
	if !m.Node.Empty() && text == m.Node.Old {
		return m.Node.New, nil
	}
	return text, nil
}

// nodeText maps the node's name where a sentence has it as a word of its own.
func nodeText(m replace.Mapping, text string) (string, error) {
	words := strings.Split(text, " ")
	for i, w := range words {
		bare := strings.Trim(w, `.,;:"'()`)
		if mapped, ok := m.Node.Word(bare); ok {
			words[i] = strings.Replace(w, bare, mapped, 1)
		} else if !m.Node.Empty() && bare == m.Node.Old {
			words[i] = strings.Replace(w, bare, m.Node.New, 1)
		}
	}
	return strings.Join(words, " "), nil
}

// nodePod maps the files and variables of the node in a manifest of etcd, and the value of the variable that is its name.
func nodePod(m replace.Mapping, text string) (string, error) {
	mapped := m.Node.Words(text)
	if m.Node.Empty() || !strings.Contains(mapped, replace.NameVariable(m.Node.New)) {
		return mapped, nil
	}
	variables := map[string]bool{}
	edited, err := wire.EditDocument(mapped, func(at []string, value string) (string, bool) {
		if n := len(at); n >= 3 && at[n-3] == "env" && at[n-1] == "name" && value == replace.NameVariable(m.Node.New) {
			variables[strings.Join(at[:n-1], "/")] = true
		}
		return value, false
	})
	if err != nil {
		return "", err
	}
	return wire.EditDocument(edited, func(at []string, value string) (string, bool) {
		n := len(at)
		return m.Node.New, n >= 3 && at[n-1] == "value" && value == m.Node.Old && variables[strings.Join(at[:n-1], "/")]
	})
}

// nodeScript does the same for lines of "export NAME=value".
func nodeScript(m replace.Mapping, text string) (string, error) {
	mapped := m.Node.Words(text)
	if m.Node.Empty() {
		return mapped, nil
	}
	lines := strings.SplitAfter(mapped, "\n")
	for i, line := range lines {
		name, value, ok := strings.Cut(line, "=")
		name = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(name), "export "))
		if ok && name == replace.NameVariable(m.Node.New) && strings.Trim(strings.TrimSpace(value), `"'`) == m.Node.Old {
			lines[i] = line[:len(line)-len(value)] + strings.Replace(value, m.Node.Old, m.Node.New, 1)
		}
	}
	return strings.Join(lines, ""), nil
}

// nodeFlag maps the flag with the name of a pod's node.
func nodeFlag(m replace.Mapping, text string) (string, error) {
	return flagExact("--node-name=", text, func(value string) string {
		mapped, _ := nodeExact(m, value)
		return mapped
	}), nil
}

// flagExact maps the whole value of a flag, a name, wherever a text has the flag.
func flagExact(flag, text string, change func(string) string) string {
	var out strings.Builder
	for {
		before, rest, ok := strings.Cut(text, flag)
		out.WriteString(before)
		if !ok {
			return out.String()
		}
		end := slices.IndexFunc([]byte(rest), func(c byte) bool { return !replace.InName(c) })
		if end < 0 {
			end = len(rest)
		}
		out.WriteString(flag + change(rest[:end]))
		text = rest[end:]
	}
}
