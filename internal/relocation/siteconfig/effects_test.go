package siteconfig

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/netstate"
	"github.com/lifecycle-agent/lifecycle-agent/test/effects"
)

// root is the top of the source tree.
const root = "../../.."

// The tests that several rows name.
var (
	inCluster  = effects.In("internal/relocation/reconcile", "TestFieldsOfASiteReachTheCluster")
	inHub      = effects.In("internal/relocation/reconcile", "TestFieldsOfAHubReachIt")
	inRecert   = effects.In("internal/relocation/onsite", "TestFieldsOfASiteReachRecertAndTheProof")
	retained   = effects.In("internal/relocation/onsite", "TestRetainedKeysOfASiteReachRecert")
	hostKeys   = effects.In("internal/relocation/onsite", "TestTheSitesHostKeysAreTheNodes")
	keyfiles   = effects.In("internal/relocation/onsite", "TestKeyfilesOfTheSiteAreTheNodesNetwork")
	answers    = effects.In("internal/relocation/onsite", "TestTheNodeAnswersTheNamesOfItsSite")
	handedOver = effects.In("internal/relocation/onsite", "TestTheHandoverHoldsWhatTheSiteAsksFor")
	proxied    = effects.In("internal/controller/relocation", "TestProxyAndItsStatusAreTheSites")
	served     = effects.In("internal/relocation/reconcile", "TestCertificatesOfASiteReachTheCluster")
	decoded    = effects.In("internal/relocation/siteconfig", "TestProblems")
)

// siteRows name, for every field of a SiteConfig, the test that proves its effect.
func siteRows() map[string]effects.Row {
	return map[string]effects.Row{
		"apiVersion": decoded, "kind": decoded, "metadata.name": handedOver,
		"clusterName": inRecert, "baseDomain": inRecert, "hostname": inRecert, "domain": inCluster,
		"network": inRecert, "connections[].*": keyfiles, "nodeIPs[]": inRecert, "machineNetworks[]": inRecert, "dnsServers[]": inRecert,
		"dnsmasq.*": answers, "proxy.*": inCluster, "statusProxy.*": proxied, "ntpServers[]": inCluster, "chronyConfig": inCluster,
		"pullSecret": inCluster, "pullSecretRef.*": inCluster,
		"releaseRegistry":         effects.In("internal/controller/relocation", "TestTheReleaseComesFromTheSitesRegistry"),
		"imageContentSources[].*": inCluster, "imageDigestMirrors[].*": inCluster, "imageTagMirrors[].*": inCluster,
		"registryCAs[].*": inCluster, "catalogSources[].*": inCluster, "additionalTrust.*": inCluster,
		"certificates.api.secretRef.*": inCluster, "certificates.ingress.secretRef.*": inCluster,
		"certificates.api.certificate": served, "certificates.api.key": served,
		"certificates.ingress.certificate": served, "certificates.ingress.key": served,
		"sshKeys[]": inCluster, "serverSSHKeys[].*": hostKeys, "nodeLabels": inCluster,
		"hub.url": inHub, "hub.caBundle": inHub, "hub.clusterName": inHub, "hub.managedClusterSet": inHub, "hub.token": inHub,
		"hub.secretRef.*": inHub, "hub.klusterletAddonConfig": inHub, "hub.importManifests[]": inCluster, "manifests[]": inCluster,
		"handover.*":         handedOver,
		"identity.clusterID": inCluster, "identity.infraID": inRecert, "identity.kubeadminPasswordHash": inRecert,
		"identity.installConfig": inRecert, "identity.cryptoRetention.*": retained,
	}
}

// A field that is accepted and read by nothing shows on a remote site.
func TestEveryFieldOfASiteHasAnEffect(t *testing.T) {
	fields := effects.Fields(reflect.TypeFor[SiteConfig](), reflect.TypeFor[netstate.Document](), reflect.TypeFor[json.RawMessage]())
	require.Greater(t, len(fields), 60)
	require.Empty(t, effects.Problems(fields, siteRows(), root))
}

// manifest.json is read into a SiteConfig, whose fields act. Each of its fields alone, written with a value, changes that.
func TestEveryFieldOfAManifestIsTheSites(t *testing.T) {
	fields := effects.Fields(reflect.TypeFor[seedReconfiguration](), reflect.TypeFor[json.RawMessage]())
	require.Greater(t, len(fields), 30)
	empty := seedReconfiguration{}.siteConfig()
	for _, f := range fields {
		if f.Path == "api_version" || f.Path == "raw_nm_state_config" {
			continue // TestProblemsOfOlderFormats: the one is checked, the other decoded
		}
		m := seedReconfiguration{}
		require.NoError(t, effects.Plant(reflect.ValueOf(&m).Elem(), f.Path))
		require.NotEqual(t, empty, m.siteConfig(), "%s is read and dropped", f.Path)
	}
}
