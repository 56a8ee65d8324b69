//go:build interop

package interop

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// state is what must not change by itself, by its name: the contents of Secrets and ConfigMaps with what is noted of their certificates,
// and the revisions of static pods.
func (c *operatedCluster) state() map[string]string {
	c.t.Helper()
	out := map[string]string{}
	secrets, configMaps := &corev1.SecretList{}, &corev1.ConfigMapList{}
	require.NoError(c.t, c.Client.List(context.Background(), secrets))
	require.NoError(c.t, c.Client.List(context.Background(), configMaps))
	for _, s := range secrets.Items {
		out["Secret "+s.Namespace+"/"+s.Name] = fingerprint(c.t, s.Data, s.Annotations)
	}
	for _, m := range configMaps.Items {
		out["ConfigMap "+m.Namespace+"/"+m.Name] = fingerprint(c.t, m.Data, m.Annotations)
	}
	for _, o := range c.operators {
		if o.pod != "" {
			revision, _, err := unstructured.NestedInt64(c.get("operator.openshift.io/v1", o.configuration).Object, "status", "latestAvailableRevision")
			require.NoError(c.t, err)
			out[o.configuration+" revision"] = fmt.Sprint(revision)
		}
	}
	return out
}

// fingerprint of data and of the annotations about certificates.
func fingerprint(t *testing.T, data any, annotations map[string]string) string {
	noted := map[string]string{}
	for name, value := range annotations {
		if strings.HasPrefix(name, "auth.openshift.io/") || strings.HasPrefix(name, "service") {
			noted[name] = value
		}
	}
	text, err := json.Marshal([]any{data, noted})
	require.NoError(t, err)
	return string(text)
}

// differences names what is not the same in both.
func differences(before, after map[string]string) (out []string) {
	for name := range before {
		if _, there := after[name]; !there {
			out = append(out, name+" is gone")
		} else if before[name] != after[name] {
			out = append(out, name+" has changed")
		}
	}
	for name := range after {
		if _, there := before[name]; !there {
			out = append(out, name+" is new")
		}
	}
	slices.Sort(out)
	return out
}

// firstChange is where two texts part.
func firstChange(before, after string) string {
	const around = 100
	at := 0
	for at < min(len(before), len(after)) && before[at] == after[at] {
		at++
	}
	part := func(s string) string { return s[max(0, min(at, len(s))-around):min(len(s), at+around)] }
	return fmt.Sprintf("%q became %q", part(before), part(after))
}

// quiet is how long nothing may change before the operators count as settled; they look at everything again each minute.
const quiet = 20 * time.Second

// settle waits until the operators have rolled out what they want, and returns the state. The deadline is several of an operator's
// roll-outs, which take a minute and more.
func (c *operatedCluster) settle() map[string]string {
	c.t.Helper()
	last, since := c.state(), time.Now()
	for end := time.Now().Add(5 * deadline); time.Now().Before(end); time.Sleep(20 * tick) {
		c.healthy()
		now := c.state()
		changed := differences(last, now)
		if len(changed) > 0 {
			c.t.Logf("%s: %v", time.Now().Format(time.TimeOnly), changed)
		}
		if len(changed) > 0 || !c.rolledOut() {
			last, since = now, time.Now()
			continue
		}
		if time.Since(since) > quiet {
			return now
		}
	}
	c.t.Fatal("the operators do not settle")
	return nil
}

// healthy ends the test when a process has ended.
func (c *operatedCluster) healthy() {
	for _, p := range slices.Concat(c.servers, c.running) {
		p.running()
	}
}

// rolledOut reports whether each node runs the newest revision of each static pod.
func (c *operatedCluster) rolledOut() bool {
	for _, o := range c.operators {
		if o.pod == "" {
			continue
		}
		status, _, _ := unstructured.NestedMap(c.get("operator.openshift.io/v1", o.configuration).Object, "status")
		nodes, _, _ := unstructured.NestedSlice(status, "nodeStatuses")
		if len(nodes) != 1 {
			return false
		}
		if nodes[0].(map[string]any)["currentRevision"] != status["latestAvailableRevision"] {
			return false
		}
	}
	return true
}

// conditions are the types of an operator's conditions: each of its controllers sets one when it has looked at everything.
func (c *operatedCluster) conditions(o operator) (types []string) {
	list, _, err := unstructured.NestedSlice(c.get("operator.openshift.io/v1", o.configuration).Object, "status", "conditions")
	require.NoError(c.t, err)
	for _, condition := range list {
		types = append(types, condition.(map[string]any)["type"].(string))
	}
	slices.Sort(types)
	return types
}

// lookAgain starts the operators and returns when each controller that has ever reported has reported again.
func (c *operatedCluster) lookAgain() {
	c.t.Helper()
	had := map[string][]string{}
	for _, o := range c.operators {
		had[o.name] = c.conditions(o)
		c.t.Logf("%s has %d conditions", o.name, len(had[o.name]))
		c.patchStatus(c.get("operator.openshift.io/v1", o.configuration), map[string]any{"conditions": []any{}})
	}
	c.startOperators()
	for _, o := range c.operators {
		again := func() bool {
			c.healthy()
			has := c.conditions(o)
			return !slices.ContainsFunc(had[o.name], func(one string) bool { return !slices.Contains(has, one) })
		}
		await(c.t, again, "%s reports again", o.name)
	}
}
