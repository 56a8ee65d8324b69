package seed

import (
	"path"
	"strings"
)

// StoragePrefix is where the API server keeps its objects in etcd.
const StoragePrefix = "/kubernetes.io/"

// Selects reports whether the key of etcd is that of an object the selection means.
func (o Object) Selects(key string) bool {
	rest, ok := strings.CutPrefix(key, StoragePrefix)
	if !ok {
		return false
	}
	parts := strings.Split(rest, "/")
	group := ""
	if strings.Contains(parts[0], ".") {
		group, parts = parts[0], parts[1:]
	}
	namespace := ""
	if len(parts) == 3 {
		namespace, parts = parts[1], []string{parts[0], parts[2]}
	}
	// Of Kubernetes' own groups etcd does not know the name.
	return len(parts) == 2 && (group == "" && !strings.Contains(o.Group, "*") || matches(o.Group, group)) &&
		matches(o.Resource, parts[0]) && (o.Namespace == "" || matches(o.Namespace, namespace)) &&
		(o.Name == "" || matches(o.Name, parts[1]))
}

func matches(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
