package kvstate

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/stenohq/steno/internal/statestore"
)

// The delete markers of NATS key-value buckets.
const (
	kvOperation = "KV-Operation"
	kvDelete    = "DEL"
	kvPurge     = "PURGE"
	// markerReason is on the marker a server leaves for an expired key.
	markerReason = "Nats-Marker-Reason"
)

func isMarker(h nats.Header) bool {
	op := h.Get(kvOperation)
	return op == kvDelete || op == kvPurge || h.Get(markerReason) != ""
}

// stored is one message of the bucket's stream.
type stored struct {
	subject string
	seq     uint64
	header  nats.Header
	data    []byte
}

// getRequest is a request of STREAM.MSG.GET. Only the stream's leader answers
// it; a direct get, which nats.go prefers, may come from a lagging replica.
type getRequest struct {
	Seq    uint64 `json:"seq,omitempty"`
	LastBy string `json:"last_by_subj,omitempty"`
	NextBy string `json:"next_by_subj,omitempty"`
}

// lastMessage is the newest message of a subject, which may have wildcards.
func (s *Store) lastMessage(ctx context.Context, subject string) (stored, error) {
	return getMessage(ctx, s.nc, stream, getRequest{LastBy: subject})
}

func getMessage(ctx context.Context, nc *nats.Conn, stream string, req getRequest) (stored, error) {
	ctx, cancel := withTimeout(ctx)
	defer cancel()
	body, err := json.Marshal(req)
	if err != nil {
		return stored{}, fmt.Errorf("encode the request: %w", err)
	}
	resp, err := nc.RequestWithContext(ctx, "$JS.API.STREAM.MSG.GET."+stream, body)
	if err != nil {
		return stored{}, fmt.Errorf("ask the leader of %s: %w", stream, err)
	}
	var answer struct {
		Error   *jetstream.APIError `json:"error"`
		Message struct {
			Subject string `json:"subject"`
			Seq     uint64 `json:"seq"`
			Header  []byte `json:"hdrs"`
			Data    []byte `json:"data"`
		} `json:"message"`
	}
	if err := json.Unmarshal(resp.Data, &answer); err != nil {
		return stored{}, fmt.Errorf("read the answer of the leader of %s: %w", stream, err)
	}
	if e := answer.Error; e != nil {
		if e.ErrorCode == codeNoMessage {
			return stored{}, statestore.ErrNotFound
		}
		return stored{}, fmt.Errorf("the leader of %s refused: %s (code %d)", stream, e.Description, e.ErrorCode)
	}
	m := stored{subject: answer.Message.Subject, seq: answer.Message.Seq, data: answer.Message.Data}
	if m.data == nil {
		m.data = []byte{}
	}
	if len(answer.Message.Header) > 0 {
		if m.header, err = nats.DecodeHeadersMsg(answer.Message.Header); err != nil {
			return stored{}, fmt.Errorf("read the headers of message %d of %s: %w", m.seq, stream, err)
		}
	}
	return m, nil
}
