// Package topology creates and checks what Steno keeps in JetStream: the event
// streams, the state bucket, the members bucket and the blob store. It needs a
// connection only, not the embedded server.
package topology

import (
	"errors"
	"fmt"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

// Names of the streams and of the buckets behind them.
const (
	EventsPrefix  = "STENO_EVENTS_"
	StateBucket   = "STENO_STATE"
	StateStream   = "KV_" + StateBucket
	MembersBucket = "STENO_MEMBERS"
	MembersStream = "KV_" + MembersBucket
	BlobsBucket   = "STENO_BLOBS"
	BlobsStream   = "OBJ_" + BlobsBucket

	// Key is the key of the state bucket that holds the Topology.
	Key = "topology"
)

const (
	// MaxSlotsPerStream keeps one ordered consumer per slot and role cheap.
	MaxSlotsPerStream = 16
	// MaxEvent is the largest stored message: an event of 1 MiB and headers.
	MaxEvent = 1<<20 + 64<<10
	// DefaultEventBytes limits an event stream when the plan names no limit.
	DefaultEventBytes = 64 << 30
	// DedupWindow is how long a message id is remembered.
	DedupWindow = 30 * time.Second
)

// Plan is how the topology should be. Slots and Streams are fixed at creation.
type Plan struct {
	Slots    int
	Streams  int
	Replicas int
	// EventBytes limits each event stream that is created; 0 means
	// DefaultEventBytes. Of an existing stream any limit is accepted.
	EventBytes int64
}

// Embedded is the plan of one machine.
func Embedded() Plan { return Plan{Slots: 16, Streams: 1, Replicas: 1} }

// Cluster is the plan of the distributed form.
func Cluster() Plan { return Plan{Slots: 64, Streams: 4, Replicas: 3} }

func (p Plan) validate() error {
	switch {
	case p.Slots < 1 || p.Streams < 1 || p.Replicas < 1 || p.EventBytes < 0:
		return errors.New("topology: slots, streams and replicas must be above 0")
	case p.Slots%p.Streams != 0:
		return fmt.Errorf("topology: %d slots cannot be shared out evenly among %d streams", p.Slots, p.Streams)
	case p.Slots/p.Streams > MaxSlotsPerStream:
		return fmt.Errorf("topology: %d slots on a stream, at most %d", p.Slots/p.Streams, MaxSlotsPerStream)
	default:
		return nil
	}
}

func (p Plan) streamNames() []string {
	names := make([]string, p.Streams)
	for i := range names {
		names[i] = fmt.Sprintf("%s%d", EventsPrefix, i)
	}
	return names
}

// configs lists the streams in the order of their creation: events first, so
// that a topology record never names a stream that is not there.
func (p Plan) configs() []jetstream.StreamConfig {
	var all []jetstream.StreamConfig
	for i := range p.Streams {
		all = append(all, p.events(i))
	}
	return append(all, p.state(), p.members(), p.blobs())
}

func (p Plan) events(i int) jetstream.StreamConfig {
	per := p.Slots / p.Streams
	var subjects []string
	for slot := i * per; slot < (i+1)*per; slot++ {
		subjects = append(subjects, fmt.Sprintf("steno.ev.%d.>", slot))
	}
	c := base(p.streamNames()[i], p.Replicas, subjects)
	c.Description = "agent events"
	c.MaxBytes = p.EventBytes
	if c.MaxBytes == 0 {
		c.MaxBytes = DefaultEventBytes
	}
	c.MaxMsgSize = MaxEvent
	c.MaxConsumers = 1000
	c.AllowAtomicPublish = true
	c.RePublish = &jetstream.RePublish{Source: "steno.ev.>", Destination: "steno.live.>"}
	return c
}

// state is a key-value bucket by name, subjects and limits, so that the usual
// tools read it, with atomic batches on top. Deletion markers may carry a TTL.
func (p Plan) state() jetstream.StreamConfig {
	c := keyValue(StateBucket, p.Replicas)
	c.Description = "checkpoints, heads, terms, session index"
	c.AllowAtomicPublish = true
	c.AllowMsgTTL = true
	return c
}

// members lives in memory: a heartbeat is worth nothing after a restart.
func (p Plan) members() jetstream.StreamConfig {
	c := keyValue(MembersBucket, p.Replicas)
	c.Description = "live members by role"
	c.Storage = jetstream.MemoryStorage
	c.AllowMsgTTL = true
	c.SubjectDeleteMarkerTTL = 10 * time.Second
	return c
}

func (p Plan) blobs() jetstream.StreamConfig {
	c := base(BlobsStream, p.Replicas, []string{"$O." + BlobsBucket + ".C.>", "$O." + BlobsBucket + ".M.>"})
	c.Description = "large values and archive parts"
	c.AllowRollup = true
	return c
}

func keyValue(bucket string, replicas int) jetstream.StreamConfig {
	c := base("KV_"+bucket, replicas, []string{"$KV." + bucket + ".>"})
	c.MaxMsgsPerSubject = 1
	c.AllowRollup = true
	c.DenyDelete = true
	return c
}

// base spells out every limit the server would fill in, so that what it
// answers can be compared with what was asked for.
func base(name string, replicas int, subjects []string) jetstream.StreamConfig {
	return jetstream.StreamConfig{
		Name:              name,
		Subjects:          subjects,
		Retention:         jetstream.LimitsPolicy,
		Discard:           jetstream.DiscardNew,
		Storage:           jetstream.FileStorage,
		Replicas:          replicas,
		MaxConsumers:      -1,
		MaxMsgs:           -1,
		MaxBytes:          -1,
		MaxMsgsPerSubject: -1,
		MaxMsgSize:        -1,
		Duplicates:        DedupWindow,
		AllowDirect:       true,
	}
}
