package gateway

import (
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// message is one data message, encoded once and shared by all connections:
// a WebSocket text frame whose JSON text holds the payload that server-sent
// events have too. Its bytes are immutable.
type message struct {
	kind    string
	agent   string
	seq     uint64 // watermark once the client has it
	frame   []byte
	payload []byte // part of frame
}

// encoder makes the messages of one agent.
type encoder struct {
	session events.SessionID
	agent   events.AgentID
	epoch   string
}

func newEncoder(s events.SessionID, a events.AgentID, epoch string) *encoder {
	return &encoder{session: s, agent: a, epoch: epoch}
}

// ops is a batch of operations with its place in a grade's sequence.
func (e *encoder) ops(ops []reducer.Op, seq, prev uint64) message {
	m := protocol.Ops{
		AgentID: string(e.agent), Epoch: e.epoch,
		Batch: protocol.Batch{Seq: seq, PrevSeq: prev, Ops: ops},
	}
	return e.message(protocol.TypeOps, seq, m.AppendJSON)
}

// reset is a snapshot that holds every batch up to seq.
func (e *encoder) reset(s *reducer.Snapshot, seq uint64) message {
	m := protocol.Reset{AgentID: string(e.agent), Snapshot: s, Seq: seq, Epoch: e.epoch}
	return e.message(protocol.TypeReset, seq, m.AppendJSON)
}

// message wraps a payload. The frame's header depends on the length, so room
// for the longest is left before the text.
func (e *encoder) message(kind string, seq uint64, payload func([]byte) []byte) message {
	const room = 10
	head := protocol.Data{Type: kind, Seq: seq, Epoch: e.epoch, SessionID: string(e.session), Timestamp: now()}
	dst := head.AppendHead(make([]byte, room, 512))
	from := len(dst)
	dst = payload(dst)
	to := len(dst)
	dst = append(dst, '}')
	var header [room]byte
	h := appendFrameHeader(header[:0], len(dst)-room)
	start := room - len(h)
	copy(dst[start:], h)
	return message{kind: kind, agent: string(e.agent), seq: seq, frame: dst[start:], payload: dst[from:to]}
}
