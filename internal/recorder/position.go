package recorder

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/stenohq/steno/internal/archive/wirelog"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
)

// prefixRec begins the keys rec.<slot>.<session>.<agent>.
const prefixRec = "rec"

// position is the value of a rec key: up to here the agent's log is durable in
// the archive of recorder.
type position struct {
	Recorder      string    `json:"recorder"`
	Part          int       `json:"part"`
	Seq           uint64    `json:"seq"`
	Stream        string    `json:"stream"`
	StreamCreated time.Time `json:"stream_created"`
	StreamSeq     uint64    `json:"stream_seq"`
	H             string    `json:"h,omitempty"`
}

func encodePosition(recorder string, a wirelog.Anchor) ([]byte, error) {
	p := position{
		Recorder: recorder, Part: a.Part, Seq: a.Seq,
		Stream: a.Stream.Name, StreamCreated: a.Stream.Created.UTC(), StreamSeq: a.StreamSeq,
	}
	if a.H != (wirelog.Hash{}) {
		p.H = a.H.String()
	}
	b, err := json.Marshal(p)
	if err != nil {
		return nil, fmt.Errorf("encode a recorder's position: %w", err)
	}
	return b, nil
}

func decodePosition(b []byte) (recorder string, a wirelog.Anchor, err error) {
	var p position
	if err := json.Unmarshal(b, &p); err != nil {
		return "", a, fmt.Errorf("decode a recorder's position: %w", err)
	}
	h, ok := wirelog.ParseHash(p.H)
	if !ok || p.Part < 1 || p.Seq < 1 {
		return "", a, fmt.Errorf("decode a recorder's position: part %d, seq %d, h %q", p.Part, p.Seq, p.H)
	}
	return p.Recorder, wirelog.Anchor{
		Part: p.Part, Seq: p.Seq, StreamSeq: p.StreamSeq, H: h,
		Stream: eventlog.StreamID{Name: p.Stream, Created: p.StreamCreated},
	}, nil
}

// epoch is the session's epoch without the fold version: a function of the
// topology and of how often the session has been forgotten.
func (s *Service) epoch(ctx context.Context, id events.SessionID) (string, error) {
	var gone struct {
		Incarnation uint64 `json:"incarnation"`
	}
	e, err := s.deps.Store.Get(ctx, "gone."+id.Token())
	switch {
	case errors.Is(err, statestore.ErrNotFound):
	case err != nil:
		return "", fmt.Errorf("read the incarnation of session %s: %w", id, err)
	default:
		if err := json.Unmarshal(e.Value, &gone); err != nil {
			return "", fmt.Errorf("read the incarnation of session %s: %w", id, err)
		}
	}
	epoch, _, _ := strings.Cut(protocol.Epoch(s.cfg.TopologyID, string(id), gone.Incarnation, 0), ".")
	return epoch, nil
}
