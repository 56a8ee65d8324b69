// Package registry runs a real registry of container images on the LAN of a lab: Debian's docker-registry, with TLS and a
// password. Registries on several LANs may share one storage: what one lab's node publishes, another lab's node fetches.
//
// Scenarios call it. It imports the lab's network alone.
package registry

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/crypto/bcrypt"
	"k8s.io/client-go/util/cert"

	"github.com/lifecycle-agent/lifecycle-agent/lab/network"
)

const (
	// Program is what has to be installed.
	Program = "docker-registry"
	// Port is where the registry listens.
	Port = 5000

	user        = "lab"
	startWithin = time.Minute
	pollEvery   = 100 * time.Millisecond
)

// Store is what registries share: the images, the certificate and the password. Make one with NewStore.
type Store struct {
	// Dir holds everything; the caller removes it.
	Dir string
	// Name is the host name that the certificate is for.
	Name     string
	password string
}

// NewStore makes a certificate and a password for registries with that name and those addresses.
func NewStore(dir, name, password string, addresses ...netip.Addr) (*Store, error) {
	s := &Store{Dir: dir, Name: name, password: password}
	var ips []net.IP
	for _, a := range addresses {
		ips = append(ips, a.AsSlice())
	}
	certificate, key, err := cert.GenerateSelfSignedCertKey(name, ips, nil)
	if err != nil {
		return nil, fmt.Errorf("make the registry's certificate: %w", err)
	}
	hash, err := bcrypt.GenerateFromPassword([]byte(password), bcrypt.MinCost)
	if err != nil {
		return nil, fmt.Errorf("hash the registry's password: %w", err)
	}
	files := map[string][]byte{"tls.crt": certificate, "tls.key": key, "htpasswd": fmt.Appendf(nil, "%s:%s\n", user, hash)}
	for file, text := range files {
		if err := os.WriteFile(filepath.Join(dir, file), text, 0o600); err != nil {
			return nil, fmt.Errorf("write the registry's %s: %w", file, err)
		}
	}
	return s, nil
}

// Image is the pull specification of a repository and tag.
func (s *Store) Image(repository string) string {
	return fmt.Sprintf("%s:%d/%s", s.Name, Port, repository)
}

// AuthFile is a containers auth.json with the password.
func (s *Store) AuthFile() ([]byte, error) {
	auth := base64.StdEncoding.EncodeToString([]byte(user + ":" + s.password))
	return json.Marshal(map[string]any{"auths": map[string]any{fmt.Sprintf("%s:%d", s.Name, Port): map[string]string{"auth": auth}}})
}

// Authority is the certificate of the authority that signed the registries', in PEM.
func (s *Store) Authority() ([]byte, error) {
	text, err := os.ReadFile(filepath.Join(s.Dir, "tls.crt"))
	if err != nil {
		return nil, fmt.Errorf("read the registry's certificate: %w", err)
	}
	_, rest := pem.Decode(text)
	authority, _ := pem.Decode(rest)
	if authority == nil {
		return nil, errors.New("the registry's certificate comes without its authority")
	}
	return pem.EncodeToMemory(authority), nil
}

// Registry is a registry that runs.
type Registry struct {
	cmd   *exec.Cmd
	ended chan error
	log   string
}

// Start runs a registry on a LAN and returns once it answers at an address there. Stop ends it.
func (s *Store) Start(ctx context.Context, lan network.Network, at netip.Addr) (*Registry, error) {
	r := &Registry{ended: make(chan error, 1), log: filepath.Join(s.Dir, lan.Name+".log")}
	config := filepath.Join(s.Dir, lan.Name+".json")
	if err := os.WriteFile(config, s.config(), 0o600); err != nil {
		return nil, fmt.Errorf("write the registry's configuration: %w", err)
	}
	log, err := os.Create(r.log)
	if err != nil {
		return nil, fmt.Errorf("make the registry's log: %w", err)
	}
	defer log.Close()
	r.cmd = exec.Command("ip", "netns", "exec", lan.LAN(), Program, "serve", config) // it ends by Stop, not with ctx
	r.cmd.Stdout, r.cmd.Stderr = log, log
	if err := r.cmd.Start(); err != nil {
		return nil, fmt.Errorf("start %s: %w", Program, err)
	}
	go func() { r.ended <- r.cmd.Wait() }()
	if err := r.answers(ctx, lan, at); err != nil {
		return nil, errors.Join(err, r.Stop())
	}
	return r, nil
}

// config is JSON, which is YAML too.
func (s *Store) config() []byte {
	in := func(file string) string { return filepath.Join(s.Dir, file) }
	type object = map[string]any
	text, _ := json.Marshal(object{ // strings and numbers alone
		"version": 0.1,
		"log":     object{"level": "info"},
		"storage": object{"filesystem": object{"rootdirectory": in("images")}, "delete": object{"enabled": true}},
		"auth":    object{"htpasswd": object{"realm": "lab", "path": in("htpasswd")}},
		"http": object{"addr": fmt.Sprintf(":%d", Port), "secret": s.password,
			"tls": object{"certificate": in("tls.crt"), "key": in("tls.key")}},
	})
	return text
}

// answers waits for the registry to ask for a password.
func (r *Registry) answers(ctx context.Context, lan network.Network, at netip.Addr) error {
	ctx, cancel := context.WithTimeout(ctx, startWithin)
	defer cancel()
	// Who signed the certificate is the product's to verify, not the wait's.
	client := &http.Client{Transport: &http.Transport{DialContext: lan.DialContext, DisableKeepAlives: true,
		TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // see above
	for {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+netip.AddrPortFrom(at, Port).String()+"/v2/", nil)
		if err != nil {
			return fmt.Errorf("ask the registry: %w", err)
		}
		response, err := client.Do(request)
		if err == nil {
			response.Body.Close()
			if response.StatusCode == http.StatusUnauthorized {
				return nil
			}
			err = errors.New(response.Status)
		}
		select {
		case ended := <-r.ended:
			r.ended <- ended
			return fmt.Errorf("the registry ended, see %s: %w", r.log, ended)
		case <-ctx.Done():
			return fmt.Errorf("the registry does not answer, see %s: %w", r.log, err)
		case <-time.After(pollEvery):
		}
	}
}

// Stop ends the registry.
func (r *Registry) Stop() error {
	if err := r.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop the registry: %w", err)
	}
	if err := <-r.ended; r.cmd.ProcessState == nil {
		return fmt.Errorf("stop the registry: %w", err)
	}
	return nil // that it ended by the signal is no error
}
