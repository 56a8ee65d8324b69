package netenactment

import (
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	nmstatev1beta1 "github.com/lifecycle-agent/lifecycle-agent/api/nmstate/v1beta1"
)

// latestHolds is how long an own write counts for more than a cache without it. An API server that is busy with many nodes sends
// events seconds late; past this time the enactment may as well have been deleted by another client.
const latestHolds = time.Minute

// latest are the enactments as this agent has written them last. A cache that is behind would make it write the same again, and be
// refused. The zero value is ready for use.
type latest struct {
	written map[string]written
}

type written struct {
	enactment *nmstatev1beta1.NodeNetworkConfigurationEnactment
	at        time.Time
}

// wrote remembers an enactment as the API server returned it.
func (l *latest) wrote(e *nmstatev1beta1.NodeNetworkConfigurationEnactment, at time.Time) {
	if l.written == nil {
		l.written = map[string]written{}
	}
	l.written[e.Name] = written{enactment: e.DeepCopy(), at: at}
}

// deleted forgets an enactment that this agent has deleted.
func (l *latest) deleted(name string) { delete(l.written, name) }

// over returns the enactments of a cache, with the own writes that it does not have yet; the others are forgotten.
func (l *latest) over(cached []nmstatev1beta1.NodeNetworkConfigurationEnactment, now time.Time,
) []nmstatev1beta1.NodeNetworkConfigurationEnactment {
	seen := map[string]bool{}
	for i, e := range cached {
		seen[e.Name] = true
		own, ok := l.written[e.Name]
		if ok && now.Sub(own.at) < latestHolds && behind(e, *own.enactment) {
			cached[i] = *own.enactment.DeepCopy()
			continue
		}
		delete(l.written, e.Name)
	}
	for name, own := range l.written {
		if seen[name] {
			continue
		}
		if now.Sub(own.at) >= latestHolds {
			delete(l.written, name)
			continue
		}
		cached = append(cached, *own.enactment.DeepCopy())
	}
	return cached
}

// behind says that the cached enactment is older than the written one. Another UID is another enactment of that name.
func behind(cached, own nmstatev1beta1.NodeNetworkConfigurationEnactment) bool {
	if cached.UID != own.UID {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(cached.ResourceVersion, own.ResourceVersion)
	return err == nil && order < 0
}
