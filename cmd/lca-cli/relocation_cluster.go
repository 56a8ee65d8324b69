package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"math/big"
	"strings"
	"time"

	configv1 "github.com/openshift/api/config/v1"
	"golang.org/x/crypto/bcrypt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster/kube"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/reconcile"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// siteCluster is this node's API server as a relocation needs it.
type siteCluster struct{ localCluster }

// Facts implements factory.Cluster.
func (c siteCluster) Facts(ctx context.Context) (relocation.Facts, error) {
	api, err := c.newClient()
	if err != nil {
		return relocation.Facts{}, err
	}
	ic, err := cluster.ReadInstallConfig(ctx, api)
	if err != nil {
		return relocation.Facts{}, fmt.Errorf("read the install-config: %w", err)
	}
	f := relocation.Facts{ControlPlaneNodes: 1, ClusterName: ic.ClusterName, BaseDomain: ic.BaseDomain, Version: clusterVersion(ctx, api)}
	node, err := cluster.SingleNode(ctx, api)
	var topology *cluster.TopologyError
	if errors.As(err, &topology) {
		f.ControlPlaneNodes, f.OtherNodes, err = topology.ControlPlane, topology.Workers, nil
	}
	if node == nil || err != nil {
		return f, err
	}
	f.Node = node.Name
	for _, a := range cluster.InternalIPs(node) {
		f.Addresses = append(f.Addresses, a)
		if n, ok := ic.MachineNetworkOf(a); ok {
			f.MachineNetworks = append(f.MachineNetworks, n)
		}
	}
	return f, nil
}

// clusterVersion is OpenShift's; empty where the cluster does not say.
func clusterVersion(ctx context.Context, api kube.Reader) string {
	var v configv1.ClusterVersion
	if err := api.Get(ctx, kube.Key{Name: "version"}, &v); err != nil {
		return ""
	}
	return v.Status.Desired.Version
}

// Healthy implements factory.Cluster and onsite.Cluster.
func (c siteCluster) Healthy(ctx context.Context) error {
	api, err := c.newClient()
	if err != nil {
		return err
	}
	if r := cluster.Health(ctx, api); !r.Healthy() {
		return errors.New(r.String())
	}
	return nil
}

// Apply implements onsite.Cluster.
func (c siteCluster) Apply(ctx context.Context, part string, want siteconfig.SiteConfig) (string, error) {
	p, ok := reconcile.Find(part)
	if !ok {
		return "", fmt.Errorf("%q is not a part of a site's configuration", part)
	}
	api, err := c.newClient()
	if err != nil {
		return "", err
	}
	r := reconcile.Reconciler{Client: api, Now: time.Now, Rand: rand.Reader, Hub: cluster.DialHub}
	out, err := r.Apply(ctx, p, want)
	return out.Attention, err
}

// The password of kubeadmin has the form that the installer gives it: four groups of five.
const (
	passwordGroups  = 4
	passwordLetters = 5
	passwordSet     = "23456789abcdefghijkmnpqrstuvwxyzABCDEFGHIJKLMNPQRSTUVWXYZ"
)

// newKubeadminPassword draws a password and hashes it.
func newKubeadminPassword() (password, hash string, err error) {
	groups := make([]string, passwordGroups)
	for i := range groups {
		for range passwordLetters {
			n, err := rand.Int(rand.Reader, big.NewInt(int64(len(passwordSet))))
			if err != nil {
				return "", "", fmt.Errorf("draw a password: %w", err)
			}
			groups[i] += passwordSet[n.Int64() : n.Int64()+1]
		}
	}
	password = strings.Join(groups, "-")
	sum, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.DefaultCost)
	if err != nil {
		return "", "", fmt.Errorf("hash the password: %w", err)
	}
	return password, string(sum), nil
}
