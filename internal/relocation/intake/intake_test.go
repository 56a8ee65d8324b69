package intake_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/lifecycle-agent/lifecycle-agent/internal/bringup"
	"github.com/lifecycle-agent/lifecycle-agent/internal/flow"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host"
	"github.com/lifecycle-agent/lifecycle-agent/internal/host/hosttest"
	"github.com/lifecycle-agent/lifecycle-agent/internal/operation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/intake"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/onsite"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/portal"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/sitecode"
	"github.com/lifecycle-agent/lifecycle-agent/internal/relocation/siteconfig"
)

// wait is generous: the machine may be busy.
const wait, tick = 2 * time.Minute, 10 * time.Millisecond

const config = "apiVersion: relocation.lca.openshift.io/v1\nkind: SiteConfig\nhostname: site-1\nnodeIPs: [198.51.100.20]\n"

func prepared(t *testing.T) host.Node {
	t.Helper()
	node := hosttest.NewNode(hosttest.Options{Stateroot: "rhcos"}).Ports()
	files := node.Files
	require.NoError(t, operation.WriteJSON(files, relocation.RecordFile, relocation.Record{Factory: "rhcos", Facts: relocation.Facts{
		Node: "factory-node", ClusterName: "factory", BaseDomain: "example.com", Addresses: []netip.Addr{netip.MustParseAddr("192.0.2.10")},
	}}))
	return node
}

func plug(v *hosttest.Volumes, text string) {
	v.Plug(host.Volume{Device: "/dev/sda1", Disk: "/dev/sda", Label: "SITE-CONFIG", Filesystem: "vfat"},
		fstest.MapFS{"site-config.yaml": {Data: []byte(text)},
			"extra-manifests/a.json": {Data: []byte(`{"apiVersion":"v1","kind":"A","metadata":{"name":"a"}}`)}})
}

func TestWhatThePageStartsArrives(t *testing.T) {
	node := prepared(t)
	files := node.Files
	page, err := intake.NewSite(node)
	require.NoError(t, err)
	c, problems := siteconfig.Decode([]byte(config))
	require.Empty(t, problems)
	plan, problems, err := page.Submit(t.Context(), c)
	require.NoError(t, err)
	require.Empty(t, problems)
	require.Contains(t, plan.Sentences, "Rename the node from factory-node to site-1.")
	require.ErrorContains(t, page.Start(t.Context(), "another"), "no longer the one")
	require.NoError(t, page.Start(t.Context(), plan.ID))
	require.ErrorIs(t, page.Start(t.Context(), plan.ID), portal.ErrUnderWay)
	now, err := page.Progress(t.Context())
	require.NoError(t, err)
	require.Equal(t, portal.Running, now.State)

	d, err := intake.NewInbox(files, &hosttest.Volumes{}).Next(t.Context())
	require.NoError(t, err)
	require.Equal(t, "the page", d.Source)
	require.True(t, d.Again)
	got, problems := siteconfig.Decode(d.Data)
	require.Empty(t, problems)
	require.Equal(t, "site-1", got.Hostname)
}

// While the node tries a silent network again the page shows why, and takes another configuration.
func TestThePageReplacesAConfigurationThatIsTriedAgain(t *testing.T) {
	node := prepared(t)
	files := node.Files
	page, err := intake.NewSite(node)
	require.NoError(t, err)
	c, problems := siteconfig.Decode([]byte(config))
	require.Empty(t, problems)
	plan, _, err := page.Submit(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, operation.WriteJSON(files, relocation.RequestFile, relocation.Request{OperationID: "20260101-000000-0001", Digest: "a"}))
	require.ErrorIs(t, page.Start(t.Context(), plan.ID), portal.ErrUnderWay, "somebody has asked for this attempt")

	request := relocation.Request{OperationID: "20260101-000000-0001", Digest: "a", Repeats: true}
	require.NoError(t, operation.WriteJSON(files, relocation.RequestFile, request))
	require.NoError(t, operation.WriteJSON(files, relocation.LastFile, relocation.Last{Digest: "a", Outcome: relocation.OutcomeRetry,
		Step: "apply-network", Cause: "gateway 192.0.2.1 on br-ex gives no sign of life"}))
	now, err := page.Progress(t.Context())
	require.NoError(t, err)
	require.Equal(t, portal.Failed, now.State)
	require.Equal(t, sitecode.GatewaySilent, now.Code)
	require.NoError(t, page.Start(t.Context(), plan.ID))
	now, err = page.Progress(t.Context())
	require.NoError(t, err)
	require.Equal(t, portal.Running, now.State)
}

