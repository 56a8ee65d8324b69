package seed_test

import (
	"encoding/json"
	"log/slog"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed"
)

func intake(n *hosttest.Node) operation.Intake {
	return operation.Intake{Files: n.Files(), Boots: n.Power(), Log: slog.New(slog.DiscardHandler)}
}

func TestARequestIsReadAsItWasWritten(t *testing.T) {
	node := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
	files := node.Files()
	_, err := seed.ReadRequest(files)
	require.ErrorIs(t, err, seed.ErrNoRequest)
	r := seed.Request{OperationID: "op", SeedImage: "registry.example.com/seed:1", AuthFile: seed.AuthFile,
		Cluster: seed.ClusterInfo{ClusterName: "sno"}, Drop: []seed.Object{{Resource: "secrets", Namespace: "hub"}}}
	require.NoError(t, seed.WriteRequest(t.Context(), intake(node), r))
	back, err := seed.ReadRequest(files)
	require.NoError(t, err)
	require.Equal(t, r, back)
}

func TestARequestThatCannotBeCarriedOutIsRefused(t *testing.T) {
	for says, r := range map[string]seed.Request{
		"operation-id is missing": {SeedImage: "r/s:1"},
		"seed-image is missing":   {OperationID: "op"},
		"has a digest":            {OperationID: "op", SeedImage: "r/s@sha256:00"},
		"has no resource":         {OperationID: "op", SeedImage: "r/s:1", Drop: []seed.Object{{Name: "x"}}},
	} {
		node := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"})
		err := seed.WriteRequest(t.Context(), intake(node), r)
		require.ErrorIs(t, err, operation.ErrRefused)
		require.ErrorContains(t, err, says)
		_, err = node.Files().Stat(seed.RequestFile)
		require.Error(t, err, "nothing is written")
	}
}

// The keys of manifest.json are what programs of the field read.
func TestTheKeysOfManifestJSON(t *testing.T) {
	data, err := json.Marshal(seed.ClusterInfo{})
	require.NoError(t, err)
	var keys map[string]any
	require.NoError(t, json.Unmarshal(data, &keys))
	for _, key := range []string{
		"seed_cluster_ocp_version", "base_domain", "cluster_name", "node_ip", "node_ips", "release_registry",
		"mirror_registry_configured", "sno_hostname", "recert_image_pull_spec", "has_proxy", "cluster_network_cidr",
		"service_network_cidr", "has_fips", "additionalTrustBundle", "container_storage_mountpoint_target",
		"ingress_certificate_cn", "machine_networks",
	} {
		require.Contains(t, keys, key)
	}
	require.Len(t, keys, 17)
	require.Equal(t, map[string]any{"hasUserCaBundle": false, "proxyConfigmapName": ""}, keys["additionalTrustBundle"])
}
