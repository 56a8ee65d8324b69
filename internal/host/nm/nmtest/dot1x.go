package nmtest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"path/filepath"
	"time"
)

// Authenticator is what a switch asks of cards (IEEE 802.1X), and the files with which one answers.
type Authenticator struct {
	// CA signed both, Cert and Key are the client's; Key is sealed with Password, which is that of the identity for PEAP, too.
	CA, Cert, Key      string
	Identity, Password string
}

// hostapd's settings for a cable: sources are hostapd.conf(5) and its example of a file of users.
const hostapdConfig = `driver=wired
ieee8021x=1
eap_server=1
logger_stdout=-1
use_pae_group_addr=1
`

// ServeDot1X runs hostapd at the far end of a link until the test ends. The test is skipped where there is none.
func (n *Node) ServeDot1X(link string) Authenticator {
	n.t.Helper()
	n.needsProgram("hostapd")
	program, err := findBinary("hostapd")
	n.must(err)
	dir := n.t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	out := Authenticator{
		CA: at("ca.crt"), Cert: at("client.crt"), Key: at("client.key"), Identity: "node.example.org", Password: "open-sesame",
	}
	ca := n.makeCertificate(out.CA, at("ca.key"), "authority", "", nil)
	n.makeCertificate(at("server.crt"), at("server.key"), "switch.example.org", "", ca)
	n.makeCertificate(out.Cert, out.Key, out.Identity, out.Password, ca)
	n.writeFile(at("users"), "\""+out.Identity+"\" TLS,PEAP\n\""+out.Identity+"\" MSCHAPV2 \""+out.Password+"\" [2]\n")
	n.writeFile(at("hostapd.conf"), hostapdConfig+"interface="+link+"p\neap_user_file="+at("users")+"\nca_cert="+out.CA+"\nserver_cert="+
		at("server.crt")+"\nprivate_key="+at("server.key")+"\n")
	n.startBackground("ip", "netns", "exec", peer, program, at("hostapd.conf"))
	return out
}

// issuer signs certificates.
type issuer struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
}

// makeCertificate writes a certificate and its key, sealed where there is a password; without an issuer it is an authority.
func (n *Node) makeCertificate(certFile, keyFile, name, password string, by *issuer) *issuer {
	n.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	n.must(err)
	serial, err := rand.Int(rand.Reader, big.NewInt(1<<62))
	n.must(err)
	cert := &x509.Certificate{
		SerialNumber: serial, Subject: pkix.Name{CommonName: name}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		BasicConstraintsValid: true, IsCA: by == nil, KeyUsage: x509.KeyUsageDigitalSignature,
	}
	if by == nil {
		cert.KeyUsage |= x509.KeyUsageCertSign
		by = &issuer{cert: cert, key: key}
	}
	signed, err := x509.CreateCertificate(rand.Reader, cert, by.cert, &key.PublicKey, by.key)
	n.must(err)
	n.writeFile(certFile, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	plain, err := x509.MarshalECPrivateKey(key)
	n.must(err)
	block := &pem.Block{Type: "EC PRIVATE KEY", Bytes: plain}
	if password != "" {
		//nolint:staticcheck // insecure by design, and what wpa_supplicant and the documents of the field know
		block, err = x509.EncryptPEMBlock(rand.Reader, block.Type, plain, []byte(password), x509.PEMCipherAES256)
		n.must(err)
	}
	n.writeFile(keyFile, string(pem.EncodeToMemory(block)))
	return &issuer{cert: cert, key: key}
}
