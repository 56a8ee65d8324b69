package seed

import (
	"context"
	"errors"
	"strings"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/seed/secretscan"
)

// Request says which image to make. The controller writes it to RequestFile.
type Request struct {
	OperationID string `json:"operation-id"`
	// SeedImage is the pull specification to publish as, with a tag.
	SeedImage string `json:"seed-image"`
	// RecertImage is recorded in the image for the node that restores it; empty for none.
	RecertImage string `json:"recert-image,omitempty"`
	// AuthFile is where the credentials of the registry are; normally the constant of that name, empty for none.
	AuthFile string `json:"auth-file,omitempty"`
	// CABundle is PEM text of authorities that sign the registry's certificate, beside the system's; empty for none.
	CABundle string `json:"ca-bundle,omitempty"`
	// Sign signs the image with SigningKeyFile.
	Sign bool `json:"sign,omitempty"`
	// Cluster is what the image says of the cluster.
	Cluster ClusterInfo `json:"cluster-info"`
	// Images are pull specifications to list in the image beside those that the node has; the related images of
	// installed operators, for instance.
	Images []string `json:"images,omitempty"`
	// ExcludeImages are pull specifications that the list must not have: the images of catalogs.
	ExcludeImages []string `json:"exclude-images,omitempty"`
	// Drop are objects that the image must not have, beside those of Shipped.
	Drop []Object `json:"drop,omitempty"`
	// Rulings are the user's decisions about secrets that are found.
	Rulings []secretscan.Ruling `json:"secret-decisions,omitempty"`
	// Kubelet's and others' own configuration of CPUs, for the target to compare; the node fills what is empty.
	Node NodeFacts `json:"node-facts,omitzero"`
}

// Object selects objects of the cluster. Each field may have the wildcards of path.Match.
type Object struct {
	// Group is the API group; empty for a group of Kubernetes' own.
	Group string `json:"group,omitempty"`
	// Resource is the plural name.
	Resource string `json:"resource"`
	// An empty Namespace means cluster-scoped or every namespace, an empty Name every object.
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name,omitempty"`
}

// ClusterInfo is manifest.json of the image, and its label seed_cluster_info. The keys are a contract with every program
// that reads seed images.
type ClusterInfo struct {
	OCPVersion  string `json:"seed_cluster_ocp_version"`
	BaseDomain  string `json:"base_domain"`
	ClusterName string `json:"cluster_name"`
	// NodeIP is the first of NodeIPs, for readers that know no other.
	NodeIP                   string      `json:"node_ip"`
	NodeIPs                  []string    `json:"node_ips"`
	ReleaseRegistry          string      `json:"release_registry"`
	MirrorRegistryConfigured bool        `json:"mirror_registry_configured"`
	SNOHostname              string      `json:"sno_hostname"`
	RecertImage              string      `json:"recert_image_pull_spec"`
	HasProxy                 bool        `json:"has_proxy"`
	ClusterNetworks          []string    `json:"cluster_network_cidr"`
	ServiceNetworks          []string    `json:"service_network_cidr"`
	HasFIPS                  bool        `json:"has_fips"`
	TrustBundle              TrustBundle `json:"additionalTrustBundle"`
	// ContainerStorageTarget is what is mounted at /var/lib/containers: What= of its mount unit.
	ContainerStorageTarget string   `json:"container_storage_mountpoint_target"`
	IngressCN              string   `json:"ingress_certificate_cn"`
	MachineNetworks        []string `json:"machine_networks"`
}

// TrustBundle says which additional authorities the cluster trusts.
type TrustBundle struct {
	HasUserCABundle    bool   `json:"hasUserCaBundle"`
	ProxyConfigMapName string `json:"proxyConfigmapName"`
}

// NodeFacts are facts of the machine that a target must share, or that restoring needs.
type NodeFacts struct {
	CPUs     int    `json:"cpus,omitempty"`
	Cores    int    `json:"cores,omitempty"`
	Sockets  int    `json:"sockets,omitempty"`
	Reserved string `json:"reserved_cpus,omitempty"`
	Isolated string `json:"isolated_cpus,omitempty"`
	FIPS     bool   `json:"fips"`
	Arch     string `json:"architecture,omitempty"`
	InfraID  string `json:"infra_id,omitempty"`
}

// ErrNoRequest says that no seed image was requested.
var ErrNoRequest = errors.New("no seed image was requested")

// CreateKind is the generation as an operation; package create adds its plan.
func CreateKind() operation.Kind[Request] {
	return operation.Kind[Request]{
		Name: FlowCreate, RequestFile: RequestFile, Unit: UnitCreate, AcrossBoots: true, Missing: ErrNoRequest,
		Credentials: []string{AuthFile, SigningKeyFile, SigningPasswordFile},
		WayOut:      "The image is published; only the cluster did not come back in time: see 'oc get clusteroperators'",
		EndedBy:     "'lca-cli seed abort'",
		Salvage:     func(id, _ string) Request { return Request{OperationID: id} },
		ID:          func(r Request) string { return r.OperationID },
		Validate:    Request.Validate,
	}
}

// ReadRequest loads the request; ErrNoRequest where there is none.
func ReadRequest(files host.Files) (Request, error) { return CreateKind().Read(files) }

// WriteRequest stores a valid request.
func WriteRequest(ctx context.Context, in operation.Intake, r Request) error {
	return CreateKind().Store(ctx, in, r)
}

// Validate refuses what could never be carried out; the error matches operation.ErrRefused.
func (r Request) Validate() error {
	switch {
	case r.OperationID == "":
		return operation.Refuse("%s: operation-id is missing", RequestFile)
	case r.SeedImage == "":
		return operation.Refuse("%s: seed-image is missing: give registry/repository:tag", RequestFile)
	case strings.Contains(r.SeedImage, "@"):
		return operation.Refuse("%s: seed-image %s has a digest: give a tag, the digest is the result", RequestFile, r.SeedImage)
	}
	for i, d := range r.Rulings {
		if problem := d.Problem(); problem != "" {
			return operation.Refuse("%s: secret-decisions %d: %s", RequestFile, i+1, problem)
		}
	}
	for _, o := range r.Drop {
		if o.Resource == "" {
			return operation.Refuse("%s: an entry of drop has no resource", RequestFile)
		}
	}
	return nil
}
