package rules

import (
	"fmt"
	"strings"
	"time"

	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/config"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/replace"
	"github.com/lifecycle-agent/lifecycle-agent/internal/recert/wire"
)

// siteRules write what a relocated cluster gets at its site: pull secret, trusted authorities, proxy. Each changes an existing object;
// without the object the plan is blocked.
func siteRules() []ObjectRule {
	return []ObjectRule{
		{Keys: "secrets/openshift-config/pull-secret", Why: "pull secret", Setting: "pull_secret",
			Wanted: func(c config.Config) bool { return c.PullSecret != "" },
			Apply:  setData(".dockerconfigjson", func(c config.Config) string { return c.PullSecret })},
		{Keys: "configmaps/openshift-config/user-ca-bundle", Why: "authorities of the user", Setting: "user_ca_bundle",
			Wanted: func(c config.Config) bool { return c.UserCABundle != "" },
			Apply:  setData("ca-bundle.crt", func(c config.Config) string { return c.UserCABundle })},
		{Keys: "configmaps/openshift-config/*", Why: "authorities of the proxy", Apply: editTrustedCA},
		{Keys: "config.openshift.io/proxies/cluster", Why: "cluster-wide proxy", Setting: "proxy",
			Wanted: func(c config.Config) bool { return c.Proxy != nil || c.TrustedCA != nil },
			Apply:  editProxy},
		{Keys: "machineconfiguration.openshift.io/machineconfigs/*", Why: "file of the machine's configuration", Apply: editMachineConfig},
	}
}

// setData writes one entry of a Secret's or ConfigMap's data.
func setData(entry string, value func(config.Config) string) func(config.Config, replace.Mapping, time.Time, *wire.Object) error {
	return func(cfg config.Config, _ replace.Mapping, _ time.Time, o *wire.Object) error {
		want := value(cfg)
		if want == "" {
			return nil
		}
		return o.Set(map[string]string{"data/" + entry: want})
	}
}

// editTrustedCA writes the bundle into the config map that the configuration names.
func editTrustedCA(cfg config.Config, _ replace.Mapping, _ time.Time, o *wire.Object) error {
	if cfg.TrustedCA == nil || !strings.HasSuffix(o.Key, "/configmaps/openshift-config/"+cfg.TrustedCA.Name) {
		return nil
	}
	return o.Set(map[string]string{"data/ca-bundle.crt": cfg.TrustedCA.PEM})
}

// editProxy writes the fields that the Proxy has; a missing one cannot be added in place.
func editProxy(cfg config.Config, _ replace.Mapping, _ time.Time, o *wire.Object) error {
	fields := map[string]string{}
	if p := cfg.Proxy; p != nil {
		fields = map[string]string{"spec/httpProxy": p.HTTP, "spec/httpsProxy": p.HTTPS, "spec/noProxy": p.No,
			"status/httpProxy": p.StatusHTTP, "status/httpsProxy": p.StatusHTTPS, "status/noProxy": p.StatusNo}
	}
	if cfg.TrustedCA != nil {
		fields["spec/trustedCA/name"] = cfg.TrustedCA.Name
	}
	if len(fields) == 0 {
		return nil
	}
	if err := o.Set(fields); err != nil {
		return fmt.Errorf("proxy: %w; only a cluster installed behind a proxy can be moved behind one", err)
	}
	return nil
}
