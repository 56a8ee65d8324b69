package recert

import (
	"bytes"
	"encoding/base64"
	"fmt"
	"strings"
	"testing"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/rules"
)

// returningObjects are an administrator's own, by key, and whether they bring the old address back.
func returningObjects(b *builder) map[string]bool {
	files := func(content string) map[string]any {
		source := "data:;base64," + base64.StdEncoding.EncodeToString([]byte(content))
		return map[string]any{"spec": map[string]any{"config": map[string]any{"storage": map[string]any{"files": []any{
			map[string]any{"path": "/etc/x", "contents": map[string]any{"source": source}}}}}}}
	}
	const mco = "machineconfiguration.openshift.io/machineconfigs/"
	addresses := func(address string) map[string]any {
		return map[string]any{"spec": map[string]any{"addresses": []string{address}}}
	}
	b.json("nmstate.io/nodenetworkconfigurationpolicies/br-ex", map[string]any{"spec": map[string]any{"desiredState": map[string]any{
		"interfaces": []any{map[string]any{"name": "br-ex", "ipv4": map[string]any{"address": []any{map[string]any{"ip": oldV4, "prefix-length": 24}}}}}}}})
	b.json("nmstate.io/nodenetworkconfigurationpolicies/other", addresses(lookalike))
	b.json("metal3.io/baremetalhosts/openshift-machine-api/sno", map[string]any{"spec": map[string]any{"networkData": oldV4}})
	b.json("k8s.ovn.org/egressips/out", map[string]any{"spec": map[string]any{"egressIPs": []string{oldV6}}})
	b.json("metallb.io/ipaddresspools/metallb-system/pool", addresses(oldV4+"-"+lookalike))
	b.json("metallb.io/addresspools/metallb-system/old", addresses(oldV4+"/32"))
	b.json("example.com/things/ns/x", addresses(oldV4))
	b.json(mco+"99-site", files("IP="+oldV4))
	b.json(mco+"rendered-master-1", files("IP="+oldV4))
	return map[string]bool{
		"nmstate.io/nodenetworkconfigurationpolicies/br-ex spec/desiredState/interfaces/0/ipv4/address/0/ip": true,
		"nmstate.io/nodenetworkconfigurationpolicies/other":                                                  false,
		"metal3.io/baremetalhosts/openshift-machine-api/sno spec/networkData":                                true,
		"k8s.ovn.org/egressips/out spec/egressIPs/0":                                                         true,
		"metallb.io/ipaddresspools/metallb-system/pool spec/addresses/0":                                     true,
		"metallb.io/addresspools/metallb-system/old spec/addresses/0":                                        true,
		"example.com/things/ns/x":                    false,
		mco + "99-site spec/config/storage/files/0":  true,
		mco + "rendered-master-1":                    false, // made from the others
		mco + "50-master-dnsmasq-configuration spec": false, // overridden by the change
	}
}

// What an administrator has to change too is named before the outage. It is no reason to refuse.
func TestThePlanWarnsOfWhatBringsTheOldAddressBack(t *testing.T) {
	w := newWorld(t)
	explicit(t, w)
	want := returningObjects(&builder{t: t, w: w})
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil || len(plan.Blocked) > 0 {
		t.Fatalf("%v, blocked %v", err, plan.Blocked)
	}
	for at, warned := range want {
		if strings.Contains(fmt.Sprint(plan.Warnings), rules.StoragePrefix+at) != warned {
			t.Errorf("%s: warned: %t in %v", at, !warned, plan.Warnings)
		}
	}
	var text bytes.Buffer
	if err := plan.WriteText(&text); err != nil || !strings.Contains(text.String(), "br-ex spec/desiredState/interfaces/0/ipv4/address/0/ip: mentions "+oldV4+": nmstate") {
		t.Errorf("%v\n%s", err, text.String())
	}
	applied, err := engine(w).Apply(t.Context(), configPath)
	if err != nil || fmt.Sprint(applied.Warnings) != fmt.Sprint(plan.Warnings) {
		t.Errorf("%v, the run warns of %v", err, applied.Warnings)
	}
	if summary := string(w.files[host.RecertSummary].data); !strings.Contains(summary, "warnings:") || !strings.Contains(summary, "nmstate applies it") {
		t.Errorf("the report says\n%s", summary)
	}
	v := verified(t, w)
	if !v.OK() || strings.Count(fmt.Sprint(v.Leftovers), "/br-ex ") != 1 {
		t.Errorf("problems %v, mentions %v", v.Problems, v.Leftovers)
	}
}

// An object that cannot be read may bring the address back or not: the plan says so, and continues.
func TestThePlanWarnsOfWhatItCannotRead(t *testing.T) {
	w := newWorld(t)
	for i := range 2 {
		key := fmt.Sprintf("%smetal3.io/baremetalhosts/ns/%d", rules.StoragePrefix, i)
		w.keys[key] = host.KeyValue{Key: key, Value: []byte("k8s:enc:aesgcm:v1:1:xxxx"), ModRevision: 1}
	}
	plan, err := engine(w).Plan(t.Context(), mustConfig(t, w))
	if err != nil || len(plan.Blocked) > 0 || !strings.Contains(fmt.Sprint(plan.Warnings), "baremetalhosts.metal3.io 2 stored objects are encrypted at rest") {
		t.Errorf("%v, blocked %v, warnings %v", err, plan.Blocked, plan.Warnings)
	}
}
