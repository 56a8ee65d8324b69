package main

import (
	"context"
	"fmt"
	"log/slog"
	"net/netip"
	"os"
	"path/filepath"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// node is this machine as the agent sees it.
type node struct {
	root       string
	name       string
	binDir     string
	addressDir string
	log        *slog.Logger
}

const (
	manifestDir    = "/etc/kubernetes/manifests"
	kubeconfigFile = "/etc/kubernetes/kubeconfig"
)

// run brings the node up and keeps it until ctx ends, which is a clean end whenever it comes.
func (n *node) run(ctx context.Context) error {
	ips, err := waitAddresses(ctx, n.addressDir)
	if ctx.Err() != nil {
		return nil
	}
	if err != nil {
		return err
	}
	pods, err := readManifests(n.path(manifestDir))
	if err != nil {
		return err
	}
	var children []*child
	// Stopped in reverse: the API server goes while its etcd still answers.
	defer func() {
		for i := len(children) - 1; i >= 0; i-- {
			children[i].stop()
		}
	}()
	for _, pod := range pods {
		commands, err := n.commands(pod, ips[0])
		if err != nil {
			return err
		}
		for _, c := range commands {
			children = append(children, startChild(c, n.log))
		}
	}
	if err := n.serve(ctx, pods, ips); ctx.Err() == nil {
		return err
	}
	return nil
}

// serve registers the node once the API answers, and keeps it registered.
func (n *node) serve(ctx context.Context, pods []staticPod, ips []netip.Addr) error {
	clients, err := n.client()
	if err != nil {
		return err
	}
	if err := waitReady(ctx, clients, n.log); err != nil {
		return err
	}
	r := registrar{clients: clients, name: n.name, ips: ips, pods: pods, log: n.log, started: time.Now()}
	// Tearing etcd and the API server down would not help against a server that is still settling.
	for err := r.register(ctx); err != nil; err = r.register(ctx) {
		n.log.Warn("the node could not be registered, trying again", "error", err)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(time.Second):
		}
	}
	n.log.Info("node is ready", "node", n.name, "address", ips[0].String())
	if _, err := daemon.SdNotify(false, daemon.SdNotifyReady+"\nSTATUS=node "+n.name+" is Ready"); err != nil {
		return fmt.Errorf("tell systemd that the node is ready: %w", err)
	}
	r.heartbeat(ctx)
	_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	return nil
}

func (n *node) path(p string) string { return filepath.Join(n.root, p) }

// client uses the kubelet's own credentials, and its server name, so that the node's DNS is part of what must work.
func (n *node) client() (*kubernetes.Clientset, error) {
	file := n.path(kubeconfigFile)
	loaded, err := clientcmd.LoadFromFile(file)
	if err != nil {
		return nil, fmt.Errorf("read the kubelet's kubeconfig: %w", err)
	}
	rebase(loaded, n.root)
	config, err := clientcmd.NewDefaultClientConfig(*loaded, nil).ClientConfig()
	if err != nil {
		return nil, fmt.Errorf("use the kubelet's kubeconfig: %w", err)
	}
	config.Timeout = 10 * time.Second
	config.UserAgent = "nodelet"
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("make a client from the kubelet's kubeconfig: %w", err)
	}
	return clients, nil
}

// rebase puts root before the files a kubeconfig names.
func rebase(config *clientcmdapi.Config, root string) {
	move := func(p *string) {
		if *p != "" {
			*p = inRoot(root, *p)
		}
	}
	for _, user := range config.AuthInfos {
		move(&user.ClientCertificate)
		move(&user.ClientKey)
	}
	for _, cluster := range config.Clusters {
		move(&cluster.CertificateAuthority)
	}
}

// inRoot is the path of a file below root, whose last element may be an absolute link: the kubelet's "current" certificates are.
func inRoot(root, path string) string {
	full := filepath.Join(root, path)
	if target, err := os.Readlink(full); err == nil && filepath.IsAbs(target) {
		return filepath.Join(root, target)
	}
	return full
}
