package lca_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/url"
	"testing"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
)

// The columns that "oc get ipc" shows; State and Details are those of the last
// condition, whatever its type.
func TestTableShowsTheLastCondition(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle, ipv4: {address: 192.0.2.10}, ipv6: {address: "2001:db8::10"}}`)
	server.observe(t, `{`+addresses4+`, `+addresses6+`, conditions: [
	  {type: ConfigCompleted, status: "True", reason: Completed, message: Done, lastTransitionTime: "2026-01-03T00:00:00Z"},
	  {type: Idle, status: "False", reason: InProgress, message: Waiting, lastTransitionTime: "2026-01-02T00:00:00Z"}]}`)

	table := getTable(t, server)

	columns := map[string]any{}
	wide := map[string]bool{}
	for i, column := range table.ColumnDefinitions {
		columns[column.Name] = table.Rows[0].Cells[i]
		wide[column.Name] = column.Priority > 0
	}
	delete(columns, "Age")
	require.Equal(t, map[string]any{
		"Name": "ipconfig", "Desired Stage": "Idle", "State": "InProgress", "Details": "Waiting",
		"Current IPv4": "192.0.2.9", "Desired IPv4": "192.0.2.10",
		"Current IPv6": "2001:db8::9", "Desired IPv6": "2001:db8::10",
	}, columns)
	require.Equal(t, map[string]bool{
		"Name": false, "Age": false, "Desired Stage": false, "State": false, "Details": false,
		"Current IPv4": true, "Desired IPv4": true, "Current IPv6": true, "Desired IPv6": true,
	}, wide)
}

// The order of the conditions is kept even by server-side apply, because it
// says which one is the most recent.
func TestConditionsKeepTheOrderInWhichTheyAreWritten(t *testing.T) {
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	const first = `{type: Idle, status: "False", reason: InProgress, message: "", lastTransitionTime: "2026-01-02T00:00:00Z"}`
	const second = `{type: ConfigCompleted, status: "True", reason: Completed, message: "", lastTransitionTime: "2026-01-01T00:00:00Z"}`
	for _, order := range [][]string{{first, second}, {second, first}} {
		server.applyStatus(t, `{conditions: [`+order[0]+`, `+order[1]+`]}`)
		table := getTable(t, server)
		want := "Completed"
		if order[1] == first {
			want = "InProgress"
		}
		for i, column := range table.ColumnDefinitions {
			if column.Name == "State" {
				require.Equal(t, want, table.Rows[0].Cells[i])
			}
		}
	}
}

// getTable asks for what "oc get ipc -o wide" asks for.
func getTable(t *testing.T, server singleton) *metav1.Table {
	t.Helper()
	httpClient, err := rest.HTTPClientFor(server.Config)
	require.NoError(t, err)
	address, err := url.JoinPath(server.Config.Host, "apis/lca.openshift.io/v1/ipconfigs")
	require.NoError(t, err)
	request, err := http.NewRequestWithContext(context.Background(), http.MethodGet, address, http.NoBody)
	require.NoError(t, err)
	request.Header.Set("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io")
	response, err := httpClient.Do(request)
	require.NoError(t, err)
	defer func() { require.NoError(t, response.Body.Close()) }()
	require.Equal(t, http.StatusOK, response.StatusCode)
	table := &metav1.Table{}
	require.NoError(t, json.NewDecoder(response.Body).Decode(table))
	require.Len(t, table.Rows, 1)
	return table
}
