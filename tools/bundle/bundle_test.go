package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

const manifest = `apiVersion: apps/v1
kind: Deployment
metadata: {name: lifecycle-agent}
spec:
  selector: {matchLabels: {a: b}}
  template:
    metadata: {labels: {a: b}}
    spec:
      serviceAccountName: lifecycle-agent-operator
      containers: [{name: manager, image: example.test/agent@sha256:0}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: lifecycle-agent-operator}
rules: [{apiGroups: [ipam.metal3.io], resources: [ippools], verbs: [get]}]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata: {name: lifecycle-agent-operator-election}
rules: [{apiGroups: [coordination.k8s.io], resources: [leases], verbs: [create]}]
---
apiVersion: v1
kind: Namespace
metadata: {name: left-out}
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ippools.ipam.metal3.io}
spec:
  group: ipam.metal3.io
  scope: Namespaced
  names: {kind: IPPool, plural: ippools, singular: ippool, listKind: IPPoolList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: ipclaims.ipam.metal3.io}
spec:
  group: ipam.metal3.io
  scope: Namespaced
  names: {kind: IPClaim, plural: ipclaims, singular: ipclaim, listKind: IPClaimList}
  versions: [{name: v1alpha1, served: true, storage: true, schema: {openAPIV3Schema: {type: object}}}]
`

func bundle(t *testing.T, text, version string) (string, error) {
	t.Helper()
	dir := t.TempDir()
	file, samples := filepath.Join(dir, "install.yaml"), filepath.Join("..", "..", "config", "samples")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(dir, "bundle")
	return out, run(file, version, out, samples)
}

func TestABundleIsValidAndHasTheOperatorAlone(t *testing.T) {
	out, err := bundle(t, manifest, "1.2.3")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(filepath.Join(out, "manifests", name+".clusterserviceversion.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"version: 1.2.3", "example.test/agent@sha256:0", "lifecycle-agent-operator", "leases", "IPClaim"} {
		if !strings.Contains(string(text), want) {
			t.Errorf("the ClusterServiceVersion lacks %q", want)
		}
	}
	files, err := os.ReadDir(filepath.Join(out, "manifests"))
	if err != nil || len(files) != 3 {
		t.Errorf("the bundle has %v, %v", files, err)
	}
}

func TestWhatIsNotValidIsRefused(t *testing.T) {
	if _, err := bundle(t, manifest, "not-a-version"); err == nil {
		t.Error("a version that is not semantic is taken")
	}
	if _, err := bundle(t, strings.SplitN(manifest, "---\n", 2)[1], "1.2.3"); err == nil || !strings.Contains(err.Error(), "0 Deployments") {
		t.Errorf("manifests without a Deployment: %v", err)
	}
}
