package topology

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/google/uuid"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// ErrAbsent says that the state bucket or its topology record does not exist.
var ErrAbsent = errors.New("no Steno topology here")

// Topology is the record under Key: which slots there are and where. The id
// is part of every cursor's epoch.
type Topology struct {
	ID        string    `json:"id"`
	Slots     int       `json:"slots"`
	Streams   []string  `json:"streams"`
	CreatedAt time.Time `json:"created_at"`
}

// Stream names the event stream that holds a slot.
func (t Topology) Stream(slot int) string {
	return t.Streams[slot/(t.Slots/len(t.Streams))]
}

// Ensure creates what is missing and checks what exists. It returns a
// *MismatchError when something differs, and changes nothing then that was
// there before. Several processes may call it at once.
func Ensure(ctx context.Context, js jetstream.JetStream, p Plan) (Topology, error) {
	if err := p.validate(); err != nil {
		return Topology{}, err
	}
	if err := checkVersion(js.Conn().ConnectedServerVersion()); err != nil {
		return Topology{}, err
	}
	diffs, err := survey(ctx, js, p, false)
	if err != nil {
		return Topology{}, err
	}
	if len(diffs) > 0 {
		return Topology{}, &MismatchError{Differences: diffs}
	}
	if diffs, err = survey(ctx, js, p, true); err != nil {
		return Topology{}, err
	}
	if len(diffs) > 0 { // created otherwise by somebody else just now
		return Topology{}, &MismatchError{Differences: diffs}
	}
	return ensureRecord(ctx, js, p)
}

// survey compares all streams, and the record when there is one. It creates
// missing streams only when create is set.
func survey(ctx context.Context, js jetstream.JetStream, p Plan, create bool) ([]Difference, error) {
	var diffs []Difference
	for _, want := range p.configs() {
		is, err := existing(ctx, js, want, create)
		if err != nil {
			return nil, err
		}
		if is == nil {
			continue
		}
		d, err := compare(*is, want)
		if err != nil {
			return nil, err
		}
		diffs = append(diffs, d...)
	}
	t, err := Read(ctx, js)
	switch {
	case errors.Is(err, ErrAbsent):
		return diffs, nil
	case err != nil:
		return nil, err
	}
	return append(diffs, p.compareRecord(t)...), nil
}

// minEventBytes is the least a stream is made with, where space is short.
const minEventBytes = 256 << 20

// makeStream makes a stream. Where the server has less space left for JetStream
// than the stream's limit would reserve, the limit is halved until it fits, and
// once more, since the other streams need space too. A smaller stream holds
// publishers back earlier, and can be made larger later.
func makeStream(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig) (jetstream.Stream, error) {
	for wanted := want.MaxBytes; ; {
		s, err := js.CreateStream(ctx, want)
		if err == nil && want.MaxBytes < wanted {
			want.MaxBytes /= 2
			return js.UpdateStream(ctx, want) //nolint:wrapcheck // the caller does
		}
		api, refused := errors.AsType[*jetstream.APIError](err)
		if !refused || api.ErrorCode != noSpace {
			return s, err //nolint:wrapcheck // the caller does
		}
		if want.MaxBytes < 2*minEventBytes {
			return nil, fmt.Errorf("%w: it needs %d MiB of JetStream's file storage; raise max_file_store of the server, or the account's limit", err, max(want.MaxBytes, 0)>>20)
		}
		want.MaxBytes /= 2
	}
}

// noSpace is the server's code for less storage than a stream would reserve.
const noSpace jetstream.ErrorCode = 10047

// existing is the stream's configuration, nil when it is absent.
func existing(ctx context.Context, js jetstream.JetStream, want jetstream.StreamConfig, create bool) (*jetstream.StreamConfig, error) {
	s, err := js.Stream(ctx, want.Name)
	if errors.Is(err, jetstream.ErrStreamNotFound) {
		if !create {
			return nil, nil
		}
		s, err = makeStream(ctx, js, want)
		if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
			s, err = js.Stream(ctx, want.Name)
		}
		if err != nil {
			return nil, fmt.Errorf("create stream %s: %w", want.Name, err)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("look up stream %s: %w", want.Name, err)
	}
	return &s.CachedInfo().Config, nil
}

func (p Plan) compareRecord(t Topology) []Difference {
	var diffs []Difference
	add := func(setting string, is, want any) {
		diffs = append(diffs, Difference{Object: "key " + Key, Setting: setting, Is: fmt.Sprint(is), Want: fmt.Sprint(want)})
	}
	if t.Slots != p.Slots {
		add("slots", t.Slots, p.Slots)
	}
	if !slices.Equal(t.Streams, p.streamNames()) {
		add("streams", t.Streams, p.streamNames())
	}
	return diffs
}

// ensureRecord writes the record unless there is one. Of several writers the
// first wins and all return what it wrote.
func ensureRecord(ctx context.Context, js jetstream.JetStream, p Plan) (Topology, error) {
	t, err := Read(ctx, js)
	if !errors.Is(err, ErrAbsent) {
		return t, err
	}
	id, err := uuid.NewRandom()
	if err != nil {
		return Topology{}, fmt.Errorf("make a topology id: %w", err)
	}
	t = Topology{ID: id.String(), Slots: p.Slots, Streams: p.streamNames(), CreatedAt: time.Now().UTC().Truncate(time.Millisecond)}
	data, err := json.Marshal(t)
	if err != nil {
		return Topology{}, fmt.Errorf("encode the topology: %w", err)
	}
	msg := &nats.Msg{Subject: "$KV." + StateBucket + "." + Key, Data: data}
	if _, err = js.PublishMsg(ctx, msg, jetstream.WithExpectLastSequencePerSubject(0)); err != nil {
		// Lost the race or the acknowledgement: either way what is there counts.
		stored, readErr := Read(ctx, js)
		if readErr != nil {
			return Topology{}, fmt.Errorf("write the topology: %w", errors.Join(err, readErr))
		}
		t = stored
	}
	return t, nil
}

// Read returns the topology as the state stream's leader has it. ErrAbsent.
func Read(ctx context.Context, js jetstream.JetStream) (Topology, error) {
	data, err := lastOnLeader(ctx, js, StateStream, "$KV."+StateBucket+"."+Key)
	if err != nil {
		return Topology{}, err
	}
	var t Topology
	if err := json.Unmarshal(data, &t); err != nil {
		return Topology{}, fmt.Errorf("decode the topology: %w", err)
	}
	if t.ID == "" || t.Slots < 1 || len(t.Streams) < 1 || t.Slots%len(t.Streams) != 0 {
		return Topology{}, fmt.Errorf("the topology record makes no sense: %s", data)
	}
	return t, nil
}
