package ipconfig

import (
	"context"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/log"

	lcav1 "github.com/lifecycle-agent/lifecycle-agent/api/lca/v1"
	"github.com/lifecycle-agent/lifecycle-agent/internal/cluster"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
)

// expiryMargin is how long before its certificates expire a stateroot no longer counts
// as one that comes back by itself.
const expiryMargin = 30 * time.Minute

// seeExpiry finds out, once per operation, until when a rollback is safe.
// It is advice: where it cannot be found out, the operation goes on without.
func (r *Reconciler) seeExpiry(ctx context.Context, ipc *lcav1.IPConfig, o *observation) {
	if ipc.Status.RollbackAvailabilityExpiration != nil || !o.canReturn() {
		return
	}
	earliest, err := kubeletExpiry(r.Node.Files, o.request.OldStateroot)
	if err != nil {
		log.FromContext(ctx).V(1).Info("expiry of the old stateroot's certificates is not known", "reason", err.Error())
		return
	}
	o.returnUntil = earliest.Add(-expiryMargin)
}

// kubeletExpiry is the earliest expiry of the kubelet's client and serving certificates in a
// stateroot that does not run.
func kubeletExpiry(files host.Files, stateroot string) (time.Time, error) {
	var pems [][]byte
	for _, current := range []string{host.KubeletClientCert, host.KubeletServingCert} {
		file, err := currentCertificate(files, host.InVar(stateroot, current))
		if err != nil {
			return time.Time{}, err
		}
		data, err := files.Read(file)
		if err != nil {
			return time.Time{}, fmt.Errorf("read %s: %w", file, err)
		}
		pems = append(pems, data)
	}
	return cluster.EarliestExpiry(pems...)
}

// currentCertificate finds what a kubelet-*-current.pem stands for. That is a link with an absolute target,
// which would lead into the running stateroot; but the kubelet names its certificates by
// date (kubelet-client-2026-01-31-12-00-00.pem), so the greatest name is the current one.
func currentCertificate(files host.Files, current string) (string, error) {
	if info, err := files.Stat(current); err == nil && info.Mode().IsRegular() {
		return current, nil
	}
	dir, base := path.Split(current)
	names, err := files.List(dir)
	if err != nil {
		return "", fmt.Errorf("list %s: %w", dir, err)
	}
	prefix := strings.TrimSuffix(base, "current.pem")
	for _, name := range slices.Backward(names) {
		if strings.HasPrefix(name, prefix) && name != base && strings.HasSuffix(name, ".pem") {
			return path.Join(dir, name), nil
		}
	}
	return "", fmt.Errorf("no certificate %s*.pem in %s", prefix, dir)
}
