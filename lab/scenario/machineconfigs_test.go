//go:build lab

package scenario

import (
	"context"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	mcv1 "github.com/openshift/api/machineconfiguration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/lifecycle-agent/lifecycle-agent/lab"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/nodefiles"
	"github.com/lifecycle-agent/lifecycle-agent/lab/machine"
)

// renderMachineConfigs stands in for operators on a node at an address. That of machine configs: each pool gets every MachineConfig
// of its role; what is in them is not written to the node. That of the cluster's version: it observes what is asked for, such as
// another cluster ID. It ends with the test, and goes on while the node reboots.
func renderMachineConfigs(ctx context.Context, t *testing.T, l *lab.Lab, at netip.Addr) {
	t.Helper()
	ctx, cancel := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		for tick := time.NewTicker(2 * time.Second); ; {
			select {
			case <-ctx.Done():
				tick.Stop()
				return
			case <-tick.C:
				_ = renderPools(ctx, l, at) // the node may be down, or not be there yet
			}
		}
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

func renderPools(ctx context.Context, l *lab.Lab, at netip.Addr) error {
	api, err := localAPI(ctx, l, at)
	if err != nil {
		return err
	}
	pools, configs := &mcv1.MachineConfigPoolList{}, &mcv1.MachineConfigList{}
	if err := api.List(ctx, pools); err != nil {
		return err
	}
	if err := api.List(ctx, configs); err != nil {
		return err
	}
	for i := range pools.Items {
		if err := renderPool(ctx, api, &pools.Items[i], configs.Items); err != nil {
			return err
		}
	}
	return observeVersion(ctx, api)
}

func observeVersion(ctx context.Context, api client.Client) error {
	v := &configv1.ClusterVersion{}
	if err := api.Get(ctx, client.ObjectKey{Name: "version"}, v); err != nil {
		return err
	}
	if v.Status.ObservedGeneration == v.Generation {
		return nil
	}
	v.Status.ObservedGeneration = v.Generation
	return api.Status().Update(ctx, v)
}

// renderPool gives a pool the MachineConfigs that it lacks.
func renderPool(ctx context.Context, api client.Client, p *mcv1.MachineConfigPool, configs []mcv1.MachineConfig) error {
	selector, err := metav1.LabelSelectorAsSelector(p.Spec.MachineConfigSelector)
	if err != nil {
		return err
	}
	source := slices.Clone(p.Spec.Configuration.Source)
	for _, c := range configs {
		named := func(o corev1.ObjectReference) bool { return o.Name == c.Name }
		if selector.Matches(labels.Set(c.Labels)) && !strings.HasPrefix(c.Name, "rendered-") && !slices.ContainsFunc(source, named) {
			source = append(source, corev1.ObjectReference{Kind: "MachineConfig", APIVersion: mcv1.GroupVersion.String(), Name: c.Name})
		}
	}
	if len(source) > len(p.Spec.Configuration.Source) {
		p.Spec.Configuration.Source = source
		if err := api.Update(ctx, p); err != nil {
			return err
		}
	}
	if p.Status.ObservedGeneration == p.Generation && len(p.Status.Configuration.Source) == len(source) {
		return nil
	}
	p.Status.Configuration, p.Status.ObservedGeneration = *p.Spec.Configuration.DeepCopy(), p.Generation
	return api.Status().Update(ctx, p)
}

// localAPI connects with the credentials that the node keeps for itself: they follow each change of its authorities.
func localAPI(ctx context.Context, l *lab.Lab, at netip.Addr) (client.Client, error) {
	text, err := machine.Output(ctx, l.Machine, "cat", nodefiles.KubeconfigDir+"/localhost.kubeconfig")
	if err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(text))
	if err != nil {
		return nil, err
	}
	config.Host, config.Dial = "https://"+netip.AddrPortFrom(at, 6443).String(), l.Net.DialContext
	config.ServerName, config.Timeout = "localhost", 10*time.Second
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{mcv1.Install, configv1.Install} {
		if err := add(scheme); err != nil {
			return nil, err
		}
	}
	return client.New(config, client.Options{Scheme: scheme})
}
