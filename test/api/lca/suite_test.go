package lca_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/apitest"
)

var shared = apitest.New(apitest.Options{CRDs: []string{"lca.openshift.io_ipconfigs.yaml"}})

func TestMain(m *testing.M) { os.Exit(shared.Run(m)) }

// refusal is one reason for which the API server refuses a request.
type refusal struct {
	field, message string
}

// skippedRules is what the server adds when a violation of the schema itself
// kept it from evaluating rules.
const skippedRules = "some validation rules were not checked because the object was invalid; " +
	"correct the existing errors to complete validation"

// refusals returns why the server refused a request, without the prefix that
// repeats the value.
func refusals(t *testing.T, err error) []refusal {
	t.Helper()
	if err == nil {
		return nil
	}
	var status *apierrors.StatusError
	require.True(t, errors.As(err, &status), "not an answer of the API server: %v", err)
	require.True(t, apierrors.IsInvalid(err), "not refused as invalid: %v", err)
	var found []refusal
	for _, cause := range status.ErrStatus.Details.Causes {
		if strings.HasSuffix(cause.Message, skippedRules) {
			continue
		}
		found = append(found, refusal{field: cause.Field, message: detail(cause.Message)})
	}
	return found
}

// detail cuts `Forbidden: `, `Invalid value: ` or `Invalid value: <json>: ` off
// a message; the server leaves the value out when it is an object.
func detail(message string) string {
	if rest, ok := strings.CutPrefix(message, "Forbidden: "); ok {
		return rest
	}
	rest, ok := strings.CutPrefix(message, "Invalid value: ")
	if !ok {
		return message
	}
	decoder := json.NewDecoder(strings.NewReader(rest))
	var value any
	if decoder.Decode(&value) != nil {
		return rest
	}
	return strings.TrimPrefix(rest[decoder.InputOffset():], ": ")
}

// requireAnswer checks that a request was accepted, or refused for exactly the
// reason want.
func requireAnswer(t *testing.T, err error, want *refusal) {
	t.Helper()
	if want == nil {
		require.NoError(t, err)
		return
	}
	require.Error(t, err, "accepted, but should be refused: %s", want.message)
	require.Equal(t, []refusal{*want}, refusals(t, err))
}

// singleton works on the one IPConfig of the server.
type singleton struct {
	*apitest.Server
}

// newSingleton returns the server without any IPConfig on it.
func newSingleton(t *testing.T) singleton {
	t.Helper()
	server := shared.Server(t)
	server.DeleteIPConfig(t)
	return singleton{server}
}

// create sends an IPConfig with this spec, as YAML.
func (s singleton) create(t *testing.T, spec string) error {
	t.Helper()
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(lcav1.GroupVersion.WithKind("IPConfig"))
	object.SetName(lcav1.IPConfigName)
	var fields map[string]any
	require.NoError(t, yaml.Unmarshal([]byte(spec), &fields))
	object.Object["spec"] = fields
	return s.Client.Create(context.Background(), object)
}

// mustCreate creates an IPConfig that is expected to be accepted.
func (s singleton) mustCreate(t *testing.T, spec string) {
	t.Helper()
	require.NoError(t, s.create(t, spec))
}

// patch merges a YAML document into the IPConfig.
func (s singleton) patch(t *testing.T, document string) error {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(document))
	require.NoError(t, err)
	return s.Client.Patch(context.Background(), named(), client.RawPatch(types.MergePatchType, data))
}

// patchStatus merges a YAML document into the status of the IPConfig.
func (s singleton) patchStatus(t *testing.T, document string) error {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte("status: " + document))
	require.NoError(t, err)
	return s.Client.Status().Patch(context.Background(), named(), client.RawPatch(types.MergePatchType, data))
}

// applyStatus writes a YAML document as the status by server-side apply.
func (s singleton) applyStatus(t *testing.T, document string) {
	t.Helper()
	data, err := yaml.YAMLToJSON([]byte(`{apiVersion: lca.openshift.io/v1, kind: IPConfig, metadata: {name: ipconfig}, status: ` + document + `}`))
	require.NoError(t, err)
	require.NoError(t, s.Client.Status().Patch(context.Background(), named(),
		client.RawPatch(types.ApplyPatchType, data), client.FieldOwner("test"), client.ForceOwnership))
}

// observe writes a status that is expected to be accepted.
func (s singleton) observe(t *testing.T, document string) {
	t.Helper()
	if document != "" {
		require.NoError(t, s.patchStatus(t, document))
	}
}

// named returns an IPConfig with nothing but its name.
func named() *lcav1.IPConfig {
	return &lcav1.IPConfig{ObjectMeta: metav1.ObjectMeta{Name: lcav1.IPConfigName}}
}

// Statuses as documents for observe. They are in flow style so that they can be
// put after "status: ".
const (
	idle = `conditions: [{type: Idle, status: "True", reason: Idle, message: Idle, lastTransitionTime: "2026-01-01T00:00:00Z"}]`
	busy = `conditions: [{type: Idle, status: "False", reason: ConfigurationInProgress, message: Configuration in progress, lastTransitionTime: "2026-01-01T00:00:00Z"}]`

	addresses4 = `ipv4: {address: 192.0.2.9, machineNetwork: 192.0.2.0/24, gateway: 192.0.2.1}`
	addresses6 = `ipv6: {address: "2001:db8::9", machineNetwork: "2001:db8::/64", gateway: "fe80::1"}`

	ready = `validNextStages: [Config]`
)

// status joins parts of a status into one document.
func status(parts ...string) string {
	return "{" + strings.Join(parts, ", ") + "}"
}
