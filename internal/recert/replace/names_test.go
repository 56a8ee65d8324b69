package replace

import (
	"testing"
)

func TestZoneText(t *testing.T) {
	c := Cluster{Zone: Name{"c.example.com", "x.c.example.com"}}
	for text, want := range map[string]string{
		"https://api.c.example.com:6443/x":                                                   "https://api.x.c.example.com:6443/x",
		"*.apps.c.example.com,c.example.com. 'c.example.com'":                                "*.apps.x.c.example.com,x.c.example.com. 'x.c.example.com'",
		"abc.example.com a-c.example.com c.example.com.evil c.example.community example.com": "",
	} {
		if want == "" {
			want = text
		}
		if got := c.Text(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

func TestNodeWords(t *testing.T) {
	n := Name{"sno-1", "b.example.com"}
	for text, want := range map[string]string{
		"etcd-peer-sno-1.crt":                       "etcd-peer-b.example.com.crt",
		"x=/a/etcd-serving-metrics-sno-1.key.":      "x=/a/etcd-serving-metrics-b.example.com.key.",
		"etcd-serving-sno-1, etcd-peer-sno-1.":      "etcd-serving-b.example.com, etcd-peer-b.example.com.",
		"${NODE_sno_1_IP} $NODE_sno_1_ETCD_NAME":    "${NODE_b_example_com_IP} $NODE_b_example_com_ETCD_NAME",
		"etcd-peer-sno-10.crt etcd-peer-sno-1.x":    "",
		"my-etcd-peer-sno-1.crt etcd-peer-sno-1_":   "",
		"NODE_sno_1_2_IP NODE_sno_1_IPS MY_sno_1":   "",
		"the bare sno-1 may be any word: sno-1.crt": "",
	} {
		if want == "" {
			want = text
		}
		if got := n.Words(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}

func TestNodeNamesInCertificates(t *testing.T) {
	n := Name{"sno", "b"}
	for text, want := range map[string]string{"sno": "b", "system:node:sno": "system:node:b", "system:ovn-node:sno": "system:ovn-node:b",
		"system:node:sno2": "", "mysno": "", "sno.example.com": "", "x:sno": "", "system:nosno": ""} {
		if got, ok := n.mapName(text); ok != (want != "") || ok && got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}
