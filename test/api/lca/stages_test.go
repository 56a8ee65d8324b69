package lca_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// inStage brings the singleton into a stage, with nothing more to come.
func inStage(t *testing.T, stage string) singleton {
	t.Helper()
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	if stage != "Idle" {
		server.observe(t, status(idle, fmt.Sprintf("validNextStages: [%s]", stage)))
		require.NoError(t, server.patch(t, fmt.Sprintf("spec: {stage: %s}", stage)))
	}
	return server
}

// Every stage, every list of valid next stages, every request.
func TestStageChanges(t *testing.T) {
	stages := []string{"Idle", "Config", "Rollback"}
	lists := [][]string{nil, {"Idle"}, {"Config"}, {"Rollback"}, {"Idle", "Rollback"}}
	for _, from := range stages {
		for _, list := range lists {
			server := inStage(t, from)
			server.observe(t, status(busy, fmt.Sprintf("validNextStages: [%s]", strings.Join(list, ","))))
			for _, to := range stages {
				name := fmt.Sprintf("%s to %s with %v", from, to, list)
				want := stageAnswer(from, to, list)
				if want == nil && from != to {
					continue // accepted changes follow below, each on a fresh object
				}
				t.Run(name, func(t *testing.T) {
					requireAnswer(t, server.patch(t, fmt.Sprintf("spec: {stage: %s}", to)), want)
				})
			}
			for _, to := range list {
				t.Run(fmt.Sprintf("%s to %s with %v", from, to, list), func(t *testing.T) {
					server := inStage(t, from)
					server.observe(t, status(busy, fmt.Sprintf("validNextStages: [%s]", strings.Join(list, ","))))
					require.NoError(t, server.patch(t, fmt.Sprintf("spec: {stage: %s}", to)))
				})
			}
		}
	}
}

// stageAnswer is the answer to a change of stage, given the list.
func stageAnswer(from, to string, list []string) *refusal {
	if from == to {
		return nil
	}
	for _, allowed := range list {
		if to == allowed {
			return nil
		}
	}
	message := fmt.Sprintf("spec.stage can not change from %s to %s now; ", from, to)
	if len(list) == 0 {
		message += "status.validNextStages is empty, so wait until the agent lists a stage there"
	} else {
		message += "use one of the stages listed in status.validNextStages: " + strings.Join(list, ", ")
	}
	return &refusal{"spec.stage", message}
}

func TestStageWithoutStatusOrWithoutList(t *testing.T) {
	for name, document := range map[string]string{
		"no status": "", "empty status": `{}`, "no list": status(idle, addresses4),
	} {
		t.Run(name, func(t *testing.T) {
			server := newSingleton(t)
			server.mustCreate(t, `{stage: Idle}`)
			server.observe(t, document)
			for _, stage := range []string{"Config", "Rollback"} {
				requireAnswer(t, server.patch(t, `spec: {stage: `+stage+`}`), stageAnswer("Idle", stage, nil))
			}
			require.NoError(t, server.patch(t, `spec: {stage: Idle}`))
		})
	}
}

func TestUnknownStageIsRefusedOnUpdate(t *testing.T) {
	server := inStage(t, "Idle")
	server.observe(t, status(idle, ready))
	requireAnswer(t, server.patch(t, `spec: {stage: Prepare}`),
		&refusal{"spec.stage", `Unsupported value: "Prepare": supported values: "Idle", "Config", "Rollback"`})
}

// Neither the operator's status writes nor anybody's metadata depend on what
// the stage, the lock and the families would forbid.
func TestStatusAndMetadataCanAlwaysBeWritten(t *testing.T) {
	spec := strings.Replace(fullSpec, "stage: Idle", "stage: Config, dnsFilterOutFamily: ipv4", 1)
	writes := []struct{ name, document string }{
		{"stage not listed", status(busy, `validNextStages: [Idle]`)},
		{"empty list", status(busy, `validNextStages: []`)},
		{"no list", status(busy, `validNextStages: null`)},
		{"no conditions", `{conditions: null}`},
		{"lost IPv4", `{ipv4: null}`},
		{"lost IPv6", `{ipv6: null}`},
		{"lost both", `{ipv4: null, ipv6: null}`},
		{"swapped to IPv6", `{ipv4: null, ` + addresses6 + `}`},
		{"swapped to IPv4", `{ipv6: null, ` + addresses4 + `}`},
		{"empty addresses", `{ipv4: {address: ""}, ipv6: {address: ""}}`},
		{"idle", status(idle, ready)},
		{"many DNS servers", `{dnsServers: [192.0.2.1, 192.0.2.2, 192.0.2.3, 192.0.2.4, 192.0.2.5, 192.0.2.6, 192.0.2.7, 192.0.2.8, "fe80::1%br-ex"]}`},
		{"reserved VLAN", `{vlanID: 4095}`},
	}
	server := newSingleton(t)
	server.mustCreate(t, `{stage: Idle}`)
	server.observe(t, status(idle, addresses4, addresses6, ready))
	require.NoError(t, server.patch(t, `spec: `+spec))
	for _, write := range writes {
		t.Run(write.name, func(t *testing.T) {
			require.NoError(t, server.patchStatus(t, write.document))
			require.NoError(t, server.patch(t, `metadata: {labels: {written: "yes"}, annotations: {lca.openshift.io/trigger-reconcile: now}, finalizers: [example.com/a]}`))
			require.NoError(t, server.patch(t, `metadata: {labels: null, annotations: null, finalizers: null}`))
		})
	}
}
