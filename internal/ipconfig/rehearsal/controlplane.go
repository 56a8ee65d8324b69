package rehearsal

import (
	"context"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/ipconfig"
)

const (
	// startTimeout bounds the wait for a server of the copy: it runs at the lowest priority.
	startTimeout  = 10 * time.Minute
	startInterval = time.Second
	etcdPort      = 2379
	apiPort       = 6443
	// maxOutput is how much of a server's output a message has.
	maxOutput = 600
)

// Files of the copy.
const (
	apiManifest = "/etc/kubernetes/manifests/kube-apiserver-pod.yaml"
	etcdCerts   = "/etc/kubernetes/static-pod-resources/etcd-certs/secrets/etcd-all-certs"
	etcdBundle  = "/etc/kubernetes/static-pod-resources/etcd-certs/configmaps/etcd-all-bundles/server-ca-bundle.crt"
)

// runCopy starts the control plane of the copy on the new addresses, and proves it.
func (h *rehearsal) runCopy(ctx context.Context) error {
	families, err := h.request.Change.Families()
	if err != nil {
		return err
	}
	families = ipconfig.PrimaryFirst(families, netip.Addr{})
	c := &controlPlane{rehearsal: h, files: h.Copies.Files(Root)}
	for _, f := range families {
		c.own = append(c.own, f.Prefix())
	}
	for _, p := range []struct {
		name string
		try  func(context.Context) (string, error)
	}{
		{ProofEtcd, c.startEtcd}, {ProofAPI, c.startAPI}, {ProofAPIName, c.askByName}, {ProofNode, c.readNode},
	} {
		if err := h.prove(ctx, p.name, p.try); err != nil {
			return err
		}
	}
	return h.removeControlPlane(ctx)
}

// controlPlane is that of the copy.
type controlPlane struct {
	*rehearsal
	files host.Files
	own   []netip.Prefix
}

func (c *controlPlane) newContainer(manifest, name string) host.StaticContainer {
	return host.StaticContainer{Manifest: manifest, Name: name, HostIP: c.own[0].Addr()}
}

// startEtcd starts the copied etcd and asks it for its health on each address.
func (c *controlPlane) startEtcd(ctx context.Context) (string, error) {
	if err := c.requireMemory(); err != nil {
		return "", err
	}
	if err := c.ControlPlane.Remove(ctx); err != nil {
		return "", err
	}
	if err := c.ControlPlane.Isolate(ctx, c.own); err != nil {
		return "", err
	}
	q, err := c.etcdQuestion()
	if err != nil {
		return "", err
	}
	etcd := c.newContainer(host.EtcdPodManifest, "etcd")
	if err := c.ControlPlane.Start(ctx, Root, etcd); err != nil {
		return "", err
	}
	return c.awaitReady(ctx, etcd, q, etcdPort)
}

// etcdQuestion asks for etcd's health with the certificate of its own peer.
func (c *controlPlane) etcdQuestion() (q host.Question, err error) {
	names, err := c.files.List(etcdCerts)
	if err != nil {
		return q, fmt.Errorf("find a client certificate for etcd: %w", err)
	}
	i := slices.IndexFunc(names, func(n string) bool { return strings.HasPrefix(n, "etcd-peer-") && strings.HasSuffix(n, ".crt") })
	if i < 0 {
		return q, fmt.Errorf("no client certificate for etcd in %s", etcdCerts)
	}
	pair := strings.TrimSuffix(path.Join(etcdCerts, names[i]), ".crt")
	q.Path = "/health"
	for file, into := range map[string]*[]byte{pair + ".crt": &q.Certificate, pair + ".key": &q.Key, etcdBundle: &q.Authorities} {
		if *into, err = c.files.Read(file); err != nil {
			return q, fmt.Errorf("read a client certificate for etcd: %w", err)
		}
	}
	return q, nil
}

// startAPI starts kube-apiserver over the copied etcd, and waits until it is ready on each address.
func (c *controlPlane) startAPI(ctx context.Context) (string, error) {
	k, err := readKubeconfig(c.files, host.LBExtKubeconfig)
	if err != nil {
		return "", err
	}
	api := c.newContainer(apiManifest, "kube-apiserver")
	if err := c.ControlPlane.Start(ctx, Root, api); err != nil {
		return "", err
	}
	q := k.newQuestion("/readyz?verbose")
	q.Authorities = append(q.Authorities, c.readAuthorities()...)
	return c.awaitReady(ctx, api, q, apiPort)
}

// readAuthorities are those that clients on the node verify the API server by. Where there are none, the kubeconfig's remain.
func (c *controlPlane) readAuthorities() []byte {
	text, err := c.files.Read("/etc/kubernetes/ca.crt")
	if err != nil {
		return nil
	}
	return append([]byte("\n"), text...)
}

