package host

import (
	"context"
	"errors"
	"fmt"
	"io"
)

// Outcomes of talking to a registry, for errors.Is.
var (
	// ErrNoImage: the registry does not have it.
	ErrNoImage = errors.New("the registry does not have it")
	// ErrRegistryDenied: the credentials are missing, wrong or do not suffice; a retry does not help.
	ErrRegistryDenied = errors.New("the registry denies access")
	// ErrRegistryLogin: of these, it does not accept the credentials. ErrRegistryForbidden: of these, they do not suffice.
	ErrRegistryLogin     = fmt.Errorf("%w: it does not accept the credentials", ErrRegistryDenied)
	ErrRegistryForbidden = fmt.Errorf("%w: the credentials do not suffice", ErrRegistryDenied)
	// ErrRegistryFull: the registry has no room.
	ErrRegistryFull = errors.New("the registry has no space left")
	// ErrRegistryAway: it cannot be reached, answers nothing or breaks off.
	ErrRegistryAway = errors.New("the registry cannot be reached")
	// ErrRegistryTrust: its certificate is signed by no authority that this node trusts; a retry does not help.
	ErrRegistryTrust = errors.New("the registry's certificate is not trusted")
	// ErrRegistryClock: of these, it is signed by one, and not valid at the time that this node's clock says.
	ErrRegistryClock = fmt.Errorf("%w: it is not valid at the time of this node's clock", ErrRegistryTrust)
	// ErrRegistryPlain: it answers without TLS; a retry does not help.
	ErrRegistryPlain = errors.New("the registry answers over http alone")
)

// RegistryAccess says which repository to open and how.
type RegistryAccess struct {
	// Image is a pull specification; its tag or digest does not matter here.
	Image string
	// AuthFile is a containers auth.json on the node; empty, or a missing file, for none.
	AuthFile string
	// CABundle is PEM text of authorities to trust beside the node's.
	CABundle string
	// Push asks for the right to write.
	Push bool
}

// Registries are the image registries that the node can reach.
type Registries interface {
	// Open connects to the registry and proves the credentials.
	Open(ctx context.Context, a RegistryAccess) (Repository, error)
}

// Repository is one repository of a registry. Digests have their algorithm, as in "sha256:...". Errors match one of the
// outcomes above where it is known.
type Repository interface {
	// Has reports whether the blob is there.
	Has(ctx context.Context, digest string) (bool, error)
	// Put uploads a blob in pieces, resumes after an interruption, and returns its digest. write may be called several
	// times and must write the same bytes each time.
	Put(ctx context.Context, write func(context.Context, io.Writer) error) (digest string, size int64, err error)
	// Get reads a blob of the size that its descriptor has; the reader resumes after an interruption that let it make
	// progress, and ends with an error where the content does not match the digest, is longer or shorter.
	Get(ctx context.Context, digest string, size int64) (io.ReadCloser, error)
	// PutManifest stores a manifest under a tag and returns its digest.
	PutManifest(ctx context.Context, tag, mediaType string, data []byte) (digest string, err error)
	// Manifest reads the one of a tag or digest. One whose content does not match the digest is an error.
	Manifest(ctx context.Context, tagOrDigest string) (Manifest, error)
}

// Manifest is an image's manifest as the registry has it.
type Manifest struct {
	MediaType, Digest string
	Data              []byte
}
