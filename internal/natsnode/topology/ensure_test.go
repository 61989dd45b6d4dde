package topology_test

import (
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/natsnode/topology"
	"github.com/stenohq/steno/internal/natstest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEnsureIsIdempotentAcrossRestarts(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	first := n.Topology()
	if first.ID == "" || first.Slots != 16 || len(first.Streams) != 1 || first.Streams[0] != "STENO_EVENTS_0" {
		t.Fatalf("topology %+v", first)
	}
	n.Restart()
	again, err := topology.Ensure(t.Context(), n.JS(), topology.Embedded())
	if err != nil {
		t.Fatal(err)
	}
	if again.ID != first.ID || !again.CreatedAt.Equal(first.CreatedAt) {
		t.Errorf("topology %+v became %+v", first, again)
	}
}

func TestEnsureAtOnceAgrees(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	purge(t, n)
	ids := make([]string, 4)
	var wg sync.WaitGroup
	for i := range ids {
		wg.Go(func() {
			top, err := topology.Ensure(t.Context(), n.JS(), topology.Embedded())
			if err != nil {
				t.Error(err)
			}
			ids[i] = top.ID
		})
	}
	wg.Wait()
	for _, id := range ids {
		if id == "" || id != ids[0] {
			t.Fatalf("ids %q", ids)
		}
	}
}

func purge(t *testing.T, n *natstest.Node) {
	t.Helper()
	for _, name := range []string{topology.StateStream, topology.MembersStream, topology.BlobsStream, "STENO_EVENTS_0"} {
		if err := n.JS().DeleteStream(t.Context(), name); err != nil {
			t.Fatal(err)
		}
	}
}

// Each row changes one stream; Ensure must name exactly that and change
// nothing.
func TestEnsureNamesWhatDiffers(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	rows := []struct {
		stream, setting string
		change          func(*jetstream.StreamConfig)
	}{
		{"STENO_EVENTS_0", "max_age", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }},
		{"STENO_EVENTS_0", "discard", func(c *jetstream.StreamConfig) { c.Discard = jetstream.DiscardOld }},
		{"STENO_EVENTS_0", "max_bytes", func(c *jetstream.StreamConfig) { c.MaxBytes = -1 }},
		{"STENO_EVENTS_0", "duplicate_window", func(c *jetstream.StreamConfig) { c.Duplicates = time.Minute }},
		{"STENO_EVENTS_0", "republish", func(c *jetstream.StreamConfig) { c.RePublish = nil }},
		{"STENO_EVENTS_0", "allow_direct", func(c *jetstream.StreamConfig) { c.AllowDirect = false }},
		{"STENO_EVENTS_0", "allow_atomic", func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }},
		{"STENO_EVENTS_0", "subjects", func(c *jetstream.StreamConfig) { c.Subjects = c.Subjects[:15] }},
		{topology.StateStream, "allow_atomic", func(c *jetstream.StreamConfig) { c.AllowAtomicPublish = false }},
		{topology.StateStream, "max_msgs_per_subject", func(c *jetstream.StreamConfig) { c.MaxMsgsPerSubject = 5 }},
		{topology.BlobsStream, "max_age", func(c *jetstream.StreamConfig) { c.MaxAge = time.Hour }},
	}
	for _, row := range rows {
		t.Run(row.stream+" "+row.setting, func(t *testing.T) {
			s, err := n.JS().Stream(t.Context(), row.stream)
			if err != nil {
				t.Fatal(err)
			}
			good := s.CachedInfo().Config
			bad := good
			row.change(&bad)
			if _, err := n.JS().UpdateStream(t.Context(), bad); err != nil {
				t.Fatal(err)
			}
			_, err = topology.Ensure(t.Context(), n.JS(), topology.Embedded())
			var mismatch *topology.MismatchError
			if !errors.As(err, &mismatch) {
				t.Fatalf("got %v, want a MismatchError", err)
			}
			if len(mismatch.Differences) != 1 {
				t.Fatalf("differences %v, want one", mismatch.Differences)
			}
			d := mismatch.Differences[0]
			if d.Object != "stream "+row.stream || d.Setting != row.setting {
				t.Errorf("difference %v", d)
			}
			if _, err := n.JS().UpdateStream(t.Context(), good); err != nil {
				t.Fatal(err)
			}
		})
	}
	if _, err := topology.Ensure(t.Context(), n.JS(), topology.Embedded()); err != nil {
		t.Errorf("after all is set back: %v", err)
	}
}

func TestEnsureRefusesOtherSlots(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	_, err := topology.Ensure(t.Context(), n.JS(), topology.Plan{Slots: 32, Streams: 2, Replicas: 1})
	if _, ok := errors.AsType[*topology.MismatchError](err); !ok {
		t.Fatalf("got %v, want a MismatchError", err)
	}
	if _, err := n.JS().Stream(t.Context(), "STENO_EVENTS_1"); !errors.Is(err, jetstream.ErrStreamNotFound) {
		t.Errorf("a refused Ensure created a stream: %v", err)
	}
}

