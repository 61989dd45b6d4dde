package gwclient

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"github.com/coder/websocket"

	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/protocol"
)

// handle does what one frame says; attached tells that it acknowledged the
// subscription.
func (w *Watch) handle(ctx context.Context, conn *websocket.Conn, frame []byte) (attached bool, err error) {
	control, err := protocol.DecodeControl(frame)
	if err != nil {
		return false, fmt.Errorf("read a frame of the gateway: %w", err)
	}
	switch control.Type {
	case protocol.TypePing:
		return false, w.send(ctx, conn, protocol.TypePong, "", control.Payload)
	case protocol.TypeAck:
		return control.ID == `"`+subscribeID+`"` && control.Code == 0, refusedBy(&control)
	case protocol.TypeResyncRequired:
		resync, err := protocol.DecodeResync(control.Payload)
		if err == nil && resync.Reason != protocol.ReasonBufferOverflow {
			w.forget()
		}
		return false, err
	case protocol.TypeReset, protocol.TypeOps:
		return false, w.data(ctx, control.Type, control.Payload)
	}
	return false, nil // a hello, or what this version does not know
}

// refusedBy is the error of an ack. Its code is an HTTP status: a gateway that
// is starting, stopping or busy will do it later.
func refusedBy(ack *protocol.Control) error {
	switch {
	case ack.Code == 0:
		return nil
	case ack.Code >= 400 && ack.Code < 500 && ack.Code != http.StatusTooManyRequests:
		return fmt.Errorf("%w: %s", errRefused, ack.Msg)
	}
	return fmt.Errorf("gateway: %s", ack.Msg)
}

// forget gives up what was told: the session begins anew.
func (w *Watch) forget() {
	for _, p := range w.agents {
		p.anew = true
	}
	w.epoch = ""
}

func (w *Watch) data(ctx context.Context, kind string, payload []byte) error {
	if kind == protocol.TypeReset {
		m, err := protocol.DecodeReset(payload)
		if err != nil {
			return fmt.Errorf("read a baseline: %w", err)
		}
		return w.reset(ctx, &m)
	}
	m, err := protocol.DecodeOpsFrame(payload)
	if err != nil {
		return fmt.Errorf("read operations: %w", err)
	}
	return w.ops(ctx, &m)
}

// place finds how far an agent was told.
func (w *Watch) place(agent string) *place {
	p := w.agents[agent]
	if p == nil {
		p = &place{}
		if all := w.agents["*"]; all != nil {
			*p = *all
		}
		w.agents[agent] = p
	}
	return p
}

func (w *Watch) reset(ctx context.Context, m *protocol.Reset) error {
	p := w.place(m.AgentID)
	why := First
	switch {
	case p.anew || p.set && w.epoch != "" && m.Epoch != w.epoch:
		why = Anew
	case p.set && m.Seq <= p.seq:
		return nil
	case p.set:
		filled, err := w.fill(ctx, m.AgentID, p, m.Seq, m.Epoch)
		if err != nil || filled {
			return err
		}
		why = Lost
	}
	w.epoch = m.Epoch
	*p = place{seq: m.Seq, set: true}
	w.Handler.Baseline(m.AgentID, m.Snapshot, m.Seq, why)
	return nil
}

func (w *Watch) ops(ctx context.Context, m *protocol.Ops) error {
	p := w.place(m.AgentID)
	if p.anew || w.epoch != "" && m.Epoch != w.epoch || m.Seq <= p.seq {
		return nil // a baseline will follow, or it was told
	}
	if m.PrevSeq > p.seq {
		filled, err := w.fill(ctx, m.AgentID, p, m.Seq, m.Epoch)
		if err == nil && !filled {
			err = errors.New("batches are missing and the gateway cannot give them")
		}
		return err
	}
	w.tell(m.AgentID, p, m.Batch, m.Epoch)
	return nil
}

func (w *Watch) tell(agent string, p *place, b protocol.Batch, epoch string) {
	w.epoch = epoch
	p.seq, p.set = b.Seq, true
	w.Handler.Batch(agent, b)
}

// fill tells what lies between an agent's place and a seq. It reports false,
// having told nothing, when the gateway does not know it any more.
func (w *Watch) fill(ctx context.Context, agent string, p *place, to uint64, epoch string) (bool, error) {
	for p.seq < to {
		answer, err := w.Client.CatchUp(ctx, w.Session, events.AgentID(agent), p.seq, w.Grade, epoch)
		if err != nil {
			return false, err
		}
		if !answer.Complete {
			return false, nil
		}
		for _, b := range answer.Batches {
			if b.Seq > p.seq {
				w.tell(agent, p, b, answer.Epoch)
			}
		}
		if answer.HasMore && len(answer.Batches) > 0 {
			continue
		}
		p.seq, p.set = max(p.seq, min(to, answer.LatestSeq)), true
		if answer.LatestSeq < to {
			return false, fmt.Errorf("the gateway's log ends at %d, before %d", answer.LatestSeq, to)
		}
	}
	return true, nil
}