func TestAConfigurationForAnotherNodeIsRefusedOnThePage(t *testing.T) {
	page, err := intake.NewSite(prepared(t))
	require.NoError(t, err)
	_, problems, err := page.Submit(t.Context(), siteconfig.SiteConfig{NodeIPs: []string{"2001:db8::1"}})
	require.NoError(t, err)
	require.Equal(t, "nodeIPs", problems[0].Key)
	_, err = page.Handover(t.Context())
	require.ErrorIs(t, err, portal.ErrNotReady)
}

func TestAStickBringsItsFoldersAndCountsAgainWhenItIsPluggedInAgain(t *testing.T) {
	node, v := prepared(t), &hosttest.Volumes{}
	files := node.Files
	in := intake.NewInbox(files, v)
	plug(v, config)
	d, err := in.Next(t.Context())
	require.NoError(t, err)
	require.False(t, d.Again, "it may have been there at the boot")
	c, _ := siteconfig.Decode(d.Data)
	require.Len(t, c.Manifests, 1)
	d, err = in.Next(t.Context())
	require.NoError(t, err)
	require.False(t, d.Again)

	require.NoError(t, files.Write(relocation.ArrivalFile, []byte("{}"), 0o600))
	v.Unplug("/dev/sda1")
	next := make(chan onsite.Delivery, 1)
	go func() {
		d, _ := in.Next(t.Context())
		next <- d
	}()
	require.Eventually(t, func() bool { // the reader has noticed that the stick is gone
		_, err := files.Stat(relocation.ArrivalFile)
		if err != nil {
			plug(v, config)
		}
		return err != nil
	}, wait, tick)
	require.True(t, (<-next).Again)
}

func TestAMistakeIsShown(t *testing.T) {
	node, v := prepared(t), &hosttest.Volumes{}
	files := node.Files
	page, err := intake.NewSite(node)
	require.NoError(t, err)
	plug(v, config+"nonsense: 1\n")
	go func() { _, _ = intake.NewInbox(files, v).Next(t.Context()) }()
	require.Eventually(t, func() bool {
		now, err := page.Progress(t.Context())
		return err == nil && now.State == portal.Failed && now.Code == sitecode.ConfigWrong
	}, wait, tick)
}

func TestTheResultOfAnAttempt(t *testing.T) {
	node := prepared(t)
	files := node.Files
	page, err := intake.NewSite(node)
	require.NoError(t, err)
	require.NoError(t, operation.WriteJSON(files, relocation.LastFile, relocation.Last{
		Outcome: relocation.OutcomeRetry, Step: "apply-network", Cause: "gateway 192.0.2.1 on br-ex gives no sign of life"}))
	now, err := page.Progress(t.Context())
	require.NoError(t, err)
	require.Equal(t, sitecode.GatewaySilent, now.Code)

	require.NoError(t, operation.WriteJSON(files, relocation.LastFile, relocation.Last{Outcome: relocation.OutcomeHome}))
	require.NoError(t, files.Write(relocation.ReportFile, []byte("{"), 0o600))
	now, err = page.Progress(t.Context())
	require.NoError(t, err, "the page would never close")
	require.True(t, now.Committed)
	require.Equal(t, portal.Succeeded, now.State)
	require.Contains(t, now.Facts[0].Value, "The report of the site cannot be read")
	require.NoError(t, operation.WriteJSON(files, relocation.ReportFile, onsite.Report{Domain: "store.example.org"}))
	require.NoError(t, operation.WriteJSON(files, relocation.HandoverFile, onsite.Handover{Site: "store", Password: "planted"}))
	now, err = page.Progress(t.Context())
	require.NoError(t, err)
	require.True(t, now.Committed)
	h, err := page.Handover(t.Context())
	require.NoError(t, err)
	require.Equal(t, "store-handover.yaml", h.Name)
	require.Contains(t, string(h.Data), "planted")
	_, err = page.Handover(t.Context())
	require.ErrorIs(t, err, portal.ErrHandedOver)
}

