package seed

import (
	"path"
	"strings"
)

// StoragePrefix is where the API server keeps its objects in etcd, aggregatedPrefix where OpenShift's others keep theirs.
const (
	StoragePrefix    = "/kubernetes.io/"
	aggregatedPrefix = "/openshift.io/"
)

// aggregatedGroup is the group of a resource that is stored in a folder of its group.
const aggregatedGroup = ".openshift.io"

// Selects reports whether the key of etcd is that of an object the selection means.
func (o Object) Selects(key string) bool {
	rest, ok := strings.CutPrefix(key, StoragePrefix)
	if !ok {
		return o.selectsAggregated(key)
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
	return len(parts) == 2 && (group == "" && !strings.Contains(o.Group, "*") || matchPattern(o.Group, group)) &&
		matchPattern(o.Resource, parts[0]) && (o.Namespace == "" || matchPattern(o.Namespace, namespace)) &&
		(o.Name == "" || matchPattern(o.Name, parts[1]))
}

// selectsAggregated is for the objects of OAuth, which are cluster-scoped: oauth/accesstokens/NAME is oauthaccesstokens.oauth.openshift.io.
func (o Object) selectsAggregated(key string) bool {
	rest, ok := strings.CutPrefix(key, aggregatedPrefix)
	parts := strings.SplitN(rest, "/", 3)
	if !ok || len(parts) != 3 || o.Group == "" {
		return false
	}
	return matchPattern(o.Group, parts[0]+aggregatedGroup) && matchPattern(o.Resource, parts[0]+parts[1]) &&
		(o.Name == "" || matchPattern(o.Name, parts[2]))
}

func matchPattern(pattern, name string) bool {
	ok, err := path.Match(pattern, name)
	return err == nil && ok
}
