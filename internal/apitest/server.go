package apitest

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/go-logr/logr"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/log"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
)

// assetsVariable names the environment variable that overrides the directory
// of the binaries. It is the one that envtest itself uses.
const assetsVariable = "KUBEBUILDER_ASSETS"

// CAPIClaims is the pattern of the Cluster API's claims and addresses, which the product does not install by default.
const CAPIClaims = "../../components/capi-ipam/ipam.*.yaml"

// Nmstate is the pattern of the policies, enactments and states of nmstate.io, which config/default leaves to kubernetes-nmstate where
// that has them.
const Nmstate = "../../components/nmstate/nmstate.io_*.yaml"

// Relocation is the pattern of ClusterRelocation, which config/default leaves to a component.
const Relocation = "../../components/relocation/rhsyseng.github.io_*.yaml"

// startTimeout is generous because test packages start their servers side by
// side, often on two cores.
const startTimeout = 2 * time.Minute

// Options says what the server of a test package holds.
type Options struct {
	// CRDs are glob patterns of files below config/crd/bases; none means all.
	CRDs []string

	// OpenShiftCRDs are the names of OpenShift's definitions to install, such as
	// "clusteroperators.config.openshift.io".
	OpenShiftCRDs []string

	// ModuleCRDs are glob patterns of further definitions, by the Go module that carries them.
	ModuleCRDs map[string][]string

	// Edit changes each definition before it is installed; nil changes none.
	Edit func(*apiextensionsv1.CustomResourceDefinition)

	// AddToScheme registers further types with the scheme of the client. The
	// types of Kubernetes and of lca.openshift.io/v1 are always registered.
	AddToScheme []func(*runtime.Scheme) error
}

// Server is a running API server with the definitions installed.
type Server struct {
	// Config connects as a member of system:masters.
	Config *rest.Config

	// Scheme holds the types that Client knows.
	Scheme *runtime.Scheme

	// Client reads and writes without a cache.
	Client client.WithWatch
}

// Shared is the one server of a test package. It is started when first asked
// for and stopped by Run.
type Shared struct {
	options Options
	once    sync.Once
	env     *envtest.Environment
	server  *Server
	missing string
	err     error
}

// New prepares a server without starting it.
func New(options Options) *Shared {
	return &Shared{options: options}
}

// Run runs the tests of the package, stops the server if one was started, and
// returns the exit code for os.Exit.
func (s *Shared) Run(m *testing.M) int {
	code := m.Run()
	if err := s.Stop(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return max(code, 1)
	}
	return code
}

// Stop stops a server that one test alone has started.
func (s *Shared) Stop() error {
	if s.env == nil {
		return nil
	}
	if err := s.env.Stop(); err != nil {
		return fmt.Errorf("stop the API server: %w", err)
	}
	return nil
}

// Server returns the server of the package, started if need be. It skips the
// test in a short run and when the binaries are missing, and fails it when they do not start.
func (s *Shared) Server(t testing.TB) *Server {
	t.Helper()
	if testing.Short() {
		t.Skip("reason: needs an API server; run without -short")
	}
	t.Attr("uses", "API server")
	s.once.Do(s.start)
	if s.missing != "" {
		t.Skipf("reason: no API server to test against, %s is missing; run make controlplane", s.missing)
	}
	if s.err != nil {
		t.Fatalf("start the API server: %v", s.err)
	}
	return s.server
}

// start brings the processes up and installs the definitions.
func (s *Shared) start() {
	root, err := moduleRoot()
	if err != nil {
		s.err = err
		return
	}
	assets := os.Getenv(assetsVariable)
	if assets == "" {
		assets = filepath.Join(root, "build", "bin")
	}
	if s.missing = missingBinary(assets); s.missing != "" {
		return
	}
	s.server, s.err = s.launch(root, assets)
}

// launch starts the binaries in assets and returns a client for them.
func (s *Shared) launch(root, assets string) (*Server, error) {
	scheme, err := newScheme(s.options.AddToScheme)
	if err != nil {
		return nil, err
	}
	crds, err := definitions(root, s.options)
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if s.options.Edit != nil {
			s.options.Edit(crd)
		}
	}
	log.SetLogger(logr.Discard())
	env := &envtest.Environment{
		Scheme:                   scheme,
		CRDs:                     crds,
		BinaryAssetsDirectory:    assets,
		ControlPlaneStartTimeout: startTimeout,
		ControlPlaneStopTimeout:  startTimeout,
	}
	// Without this the server looks for a default route to learn its own
	// address, and a machine without one could not run the tests.
	env.ControlPlane.GetAPIServer().Configure().Set("advertise-address", "127.0.0.1")
	config, err := env.Start()
	s.env = env
	if err != nil {
		return nil, fmt.Errorf("start etcd and kube-apiserver from %s: %w", assets, err)
	}
	c, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("create a client: %w", err)
	}
	return &Server{Config: config, Scheme: scheme, Client: c}, nil
}

// newScheme returns a scheme with the types of Kubernetes, CRDs and IPConfig,
// and those that add registers.
func newScheme(add []func(*runtime.Scheme) error) (*runtime.Scheme, error) {
	scheme := runtime.NewScheme()
	all := append([]func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, lcav1.AddToScheme,
	}, add...)
	for _, register := range all {
		if err := register(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	return scheme, nil
}

// missingBinary returns the path of the first binary that is not in dir, or "".
func missingBinary(dir string) string {
	for _, name := range []string{"etcd", "kube-apiserver"} {
		path := filepath.Join(dir, name)
		if _, err := os.Stat(path); err != nil {
			return path
		}
	}
	return ""
}

// moduleRoot returns the directory of go.work, which is that of the product's module, at or above the working directory,
// which in a test is the directory of its package.
func moduleRoot() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", fmt.Errorf("find the module: %w", err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.work")); err == nil {
			return dir, nil
		}
		parent := filepath.Dir(dir)
		if parent == dir {
			return "", fmt.Errorf("find the module: no go.work at or above the working directory")
		}
		dir = parent
	}
}