func TestPlansThatCannotBe(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	for _, p := range []topology.Plan{{}, {Slots: 17, Streams: 1, Replicas: 1}, {Slots: 10, Streams: 3, Replicas: 1}} {
		if _, err := topology.Ensure(t.Context(), n.JS(), p); err == nil {
			t.Errorf("plan %+v accepted", p)
		}
	}
}

func TestClusterShapeOnOneServer(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen(), natstest.Slots(64))
	top := n.Topology()
	if len(top.Streams) != 4 || top.Stream(0) != "STENO_EVENTS_0" || top.Stream(31) != "STENO_EVENTS_1" || top.Stream(63) != "STENO_EVENTS_3" {
		t.Errorf("topology %+v", top)
	}
}

func TestReadWithoutATopology(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	purge(t, n)
	if _, err := topology.Read(t.Context(), n.JS()); !errors.Is(err, topology.ErrAbsent) {
		t.Errorf("got %v, want ErrAbsent", err)
	}
}

func TestBucketsServeTheUsualClients(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	kv, err := n.JS().KeyValue(t.Context(), topology.StateBucket)
	if err != nil {
		t.Fatal(err)
	}
	e, err := kv.Get(t.Context(), topology.Key)
	if err != nil || len(e.Value()) == 0 {
		t.Errorf("topology by the key-value client: %v %v", e, err)
	}
	members, err := n.JS().KeyValue(t.Context(), topology.MembersBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := members.Create(t.Context(), "gateway.a", []byte("x"), jetstream.KeyTTL(time.Second)); err != nil {
		t.Errorf("member key with a TTL: %v", err)
	}
	blobs, err := n.JS().ObjectStore(t.Context(), topology.BlobsBucket)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := blobs.PutBytes(t.Context(), "b", make([]byte, 300<<10)); err != nil {
		t.Fatal(err)
	}
	if got, err := blobs.GetBytes(t.Context(), "b"); err != nil || len(got) != 300<<10 {
		t.Errorf("blob of %d bytes: %v", len(got), err)
	}
}

// A stored event is republished at once with its sequence and the one before.
func TestRepublish(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	sub, err := n.Conn().SubscribeSync("steno.live.>")
	if err != nil {
		t.Fatal(err)
	}
	for i, last := range []string{"0", "1"} {
		ack, err := n.JS().PublishMsg(t.Context(), &nats.Msg{Subject: "steno.events.s-1.main", Data: []byte("{}")})
		if err != nil {
			t.Fatal(err)
		}
		if ack.Sequence != uint64(i+1) || ack.Stream != "STENO_EVENTS_0" {
			t.Fatalf("ack %+v", ack)
		}
		m, err := sub.NextMsg(5 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Header.Get("Nats-Last-Sequence"); got != last {
			t.Errorf("message %d: last sequence %q, want %q", i, got, last)
		}
	}
}

// A server with less space than the plan's limit gets smaller streams, which a
// later check accepts; without any space the error says what to do.
func TestEnsureFitsTheSpace(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen())
	purge(t, n)
	plan := topology.Embedded()
	plan.EventBytes = 1 << 61 // twice what the node allows
	if _, err := topology.Ensure(t.Context(), n.JS(), plan); err != nil {
		t.Fatal(err)
	}
	s, err := n.JS().Stream(t.Context(), "STENO_EVENTS_0")
	if err != nil {
		t.Fatal(err)
	}
	if got := s.CachedInfo().Config.MaxBytes; got >= 1<<60 || got < 1<<58 {
		t.Errorf("the stream is limited to %d bytes", got)
	}
	if _, err := topology.Ensure(t.Context(), n.JS(), topology.Embedded()); err != nil {
		t.Errorf("again: %v", err)
	}
	purge(t, n)
	if _, err := n.JS().CreateStream(t.Context(), jetstream.StreamConfig{Name: "HOG", Subjects: []string{"hog"}, MaxBytes: 1 << 60}); err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Ensure(t.Context(), n.JS(), plan); err == nil || !strings.Contains(err.Error(), "max_file_store") {
		t.Errorf("without space: %v", err)
	}
}

func TestEnsureWithoutJetStream(t *testing.T) {
	srv, err := server.NewServer(&server.Options{DontListen: true, NoSigs: true})
	if err != nil {
		t.Fatal(err)
	}
	srv.Start()
	defer srv.WaitForShutdown()
	defer srv.Shutdown()
	nc, err := nats.Connect("", nats.InProcessServer(srv))
	if err != nil {
		t.Fatal(err)
	}
	defer nc.Close()
	js, err := jetstream.New(nc)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := topology.Read(t.Context(), js); err == nil || !strings.Contains(err.Error(), "is it enabled on the server") {
		t.Errorf("got %v", err)
	}
}
