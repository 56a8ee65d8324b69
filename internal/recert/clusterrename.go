package recert

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// ClusterName is what cluster_rename asks for.
type ClusterName struct {
	Name, Domain string
	// InfraID is empty where the cluster's own stays.
	InfraID string
}

// ClusterRenaming is the cluster's old zone (NAME.DOMAIN) and identifier of infrastructure, and what takes their place. Its zero
// value renames nothing.
type ClusterRenaming struct {
	Zone  Renaming `json:"zone"`
	Infra Renaming `json:"infraID"`
}

func (c ClusterRenaming) empty() bool { return c.Zone.empty() && c.Infra.empty() }

// readCluster reads "NAME:DOMAIN" or "NAME:DOMAIN:INFRAID".
func readCluster(c *Config, raw json.RawMessage) error {
	var text string
	if err := json.Unmarshal(raw, &text); err != nil || text == "" {
		return err
	}
	parts := strings.Split(text, ":")
	if len(parts) < 2 || len(parts) > 3 {
		return fmt.Errorf("%q is not \"name:domain\" or \"name:domain:infraID\"", text)
	}
	named := &ClusterName{Name: parts[0], Domain: parts[1]}
	if wrong := validation.IsDNS1123Label(named.Name); len(wrong) > 0 {
		return fmt.Errorf("the name %q cannot be a cluster's: %s", named.Name, wrong[0])
	}
	if wrong := validation.IsDNS1123Subdomain(named.Domain); len(wrong) > 0 {
		return fmt.Errorf("the domain %q cannot be a cluster's: %s", named.Domain, wrong[0])
	}
	if len(parts) == 3 {
		if wrong := validation.IsDNS1123Label(parts[2]); len(wrong) > 0 {
			return fmt.Errorf("the identifier %q cannot be an infrastructure's: %s", parts[2], wrong[0])
		}
		named.InfraID = parts[2]
	}
	c.Cluster = named
	return nil
}

// The objects that say what the cluster is called. They are written last, so that a run that died finds the old names in them.
const (
	clusterDNS   = "config.openshift.io/dnses/cluster"
	clusterInfra = "config.openshift.io/infrastructures/cluster"
)

func saysTheName(key string) bool {
	return key == storagePrefix+clusterDNS || key == storagePrefix+clusterInfra
}

// resolveCluster learns what the cluster is called.
func resolveCluster(ctx context.Context, cfg Config, store host.OpenKeystore) (ClusterRenaming, error) {
	if cfg.Cluster == nil {
		return ClusterRenaming{}, nil
	}
	zone, err := textAt(ctx, store, clusterDNS, "spec/baseDomain")
	if err != nil {
		return ClusterRenaming{}, err
	}
	infra, err := textAt(ctx, store, clusterInfra, "status/infrastructureName")
	if err != nil {
		return ClusterRenaming{}, err
	}
	if zone == "" || infra == "" {
		return ClusterRenaming{}, errors.New("cluster_rename: DNS cluster (spec.baseDomain) and " +
			"Infrastructure cluster (status.infrastructureName) must say what the cluster is called now, and one of them does not")
	}
	out := ClusterRenaming{Zone: Renaming{zone, cfg.Cluster.Name + "." + cfg.Cluster.Domain}, Infra: Renaming{infra, infra}}
	if cfg.Cluster.InfraID != "" {
		out.Infra.New = cfg.Cluster.InfraID
	}
	return out, nil
}

// textAt is one text of one object; empty if it is not there.
func textAt(ctx context.Context, store host.OpenKeystore, name, field string) (text string, err error) {
	err = store.Range(ctx, storagePrefix+name, func(kv host.KeyValue) error {
		if kv.Key != storagePrefix+name {
			return nil
		}
		o, err := newObject(kv)
		if err != nil {
			return err
		}
		return o.walk(func(at []string, value string) {
			if matchPath(fieldPath(field), at) {
				text = value
			}
		})
	})
	return text, err
}

// host maps a name in the cluster's zone, or the zone itself.
func (c ClusterRenaming) host(name string) (string, bool) {
	if c.Zone.empty() {
		return name, false
	}
	below, ok := strings.CutSuffix(name, c.Zone.Old)
	if !ok || below != "" && !strings.HasSuffix(below, ".") {
		return name, false
	}
	return below + c.Zone.New, true
}

// text maps the names in the zone that a text has as whole words: bare, in a URL, behind a wildcard.
func (c ClusterRenaming) text(text string) string {
	if c.Zone.empty() || !strings.Contains(text, c.Zone.Old) {
		return text
	}
	return mapNames(text, c.host)
}

// mentions says that a text still has the old zone.
func (c ClusterRenaming) mentions(text string) bool {
	return !strings.HasSuffix(c.Zone.New, "."+c.Zone.Old) && c.text(text) != text
}

// editClusterName writes the cluster's name and domain into the installer's input.
func editClusterName(cfg Config, _ Mapping, _ time.Time, o *object) error {
	if cfg.Cluster == nil {
		return nil
	}
	fields := map[string]string{"metadata/name": cfg.Cluster.Name, "baseDomain": cfg.Cluster.Domain}
	return o.editText("data/install-config", func(text string) (string, error) {
		return editYAML(text, func(at []string, value string) (string, bool) {
			want, ok := fields[strings.Join(at, "/")]
			return want, ok && want != value
		})
	})
}

// editText changes one text of an object.
func (o *object) editText(path string, change func(string) (string, error)) error {
	var failed error
	err := o.edit(func(at []string, text string) (string, bool) {
		if !matchPath(fieldPath(path), at) {
			return text, false
		}
		edited, err := change(text)
		if err != nil {
			failed = fmt.Errorf("%s of %s: %w", path, o.key, err)
			return text, false
		}
		return edited, edited != text
	})
	return errors.Join(err, failed)
}

// apiServerFile is what the kubelet learns the API's name from. The machine's configuration carries it.
const apiServerFile = "/etc/kubernetes/apiserver-url.env"

// editAPIServerFile maps the zone in the copies of that file in a machine's configuration.
func editAPIServerFile(_ Config, m Mapping, _ time.Time, o *object) error {
	if m.cluster.Zone.empty() {
		return nil
	}
	targets, err := machineFileSources(map[string]string{apiServerFile: ""}, o.walk)
	if err != nil {
		return fmt.Errorf("%s: %w", o.key, err)
	}
	return o.edit(zoneInSources(targets, m))
}

func zoneInSources(targets map[string]string, m Mapping) visitor {
	return func(at []string, text string) (string, bool) {
		if _, ok := targets[strings.Join(at, "/")]; !ok {
			return text, false
		}
		edited := editDataURLs(text, m.cluster.text)
		return edited, edited != text
	}
}

// zoneInMachineFile does the same for a machine's configuration that lies on disk.
func zoneInMachineFile(m Mapping, text string) (string, error) {
	if m.cluster.Zone.empty() || !isJSON(text) {
		return text, nil
	}
	targets, err := machineFileSources(map[string]string{apiServerFile: ""}, func(see func([]string, string)) error {
		_, err := editJSON([]byte(text), func(at []string, value string) (string, bool) { see(at, value); return "", false })
		return err
	})
	if err != nil || len(targets) == 0 {
		return text, err
	}
	out, err := editJSON([]byte(text), zoneInSources(targets, m))
	return string(out), err
}
