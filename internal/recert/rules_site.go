package recert

import (
	"fmt"
	"strings"
	"time"
)

// siteRules write what a cluster made elsewhere gets at its site: pull secret, authorities to trust, proxy. Each changes
// objects that are there; a cluster that has none of them cannot take the setting, and the run says so.
func siteRules() []objectRule {
	return []objectRule{
		{keys: "secrets/openshift-config/pull-secret", why: "pull secret", setting: "pull_secret",
			wanted: func(c Config) bool { return c.PullSecret != "" },
			apply:  setData(".dockerconfigjson", func(c Config) string { return c.PullSecret })},
		{keys: "configmaps/openshift-config/user-ca-bundle", why: "authorities of the user", setting: "user_ca_bundle",
			wanted: func(c Config) bool { return c.UserCABundle != "" },
			apply:  setData("ca-bundle.crt", func(c Config) string { return c.UserCABundle })},
		{keys: "configmaps/openshift-config/*", why: "authorities of the proxy", apply: editTrustedCA},
		{keys: "config.openshift.io/proxies/cluster", why: "cluster-wide proxy", setting: "proxy",
			wanted: func(c Config) bool { return c.Proxy != nil || c.TrustedCA != nil },
			apply:  editProxy},
		{keys: "machineconfiguration.openshift.io/machineconfigs/*", why: "file of the machine's configuration", apply: editMachineConfig},
	}
}

// refuseHomeless blocks a plan that has something to write and no object to write it into. Machine networks are a note in the plan alone:
// a cluster that was not made by the installer works without them.
func (s *scan) refuseHomeless() {
	for _, r := range objectRules() {
		if r.setting != "" && r.wanted(s.cfg) && !s.met[r.keys] {
			s.refuseMissing(r.keys, r.setting)
		}
	}
	if ca := s.cfg.TrustedCA; ca != nil && !s.met["configmaps/openshift-config/"+ca.Name] {
		s.refuseMissing("configmaps/openshift-config/"+ca.Name, "proxy_trusted_ca_bundle")
	}
	if len(s.cfg.MachineNetworks) > 0 && !s.met[installConfig] {
		const why = "comes to nothing: the cluster holds no install-config to write it into"
		s.plan.Kept = append(s.plan.Kept, Note{"machine_network_cidr", why})
	}
	if s.cfg.Chrony != "" && !s.met[chronyFile] {
		s.plan.Blocked = append(s.plan.Blocked, Note{chronyFile, "chrony_config has nothing to be written into: the file is not there"})
	}
}

func (s *scan) refuseMissing(name, setting string) {
	s.plan.Blocked = append(s.plan.Blocked, Note{storagePrefix + name,
		setting + " has nothing to be written into: the object is not there"})
}

// setData writes one entry of a Secret's or ConfigMap's data.
func setData(entry string, value func(Config) string) func(Config, Mapping, time.Time, *object) error {
	return func(cfg Config, _ Mapping, _ time.Time, o *object) error {
		want := value(cfg)
		if want == "" {
			return nil
		}
		return o.set(map[string]string{"data/" + entry: want})
	}
}

// set writes texts that the object has, by path; an empty one need not be there.
func (o *object) set(texts map[string]string) error {
	missing := map[string]bool{}
	for path, text := range texts {
		if text != "" {
			missing[path] = true
		}
	}
	err := o.edit(func(at []string, text string) (string, bool) {
		path := strings.Join(at, "/")
		want, ok := texts[path]
		delete(missing, path)
		return want, ok && want != text
	})
	if err != nil {
		return err
	}
	for path := range missing {
		return fmt.Errorf("%s has no %s to write into", o.key, path)
	}
	return nil
}

// editTrustedCA writes the bundle into the config map that the configuration names.
func editTrustedCA(cfg Config, _ Mapping, _ time.Time, o *object) error {
	if cfg.TrustedCA == nil || !strings.HasSuffix(o.key, "/configmaps/openshift-config/"+cfg.TrustedCA.Name) {
		return nil
	}
	return o.set(map[string]string{"data/ca-bundle.crt": cfg.TrustedCA.PEM})
}

// editProxy writes the fields that the Proxy has. One that it lacks cannot be added: the clusters that are moved behind a
// proxy are made behind one.
func editProxy(cfg Config, _ Mapping, _ time.Time, o *object) error {
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
	if err := o.set(fields); err != nil {
		return fmt.Errorf("proxy: %w; a cluster has to be made behind a proxy to be moved behind one", err)
	}
	return nil
}
