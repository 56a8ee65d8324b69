package main

// csv is a ClusterServiceVersion under construction.
type csv struct {
	version     string
	deployments []any
	definitions []any
	rights      map[string][]any
	examples    string
}

func newCSV(version string) *csv { return &csv{version: version} }

const description = `Allocates addresses of pools to claims, each address once, and renders Ignition configs of machines and hosts.

This bundle holds the operator role of Lifecycle Agent, for a hub. The node role, which changes the address of a single-node cluster,
is a privileged DaemonSet and is installed from install-openshift.yaml of the release. OLM takes no ValidatingAdmissionPolicy: apply
config/admission as well, so that the API server refuses contradictory pools at once. Without it, their condition reports them.`

func (c *csv) object() map[string]any {
	return map[string]any{
		"apiVersion": "operators.coreos.com/v1alpha1", "kind": "ClusterServiceVersion",
		"metadata": map[string]any{
			"name": name + ".v" + c.version, "namespace": "placeholder",
			"annotations": map[string]any{
				"alm-examples": c.examples, "capabilities": "Basic Install", "categories": "Networking",
				"operatorframework.io/suggested-namespace":     namespace,
				"features.operators.openshift.io/disconnected": "true",
			},
		},
		"spec": map[string]any{
			"displayName": "Lifecycle Agent, address management", "description": description, "version": c.version, "maturity": "stable",
			"minKubeVersion": "1.30.0", "keywords": []any{"ipam", "addresses", "metal3"},
			"provider":    map[string]any{"name": "Lifecycle Agent"},
			"maintainers": []any{map[string]any{"name": "Lifecycle Agent maintainers", "email": "maintainers@lifecycle-agent.invalid"}},
			"links":       []any{map[string]any{"name": "Documentation", "url": "https://github.com/lifecycle-agent/lifecycle-agent/tree/main/docs"}},
			"icon":        []any{map[string]any{"base64data": icon, "mediatype": "image/svg+xml"}},
			"installModes": []any{
				mode("OwnNamespace", false), mode("SingleNamespace", false), mode("MultiNamespace", false), mode("AllNamespaces", true),
			},
			"customresourcedefinitions": map[string]any{"owned": c.definitions},
			"install": map[string]any{"strategy": "deployment", "spec": map[string]any{
				"deployments":        c.deployments,
				"clusterPermissions": c.rules("ClusterRole"), "permissions": c.rules("Role"),
			}},
		},
	}
}

func (c *csv) rules(kind string) []any {
	return []any{map[string]any{"serviceAccountName": "lifecycle-agent-operator", "rules": c.rights[kind]}}
}

func mode(kind string, supported bool) map[string]any {
	return map[string]any{"type": kind, "supported": supported}
}

// icon is a square with an arrow.
const icon = "PHN2ZyB4bWxucz0iaHR0cDovL3d3dy53My5vcmcvMjAwMC9zdmciIHZpZXdCb3g9IjAgMCA2NCA2NCI+PHJlY3Qgd2lkdGg9IjY0IiBoZWlnaHQ9IjY0IiByeD0iOCIgZmlsbD0i" +
	"IzA2YyIvPjxwYXRoIGQ9Ik0xMiAzMmgzNE0zNCAyMGwxMiAxMi0xMiAxMiIgc3Ryb2tlPSIjZmZmIiBzdHJva2Utd2lkdGg9IjYiIGZpbGw9Im5vbmUiLz48L3N2Zz4K"
