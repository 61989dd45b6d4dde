package protocol

import (
	"github.com/stenohq/steno/pkg/events/scan"
	"github.com/stenohq/steno/pkg/reducer"
)

// Page is the answer of the transcript route.
type Page struct {
	AgentID  string
	Snapshot *reducer.Snapshot // items and the entities they need
	HasMore  bool
	Agents   []reducer.AgentDescriptor
	Seq      uint64 // watermark
	Epoch    string
}

// AppendJSON appends the page.
func (p *Page) AppendJSON(dst []byte) []byte {
	dst = putText(append(dst, '{'), "agent_id", p.AgentID)
	dst = p.Snapshot.AppendMembers(dst)
	meta := p.Snapshot.Meta()
	dst = append(meta.AppendJSON(putName(dst, "meta")), ',')
	dst = putBool(dst, "has_more", p.HasMore)
	dst = putAgents(dst, p.Agents)
	dst = append(putName(dst, "pending_interactions"), '[')
	for i := range p.Snapshot.Pending() {
		dst = append(scan.AppendQuote(dst, i.InteractionID), ',')
	}
	dst = append(closed(dst, ']'), ',')
	dst = putUint(dst, "seq", p.Seq)
	return closed(putText(dst, "epoch", p.Epoch), '}')
}

// DecodePage reads what AppendJSON writes.
func DecodePage(data []byte) (Page, error) {
	r := newDeepReader("page", data)
	r.need("items")
	p := Page{
		AgentID: r.text("agent_id"), HasMore: r.bool("has_more"), Agents: r.agents(),
		Seq: r.uint("seq"), Epoch: r.text("epoch"),
	}
	if r.err == nil {
		s, err := reducer.DecodeSnapshot(data)
		if err != nil {
			r.fail("", err.Error())
		} else {
			p.Snapshot = s.With(p.AgentID, p.HasMore)
		}
	}
	return p, r.err
}
