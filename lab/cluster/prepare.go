package cluster

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/documents"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/objects"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/pki"
	"github.com/lifecycle-agent/lifecycle-agent/lab/cluster/site"
)

// preparation fills an etcd data directory on the build host: the programs run on loopback, on ports nobody uses, and are
// gone when prepare returns.
type preparation struct {
	binDir  string
	workDir string // scratch for certificates and logs
	dataDir string // becomes the node's /var/lib/etcd
	src     sources
	site    site.Site
	id      *pki.Identity
	texts   documents.Texts
	mc      documents.MachineConfigs
	log     *slog.Logger
}

const prepareTimeout = 3 * time.Minute

func (p *preparation) run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, prepareTimeout)
	defer cancel()
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	endpoint := fmt.Sprintf("http://127.0.0.1:%d", ports[0])
	etcd, err := p.startEtcd(endpoint, fmt.Sprintf("http://127.0.0.1:%d", ports[1]))
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, etcd.stop()) }()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{endpoint}, DialTimeout: 5 * time.Second, Logger: zap.NewNop()})
	if err != nil {
		return fmt.Errorf("make a client for etcd: %w", err)
	}
	defer client.Close()
	if err := etcd.waitFor(ctx, func(ctx context.Context) error { return etcdAnswers(ctx, client) }); err != nil {
		return err
	}
	if p.texts.EndpointKey, err = memberKey(ctx, client, endpoint); err != nil {
		return err
	}
	if err := p.fill(ctx, endpoint, ports[2]); err != nil {
		return err
	}
	return p.settle(ctx, client, endpoint)
}

func etcdAnswers(ctx context.Context, client *clientv3.Client) error {
	ctx, cancel := context.WithTimeout(ctx, time.Second)
	defer cancel()
	_, err := client.Get(ctx, "/health")
	return err
}

// memberKey is what the etcd operator names the member's endpoint by: its ID in hexadecimal.
func memberKey(ctx context.Context, client *clientv3.Client, endpoint string) (string, error) {
	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return "", fmt.Errorf("ask etcd for its member ID: %w", err)
	}
	return fmt.Sprintf("%x", status.Header.MemberId), nil
}

func (p *preparation) startEtcd(client, peer string) (*process, error) {
	return startProcess("etcd", filepath.Join(p.workDir, "etcd.log"), filepath.Join(p.binDir, "etcd"),
		"--name="+p.site.Hostname, "--data-dir="+p.dataDir, "--log-level=warn", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer,
		"--initial-cluster="+p.site.Hostname+"="+peer)
}

// fill starts a kube-apiserver on the etcd, creates everything and stops it again.
func (p *preparation) fill(ctx context.Context, etcd string, port int) (err error) {
	api, config, err := p.startAPIServer(etcd, port)
	if err != nil {
		return err
	}
	defer func() { err = firstError(err, api.stop()) }()
	clients, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("make a client for kube-apiserver: %w", err)
	}
	if err := api.waitFor(ctx, func(ctx context.Context) error {
		return clients.Discovery().RESTClient().Get().AbsPath("/readyz").Do(ctx).Error()
	}); err != nil {
		return err
	}
	in, err := objects.NewInstaller(config, p.log)
	if err != nil {
		return err
	}
	crds, err := objects.LoadCRDs(p.src.crds)
	if err != nil {
		return err
	}
	if err := in.InstallCRDs(ctx, crds); err != nil {
		return err
	}
	list, err := objects.All(p.site, p.id, p.texts, p.mc)
	if err != nil {
		return err
	}
	roles, err := objects.LoadRBAC(p.src.rbac)
	if err != nil {
		return err
	}
	return in.Create(ctx, append(list, roles...))
}

func (p *preparation) startAPIServer(etcd string, port int) (*process, *rest.Config, error) {
	file := func(name string) string { return filepath.Join(p.workDir, name) }
	server, admin := p.id.Leaves["localhost-serving-cert-certkey"], p.id.Leaves["admin"]
	for name, data := range map[string][]byte{
		"server.crt": server.CertPEM, "server.key": server.KeyPEM, "client-ca.crt": p.id.Bundle("admin"), "sa.key": p.id.BoundSA.KeyPEM,
	} {
		if err := os.WriteFile(file(name), data, 0o600); err != nil {
			return nil, nil, fmt.Errorf("write a file for kube-apiserver: %w", err)
		}
	}
	kc := pki.Kubeconfig(fmt.Sprintf("https://127.0.0.1:%d", port), p.id.Bundle("localhost"), pki.User{Name: "admin", Cert: admin.CertPEM, Key: admin.KeyPEM})
	config, err := clientcmd.RESTConfigFromKubeConfig(kc)
	if err != nil {
		return nil, nil, fmt.Errorf("read back a kubeconfig: %w", err)
	}
	config.QPS, config.Burst = 500, 500
	api, err := startProcess("kube-apiserver", file("kube-apiserver.log"), filepath.Join(p.binDir, "kube-apiserver"),
		"--etcd-servers="+etcd, "--etcd-prefix=kubernetes.io", "--storage-media-type=application/vnd.kubernetes.protobuf",
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", port), "--endpoint-reconciler-type=none",
		"--tls-cert-file="+file("server.crt"), "--tls-private-key-file="+file("server.key"), "--client-ca-file="+file("client-ca.crt"),
		"--authorization-mode=RBAC", "--disable-admission-plugins=ServiceAccount", "--watch-cache=false",
		"--service-cluster-ip-range="+p.site.ServicesSubnet(), "--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+file("sa.key"), "--service-account-signing-key-file="+file("sa.key"), "--shutdown-delay-duration=0s")
	return api, config, err
}

// settle gives the member the address it will have on the node, drops what only this run needed and compacts the rest.
func (p *preparation) settle(ctx context.Context, client *clientv3.Client, endpoint string) error {
	for _, prefix := range []string{"/kubernetes.io/leases/", "/kubernetes.io/events/", "/kubernetes.io/masterleases/", "/kubernetes.io/services/endpoints/default/kubernetes"} {
		if _, err := client.Delete(ctx, prefix, clientv3.WithPrefix()); err != nil {
			return fmt.Errorf("drop %s from etcd: %w", prefix, err)
		}
	}
	status, err := client.Status(ctx, endpoint)
	if err != nil {
		return fmt.Errorf("ask etcd for its status: %w", err)
	}
	if _, err := client.Compact(ctx, status.Header.Revision, clientv3.WithCompactPhysical()); err != nil {
		return fmt.Errorf("compact etcd: %w", err)
	}
	if _, err := client.Defragment(ctx, endpoint); err != nil {
		return fmt.Errorf("defragment etcd: %w", err)
	}
	peer := fmt.Sprintf("https://%s:2380", site.URLHost(p.site.Primary()))
	if _, err := client.MemberUpdate(ctx, status.Header.MemberId, []string{peer}); err != nil {
		return fmt.Errorf("set etcd's peer URL: %w", err)
	}
	return nil
}

func firstError(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
