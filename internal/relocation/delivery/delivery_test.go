package delivery_test

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/delivery"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

const config = "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: site-1\n"

func files(pairs ...string) fstest.MapFS {
	out := fstest.MapFS{}
	for i := 0; i < len(pairs); i += 2 {
		out[pairs[i]] = &fstest.MapFile{Data: []byte(pairs[i+1])}
	}
	return out
}

func stick(n, label string) host.Volume {
	return host.Volume{Device: "/dev/sd" + n + "1", Disk: "sd" + n, Label: label, Filesystem: "vfat", Model: "Stick " + n}
}

func TestWhatAFolderYields(t *testing.T) {
	link := files("site-config.yaml", "/etc/shadow")
	link["site-config.yaml"].Mode = fs.ModeSymlink
	device := files("site-config.yaml", "")
	device["site-config.yaml"].Mode = fs.ModeDevice
	folderLink := files("site-config.yaml", config, "cluster-configuration", "/etc")
	folderLink["cluster-configuration"].Mode = fs.ModeSymlink
	many := files("site-config.yaml", config)
	for i := range 300 {
		many["extra-manifests/"+strings.Repeat("a", i+1)+".yaml"] = &fstest.MapFile{}
	}
	for name, k := range map[string]struct {
		files fstest.MapFS
		want  string // error or problem; empty for none
	}{
		"plain":           {files("site-config.yaml", config), ""},
		"capitals":        {files("SITE-CONFIG.YAML", config, "System Volume Information/x", "y", "._site-config.yaml", "\x00"), ""},
		"with folders":    {files("cluster-configuration/manifest.json", `{"api_version":1}`, "x/y", ""), ""},
		"folder in caps":  {files("CLUSTER-configuration/Site-Config.yaml", config, "x/y", ""), ""},
		"none":            {files("readme.txt", ""), "no configuration file: a file with the name site-config.yaml is expected"},
		"two":             {files("site-config.yaml", config, "manifest.json", "{}"), "there is more than one configuration file: manifest.json, site-config.yaml; keep one"},
		"two by case":     {files("site-config.yaml", config, "Site-Config.yaml", config), "there is more than one"},
		"link":            {link, "read site-config.yaml: it is not a regular file"},
		"device":          {device, "read site-config.yaml: it is not a regular file"},
		"link as folder":  {folderLink, ""},
		"huge":            {files("site-config.yaml", strings.Repeat("#", siteconfig.MaxSize+1)), "it is longer than 4194304 bytes"},
		"many files":      {many, "there are more than 256 files"},
		"bad manifest":    {files("site-config.yaml", config, "extra-manifests/a.yaml", "kind: Pod"), `extra-manifests/a.yaml object[0]: "Pod": must be an object with apiVersion, kind and metadata.name`},
		"bad connection":  {files("site-config.yaml", config, "network-configuration/system-connections/a.nmconnection", "x"), "connections[0].content: must be a NetworkManager keyfile"},
		"wrong and apart": {files("site-config.yaml", config+"x: 1"), "x: is not a known key"},
	} {
		t.Run(name, func(t *testing.T) {
			f, err := delivery.ReadFolder(k.files)
			switch {
			case k.want == "":
				require.NoError(t, err)
				require.Empty(t, f.Problems)
			case err != nil:
				require.ErrorContains(t, err, k.want)
			default:
				require.Len(t, f.Problems, 1)
				require.Contains(t, f.Problems[0].String(), k.want)
			}
		})
	}
}

func TestFilesBesideTheConfiguration(t *testing.T) {
	f, err := delivery.ReadFolder(files("cluster-configuration/manifest.json", `{"api_version":1}`,
		"Network-Configuration/system-connections/eno1.nmconnection", "[connection]\nid=eno1\n",
		"cluster-configuration/manifests/b.yaml", "apiVersion: v1\nkind: A\nmetadata: {name: b}\n---\napiVersion: v1\nkind: A\nmetadata: {name: c}\n",
		"extra-manifests/a.json", `{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`, "extra-manifests/readme.txt", "x"))
	require.NoError(t, err)
	require.Empty(t, f.Problems)
	require.Equal(t, "eno1.nmconnection", f.Config.Connections[0].Name)
	require.Len(t, f.Config.Manifests, 3)
}

