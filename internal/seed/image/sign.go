package image

import (
	"bytes"
	"context"
	"crypto"
	"crypto/ecdsa"
	"crypto/rand"
	"crypto/sha256"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"strings"

	"golang.org/x/crypto/nacl/secretbox"
	"golang.org/x/crypto/scrypt"

	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// A signature is what cosign makes: an image beside the signed one, whose layer is a statement and whose annotation is
// the signature (https://github.com/sigstore/cosign/blob/main/specs/SIGNATURE_SPEC.md).
const (
	mediaStatement = "application/vnd.dev.cosign.simplesigning.v1+json"
	noteSignature  = "dev.cosignproject.cosign/signature"
)

// statement is what is signed.
type statement struct {
	Critical struct {
		Identity struct {
			Reference string `json:"docker-reference"`
		} `json:"identity"`
		Image struct {
			Digest string `json:"docker-manifest-digest"`
		} `json:"image"`
		Type string `json:"type"`
	} `json:"critical"`
	Optional map[string]string `json:"optional"`
}

// signatureTag is where the signature of an image is.
func signatureTag(digest string) string { return strings.Replace(digest, ":", "-", 1) + ".sig" }

// Sign publishes a signature of the image beside it.
func Sign(ctx context.Context, r host.Repository, reference, digest string, key crypto.Signer) error {
	var s statement
	s.Critical.Identity.Reference, s.Critical.Image.Digest = reference, digest
	s.Critical.Type = "cosign container image signature"
	data, err := encodeJSON(s)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	signature, err := key.Sign(rand.Reader, sum[:], crypto.SHA256)
	if err != nil {
		return fmt.Errorf("sign %s: %w", digest, err)
	}
	layerDigest, size, err := r.Put(ctx, func(_ context.Context, to io.Writer) error {
		_, err := io.Copy(to, bytes.NewReader(data))
		return err
	})
	if err != nil {
		return err
	}
	var c settings
	c.RootFS.Type, c.RootFS.DiffIDs = "layers", []string{layerDigest}
	config, err := putJSON(ctx, r, mediaConfig, c)
	if err != nil {
		return err
	}
	doc, err := encodeJSON(document{SchemaVersion: 2, MediaType: mediaManifest, Config: config, Layers: []descriptor{{
		MediaType: mediaStatement, Digest: layerDigest, Size: size,
		Annotations: map[string]string{noteSignature: base64.StdEncoding.EncodeToString(signature)},
	}}})
	if err != nil {
		return err
	}
	_, err = r.PutManifest(ctx, signatureTag(digest), mediaManifest, doc)
	return err
}

// ErrUnsigned says that an image has no signature of the key.
var ErrUnsigned = errors.New("the image has no signature of this key")

// maxSignatures bounds how many signatures of an image are read.
const maxSignatures = 100

// VerifySignature proves that the holder of the key signed the image.
func VerifySignature(ctx context.Context, r host.Repository, digest string, key crypto.PublicKey) error {
	public, ok := key.(*ecdsa.PublicKey)
	if !ok {
		return fmt.Errorf("the key is a %T; cosign's are ECDSA keys", key)
	}
	m, err := r.Manifest(ctx, signatureTag(digest))
	if errors.Is(err, host.ErrNoImage) {
		return ErrUnsigned
	}
	if err != nil {
		return err
	}
	var doc document
	if err := json.Unmarshal(m.Data, &doc); err != nil {
		return fmt.Errorf("decode the signature of %s: %w", digest, err)
	}
	if len(doc.Layers) > maxSignatures {
		return fmt.Errorf("%s has %d signatures, of which at most %d are read", digest, len(doc.Layers), maxSignatures)
	}
	for _, l := range doc.Layers {
		ok, err := signedBy(ctx, r, l, digest, public)
		if err != nil || ok {
			return err
		}
	}
	return ErrUnsigned
}

func signedBy(ctx context.Context, r host.Repository, l descriptor, digest string, key *ecdsa.PublicKey) (bool, error) {
	data, err := readBlob(ctx, r, l, configLimit)
	if err != nil {
		return false, err
	}
	signature, _ := base64.StdEncoding.DecodeString(l.Annotations[noteSignature]) // what cannot be decoded verifies nothing
	sum := sha256.Sum256(data)
	if !ecdsa.VerifyASN1(key, sum[:], signature) {
		return false, nil
	}
	var s statement
	return json.Unmarshal(data, &s) == nil && s.Critical.Image.Digest == digest, nil
}

// ParseKey reads a private key in PEM: PKCS #8, EC, or one that cosign encrypted with the password.
func ParseKey(text, password []byte) (crypto.Signer, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the signing key is not in PEM")
	}
	der := block.Bytes
	if strings.HasPrefix(block.Type, "ENCRYPTED ") {
		var err error
		if der, err = decryptKey(der, bytes.TrimRight(password, "\n")); err != nil {
			return nil, fmt.Errorf("decrypt the signing key: %w", err)
		}
	}
	if key, err := x509.ParseECPrivateKey(der); err == nil {
		return key, nil
	}
	key, err := x509.ParsePKCS8PrivateKey(der)
	if err != nil {
		return nil, errors.New("the signing key is neither PKCS #8 nor EC") // the cause may quote it
	}
	signer, ok := key.(*ecdsa.PrivateKey)
	if !ok {
		return nil, fmt.Errorf("the signing key is a %T; cosign's are ECDSA keys", key)
	}
	return signer, nil
}

// sealed is cosign's encrypted key.
type sealed struct {
	KDF struct {
		Name   string `json:"name"`
		Params struct {
			N int `json:"N"`
			R int `json:"r"`
			P int `json:"p"`
		} `json:"params"`
		Salt []byte `json:"salt"`
	} `json:"kdf"`
	Cipher struct {
		Name  string `json:"name"`
		Nonce []byte `json:"nonce"`
	} `json:"cipher"`
	Ciphertext []byte `json:"ciphertext"`
}

func decryptKey(data, password []byte) ([]byte, error) {
	var s sealed
	if err := json.Unmarshal(data, &s); err != nil || s.KDF.Name != "scrypt" ||
		s.Cipher.Name != "nacl/secretbox" || len(s.Cipher.Nonce) != 24 {
		return nil, errors.New("it is encrypted in a way that is not supported")
	}
	raw, err := scrypt.Key(password, s.KDF.Salt, s.KDF.Params.N, s.KDF.Params.R, s.KDF.Params.P, 32)
	if err != nil {
		return nil, fmt.Errorf("derive the key from the password: %w", err)
	}
	out, ok := secretbox.Open(nil, s.Ciphertext, (*[24]byte)(s.Cipher.Nonce), (*[32]byte)(raw))
	if !ok {
		return nil, errors.New("the password is wrong")
	}
	return out, nil
}

// ParsePublicKey reads a public key in PEM.
func ParsePublicKey(text []byte) (crypto.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("the public key is not in PEM")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("decode the public key: %w", err)
	}
	return key, nil
}