// Between the site's network and the start of kubelet the node chooses the address of its cluster.
func TestWhenTheNodeChoosesItsAddress(t *testing.T) {
	node := prepared(t)
	files := node.Files
	require.False(t, intake.ChoosesAddress(t.Context(), node), "nothing is under way")
	const id = "20260101-000000-0001"
	require.NoError(t, operation.WriteJSON(files, relocation.RequestFile, relocation.Request{OperationID: id}))
	require.False(t, intake.ChoosesAddress(t.Context(), node), "the network may yet be refused")
	var lines strings.Builder
	note := func(seq int, kind flow.Kind, step string) {
		line, err := json.Marshal(flow.Entry{Version: 1, Seq: seq, Operation: id, Flow: relocation.FlowReconfigure, Kind: kind, Step: step})
		require.NoError(t, err)
		lines.Write(append(line, '\n'))
		require.NoError(t, files.Write(operation.JournalPath(id), []byte(lines.String()), 0o600))
	}
	note(1, flow.KindBegin, "")
	note(2, flow.KindDone, bringup.StepApplyNetwork)
	require.False(t, intake.ChoosesAddress(t.Context(), node))
	note(3, flow.KindCommitted, "")
	require.True(t, intake.ChoosesAddress(t.Context(), node))
	note(4, flow.KindDone, bringup.StepStartKubelet)
	require.False(t, intake.ChoosesAddress(t.Context(), node))
}

// TestThePageWorksWithADamagedRequest: it counts only where a journal shows the attempt under way.
func TestThePageWorksWithADamagedRequest(t *testing.T) {
	node := prepared(t)
	files := node.Files
	page, err := intake.NewSite(node)
	require.NoError(t, err)
	c, problems := siteconfig.Decode([]byte(config))
	require.Empty(t, problems)
	plan, _, err := page.Submit(t.Context(), c)
	require.NoError(t, err)
	require.NoError(t, files.Write(relocation.RequestFile, []byte("{"), 0o600))
	now, err := page.Progress(t.Context())
	require.NoError(t, err)
	require.Equal(t, portal.Waiting, now.State)
	require.False(t, intake.ChoosesAddress(t.Context(), node), "a laptop keeps its way to the page")
	require.NoError(t, page.Start(t.Context(), plan.ID))
	require.NoError(t, files.Remove(relocation.TypedFile))

	const id = "20260101-000000-0001"
	var lines strings.Builder
	for i, e := range []flow.Entry{{Kind: flow.KindBegin}, {Kind: flow.KindIntent, Step: "accept", Title: "Check it"}, {Kind: flow.KindCommitted}} {
		e.Version, e.Seq, e.Operation, e.Flow, e.Stateroot = flow.SchemaVersion, i+1, id, relocation.FlowReconfigure, "rhcos"
		e.Time = time.Date(2026, 1, 1, 0, 0, i, 0, time.UTC)
		line, err := json.Marshal(e)
		require.NoError(t, err)
		lines.Write(append(line, '\n'))
	}
	require.NoError(t, files.Write(operation.JournalPath(id), []byte(lines.String()), 0o600))
	now, err = page.Progress(t.Context())
	require.NoError(t, err)
	require.Equal(t, portal.Running, now.State)
	require.Equal(t, "Check it", now.Title)
	require.True(t, intake.ChoosesAddress(t.Context(), node))
	require.ErrorIs(t, page.Start(t.Context(), plan.ID), portal.ErrUnderWay)
}