func TestWhereItIsFound(t *testing.T) {
	directory := delivery.Directory{Path: "/etc/site-config", Files: files("site-config.yaml", config)}
	twice := stick("a", "SITE-CONFIG")
	twice.Device = "/dev/sda"
	for name, k := range map[string]struct {
		sticks []host.Volume
		dirs   []delivery.Directory
		place  string
		code   sitecode.Code
		err    string
	}{
		"nothing":            {err: "no site configuration found"},
		"directory":          {dirs: []delivery.Directory{{Path: "/none", Files: files()}, directory}, place: "/etc/site-config"},
		"stick":              {sticks: []host.Volume{stick("a", "SITE-CONFIG"), stick("b", "DATA")}, dirs: []delivery.Directory{directory}, place: `volume "SITE-CONFIG" on /dev/sda1 (Stick a)`},
		"older label":        {sticks: []host.Volume{stick("a", "cluster-config")}, place: `volume "cluster-config" on /dev/sda1 (Stick a)`},
		"oldest label":       {sticks: []host.Volume{stick("a", "relocation-config")}, place: `volume "relocation-config" on /dev/sda1 (Stick a)`},
		"disk and partition": {sticks: []host.Volume{twice, stick("a", "SITE-CONFIG")}, place: `volume "SITE-CONFIG" on /dev/sda (Stick a)`},
		"two sticks": {sticks: []host.Volume{stick("a", "SITE-CONFIG"), stick("b", "site-config")}, code: sitecode.ConfigTwice,
			err: `volume "SITE-CONFIG" on /dev/sda1 (Stick a) and volume "site-config" on /dev/sdb1 (Stick b): more than one volume holds a site configuration; remove all but one`},
	} {
		t.Run(name, func(t *testing.T) {
			v := &hosttest.Volumes{}
			for _, s := range k.sticks {
				v.Plug(s, files("site-config.yaml", config))
			}
			d, err := delivery.Finder{Volumes: v, Directories: k.dirs}.Find(t.Context())
			if k.err != "" {
				require.EqualError(t, err, k.err)
				var coded *delivery.Error
				require.Equal(t, k.code != "", errors.As(err, &coded) && coded.Code == k.code)
				return
			}
			require.NoError(t, err)
			require.Equal(t, k.place, d.Place)
			require.Equal(t, "site-1", d.Config.Hostname)
		})
	}
}

// A configuration whose network is silent keeps its place; another stick beside it is newer, and of two that are silent the later one.
func TestAStickBesideASilentOneIsNewer(t *testing.T) {
	v := &hosttest.Volumes{}
	var silent []string
	f := delivery.Finder{Volumes: v, Silent: func(c siteconfig.SiteConfig) int { return slices.Index(silent, c.Hostname) }}
	find := func() string {
		d, err := f.Find(t.Context())
		if err != nil {
			require.ErrorContains(t, err, "more than one volume")
			return "refused"
		}
		return d.Config.Hostname
	}
	plug := func(n, name string) {
		v.Plug(stick(n, "SITE-CONFIG"), files("site-config.yaml", strings.Replace(config, "site-1", name, 1)))
	}
	plug("a", "site-a")
	require.Equal(t, "site-a", find())
	plug("b", "site-b")
	require.Equal(t, "refused", find(), "neither was tried")
	silent = []string{"site-a"}
	require.Equal(t, "site-b", find())
	silent = append(silent, "site-b")
	require.Equal(t, "site-b", find(), "the one that came last")
	plug("c", "site-c")
	require.Equal(t, "site-c", find())
	plug("d", "site-d")
	require.Equal(t, "refused", find(), "two are new")
	v.Unplug("/dev/sdd1")
	v.Unplug("/dev/sdc1")
	v.Unplug("/dev/sdb1")
	require.Equal(t, "site-a", find(), "it keeps its place")
}

// Whenever the stick is pulled, the answer is that it was, and plugged in again it is read.
func TestAStickPulledWhileItIsRead(t *testing.T) {
	pulled := 0
	for n := 1; ; n++ {
		v := &hosttest.Volumes{}
		plug := func() { v.Plug(stick("a", "SITE-CONFIG"), files("site-config.yaml", config)) }
		plug()
		v.UnplugAllAfter(n)
		f := delivery.Finder{Volumes: v}
		_, err := f.Find(t.Context())
		if err == nil {
			break
		}
		pulled++
		var coded *delivery.Error
		require.ErrorAs(t, err, &coded)
		require.Equal(t, sitecode.ConfigLost, coded.Code)
		require.ErrorContains(t, err, "it was removed while it was read; plug it in again and leave it")
		plug()
		d, err := f.Find(t.Context())
		require.NoError(t, err)
		require.Equal(t, "site-1", d.Config.Hostname)
	}
	require.Greater(t, pulled, 3)
}

// A technician's afternoon: nothing, a wrong file, two sticks, the right one.
func TestAwait(t *testing.T) {
	v := &hosttest.Volumes{}
	next := []func(){
		func() { v.Plug(stick("b", "SITE-CONFIG"), files("site-config.yaml", config)) },
		func() { v.Unplug("/dev/sda1") },
	}
	var reports []string
	v.Plug(stick("a", "SITE-CONFIG"), files("site-config.yaml", config+"x: 1\n"))
	d, err := delivery.Finder{Volumes: v}.Await(t.Context(), func(err error) error {
		reports = append(reports, err.Error())
		next[0]()
		next = next[1:]
		return nil
	})
	require.NoError(t, err)
	require.Contains(t, d.Place, "/dev/sdb1")
	require.Len(t, reports, 2)
	require.Contains(t, reports[0], "site-config.yaml is refused; line 4: x: is not a known key")
	require.Contains(t, reports[1], "more than one volume")

	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = delivery.Finder{Volumes: &hosttest.Volumes{}}.Await(ctx, nil)
	require.ErrorIs(t, err, context.Canceled)
}
