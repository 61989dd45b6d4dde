package protocol

import (
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// The types of data frames' payloads.
const (
	TypeReset        = "transcript.reset"
	TypeOps          = "transcript.ops"
	TypeAgentsUpdate = "agents.update"
)

// Data is the shell of a data frame. Seq and Epoch repeat those of the
// payload, for clients that look no further.
type Data struct {
	Type      string
	Seq       uint64
	Epoch     string
	SessionID string
	Timestamp string // RFC 3339, when it was sent
	Payload   []byte // a JSON object: DecodeReset, DecodeOpsFrame, DecodeAgentsUpdate
}

// AppendJSON appends the frame.
func (d *Data) AppendJSON(dst []byte) []byte {
	dst = d.AppendHead(dst)
	return append(append(dst, d.Payload...), '}')
}

// AppendHead appends the frame up to its payload; behind the payload stands
// one more closing brace. So a payload encoded once serves many frames.
func (d *Data) AppendHead(dst []byte) []byte {
	dst = putText(append(dst, '{'), "type", d.Type)
	dst = putUint(dst, "seq", d.Seq)
	dst = putText(dst, "epoch", d.Epoch)
	dst = append(dst, `"volatile":true,`...)
	dst = putText(dst, "session_id", d.SessionID)
	dst = putText(dst, "timestamp", d.Timestamp)
	return putName(dst, "payload")
}

// DecodeData reads a data frame. Payload shares data's memory.
func DecodeData(data []byte) (Data, error) {
	r := newDeepReader("frame", data)
	r.need("type", "payload")
	d := Data{
		Type: r.text("type"), Seq: r.uint("seq"), Epoch: r.text("epoch"),
		SessionID: r.text("session_id"), Timestamp: r.text("timestamp"), Payload: r.raw("payload"),
	}
	if r.err == nil && scan.KindOf(d.Payload) != scan.Object {
		r.fail("payload", "want an object")
	}
	return d, r.err
}

// Reset is a baseline: it replaces what the client holds of the agent.
type Reset struct {
	AgentID  string
	Snapshot *reducer.Snapshot
	Seq      uint64 // watermark
	Epoch    string
}

// AppendJSON appends the payload.
func (m *Reset) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, `{"type":"transcript.reset",`...), "agent_id", m.AgentID)
	dst = append(m.Snapshot.AppendJSON(putName(dst, "snapshot")), ',')
	dst = putBool(dst, "has_more_older", m.Snapshot != nil && m.Snapshot.HasMoreOlder())
	dst = putUint(dst, "seq", m.Seq)
	return closed(putText(dst, "epoch", m.Epoch), '}')
}

// DecodeReset reads the payload of a reset.
func DecodeReset(payload []byte) (Reset, error) {
	r := newDeepReader(TypeReset, payload)
	r.need("agent_id", "snapshot", "seq")
	m := Reset{AgentID: r.text("agent_id"), Seq: r.uint("seq"), Epoch: r.text("epoch")}
	if r.err == nil {
		s, err := reducer.DecodeSnapshot(r.raw("snapshot"))
		if err != nil {
			r.fail("snapshot", err.Error())
		} else {
			m.Snapshot = s.With(m.AgentID, s.HasMoreOlder() || r.bool("has_more_older"))
		}
	}
	return m, r.err
}

// Ops is a live batch. Empty ones carry the watermark on.
type Ops struct {
	AgentID string
	Batch
	Epoch string
}

// AppendJSON appends the payload.
func (m *Ops) AppendJSON(dst []byte) []byte {
	return m.AppendEncoded(dst, reducer.AppendOps(nil, m.Ops))
}

// AppendEncoded is AppendJSON with operations that are encoded already, a JSON
// array.
func (m *Ops) AppendEncoded(dst, ops []byte) []byte {
	dst = putText(append(dst, `{"type":"transcript.ops",`...), "agent_id", m.AgentID)
	dst = append(append(putName(dst, "ops"), ops...), ',')
	dst = putUint(dst, "seq", m.Seq)
	dst = putUint(dst, "prev_seq", m.PrevSeq)
	return closed(putText(dst, "epoch", m.Epoch), '}')
}

// DecodeOpsFrame reads the payload of a live batch.
func DecodeOpsFrame(payload []byte) (Ops, error) {
	r := newDeepReader(TypeOps, payload)
	r.need("agent_id", "ops", "seq")
	m := Ops{AgentID: r.text("agent_id"), Epoch: r.text("epoch")}
	m.Seq, m.Ops = r.uint("seq"), r.ops("ops")
	m.PrevSeq = r.prevSeq(m.Seq)
	return m, r.err
}

// AgentsUpdate names agents that are new or have changed.
type AgentsUpdate struct {
	SessionID string
	Agents    []reducer.AgentDescriptor
}

// AppendJSON appends the payload.
func (m *AgentsUpdate) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, `{"type":"agents.update",`...), "session_id", m.SessionID)
	return closed(putAgents(dst, m.Agents), '}')
}

func putAgents(b []byte, agents []reducer.AgentDescriptor) []byte {
	b = append(putName(b, "agents"), '[')
	for i := range agents {
		b = append(agents[i].AppendJSON(b), ',')
	}
	return append(closed(b, ']'), ',')
}

func (r *reader) agents() []reducer.AgentDescriptor {
	if !r.has("agents") || r.err != nil {
		return nil
	}
	agents, err := reducer.DecodeDescriptors(r.raw("agents"))
	if err != nil {
		r.fail("", err.Error())
	}
	return agents
}

// DecodeAgentsUpdate reads the payload.
func DecodeAgentsUpdate(payload []byte) (AgentsUpdate, error) {
	r := newReader(TypeAgentsUpdate, payload)
	m := AgentsUpdate{SessionID: r.text("session_id"), Agents: r.agents()}
	return m, r.err
}