// awaitReady asks on each address until the server answers 200. A certificate that is not for the address is final, and so is the end of
// the server.
func (c *controlPlane) awaitReady(ctx context.Context, s host.StaticContainer, q host.Question, port uint16) (string, error) {
	deadline := c.Clock.Now().Add(startTimeout)
	var said []string
	for i := 0; i < len(c.own); {
		q.At = netip.AddrPortFrom(c.own[i].Addr(), port)
		reply, err := c.ControlPlane.Ask(ctx, q)
		if err == nil && reply.Status == http.StatusOK {
			said = append(said, fmt.Sprintf("https://%s%s answers, its certificate is valid for the address", q.At, q.Path))
			i++
			continue
		}
		if err == nil {
			err = fmt.Errorf("%s answers %d: %s", q.At, reply.Status, failedChecks(reply.Body))
		}
		output, running, oerr := c.ControlPlane.Output(ctx, s)
		switch {
		case ctx.Err() != nil:
			return "", ctx.Err()
		case isWrongCertificate(err):
			return "", err
		case oerr == nil && !running:
			return "", fmt.Errorf("%s has ended; it says: %s", s.Name, explainOutput(output))
		case c.Clock.Now().After(deadline):
			return "", fmt.Errorf("%s was not ready within %s: %w; it says: %s", s.Name, startTimeout, err, explainOutput(output))
		}
		if err := c.Clock.Sleep(ctx, startInterval); err != nil {
			return "", err
		}
	}
	return strings.Join(said, "; "), nil
}

func isWrongCertificate(err error) bool {
	var name x509.HostnameError
	var authority x509.UnknownAuthorityError
	var invalid x509.CertificateInvalidError
	return errors.As(err, &name) || errors.As(err, &authority) || errors.As(err, &invalid)
}

// failedChecks are those of a list as /readyz?verbose gives it.
func failedChecks(body []byte) string {
	var failed []string
	for line := range strings.Lines(string(body)) {
		if strings.HasPrefix(line, "[-]") {
			failed = append(failed, strings.TrimSpace(line))
		}
	}
	if len(failed) == 0 {
		return cutOutput(string(body))
	}
	return strings.Join(failed, ", ")
}

// maxCauses is how many lines of a server's output a message has.
const maxCauses = 3

// explainOutput keeps the last lines that name a failure, and the end of an output that has none.
func explainOutput(text string) string {
	var causes []string
	for line := range strings.Lines(text) {
		small := strings.ToLower(line)
		if slices.ContainsFunc([]string{"error", "err=", "failed", "invalid", "fatal", "panic", "unknown"}, func(mark string) bool {
			return strings.Contains(small, mark)
		}) && !strings.Contains(line, "FLAG:") && !strings.HasPrefix(line, " ") {
			causes = append(causes, cutOutput(line))
		}
	}
	if len(causes) == 0 {
		return cutOutput(text)
	}
	return strings.Join(causes[max(len(causes)-maxCauses, 0):], "; ")
}

// cutOutput keeps the end.
func cutOutput(text string) string {
	text = strings.TrimSpace(text)
	if len(text) > maxOutput {
		text = "..." + text[len(text)-maxOutput:]
	}
	return strings.ToValidUTF8(text, "?")
}

// askByName asks as a client does that knows the API by its name.
func (c *controlPlane) askByName(ctx context.Context) (string, error) {
	k, err := readKubeconfig(c.files, host.LBExtKubeconfig)
	if err != nil {
		return "", err
	}
	q := k.newQuestion("/readyz")
	q.At, q.ServerName = netip.AddrPortFrom(c.own[0].Addr(), apiPort), k.serverName
	if _, err := c.ControlPlane.Ask(ctx, q); err != nil {
		return "", err
	}
	return "the certificate for " + k.serverName + " is valid", nil
}

// readNode reads the Node objects from the copy's API.
func (c *controlPlane) readNode(ctx context.Context) (string, error) {
	k, err := readKubeconfig(c.files, host.LBExtKubeconfig)
	if err != nil {
		return "", err
	}
	q := k.newQuestion("/api/v1/nodes")
	q.At, q.ServerName = netip.AddrPortFrom(c.own[0].Addr(), apiPort), k.serverName
	reply, err := c.ControlPlane.Ask(ctx, q)
	if err != nil {
		return "", err
	}
	if reply.Status != http.StatusOK {
		return "", fmt.Errorf("the API answers %d: %s", reply.Status, cutOutput(string(reply.Body)))
	}
	var list struct {
		Items []struct {
			Metadata struct{ Name string }
			Status   struct {
				Addresses []struct{ Type, Address string }
			}
		}
	}
	if err := json.Unmarshal(reply.Body, &list); err != nil {
		return "", fmt.Errorf("decode the Node objects: %w", err)
	}
	var have []string
	for _, n := range list.Items {
		for _, a := range n.Status.Addresses {
			have = append(have, a.Address)
		}
	}
	if len(list.Items) == 0 {
		return "", &unprovedError{"the cluster has no Node object"}
	}
	for _, p := range c.own {
		if !slices.Contains(have, p.Addr().String()) {
			return "", fmt.Errorf("no Node has the address %s; there are %s", p.Addr(), strings.Join(have, ", "))
		}
	}
	return strings.Join(have, ", "), nil
}
