package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/coder/websocket"

	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/grade"
	"github.com/stenohq/steno/pkg/protocol"
	"github.com/stenohq/steno/pkg/reducer"
)

// client is a WebSocket client that holds every agent it is told of to the
// sequence contract.
type client struct {
	t  *testing.T
	ws *websocket.Conn

	mu       sync.Mutex
	grade    grade.Grade
	replicas map[string]*protocol.Replica
	resets   map[string]int
	batches  map[string]int
	undone   int      // resets inside batches
	order    []string // types of data frames as they came
	acks     []protocol.Control
	control  []protocol.Control
	err      error
	done     chan struct{}
}

func (r *rig) dial(capabilities ...string) *client {
	r.t.Helper()
	ws, _, err := websocket.Dial(r.t.Context(), "ws://"+r.addr+"/v1/ws", nil)
	if err != nil {
		r.t.Fatal(err)
	}
	ws.SetReadLimit(64 << 20)
	c := &client{
		t: r.t, ws: ws, grade: grade.Delta, replicas: map[string]*protocol.Replica{},
		resets: map[string]int{}, batches: map[string]int{}, done: make(chan struct{}),
	}
	go c.read()
	r.t.Cleanup(func() {
		_ = ws.CloseNow()
		<-c.done
	})
	if capabilities != nil {
		hello := protocol.ClientHello{ClientID: "test", Capabilities: capabilities}
		c.send(protocol.TypeClientHello, hello.AppendJSON(nil))
	}
	return c
}

func (c *client) send(typ string, payload []byte) {
	c.t.Helper()
	f := protocol.Control{Type: typ, ID: `"x"`, Payload: payload}
	if err := c.ws.Write(c.t.Context(), websocket.MessageText, f.AppendJSON(nil)); err != nil {
		c.t.Error(err)
	}
}

// watch subscribes at one grade and waits for the ack.
func (c *client) watch(session string, spec grade.Spec, since map[string]uint64, epoch string) {
	c.t.Helper()
	c.mu.Lock()
	n := len(c.acks)
	c.mu.Unlock()
	sub := protocol.Subscribe{SessionID: session, Transcript: spec, Since: since, Epoch: epoch}
	c.send(protocol.TypeSubscribe, sub.AppendJSON(nil))
	c.until("ack", func() bool { return len(c.acks) > n })
}

// until waits for what the reader has noted.
func (c *client) until(what string, ok func() bool) {
	c.t.Helper()
	for end := time.Now().Add(patience); ; time.Sleep(time.Millisecond) {
		c.mu.Lock()
		yes, err := ok(), c.err
		c.mu.Unlock()
		if yes {
			return
		}
		if err != nil || time.Now().After(end) {
			c.t.Fatalf("never: %s (%v)", what, err)
		}
	}
}

func (c *client) read() {
	defer close(c.done)
	for {
		_, data, err := c.ws.Read(context.Background())
		if err == nil {
			err = c.take(data)
		}
		if err != nil {
			c.mu.Lock()
			c.err = err
			c.mu.Unlock()
			return
		}
	}
}

func (c *client) take(data []byte) error {
	var shell struct {
		Type string `json:"type"`
	}
	if err := json.Unmarshal(data, &shell); err != nil {
		return fmt.Errorf("%w in %.200s", err, data)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch shell.Type {
	case protocol.TypeReset, protocol.TypeOps, protocol.TypeAgentsUpdate:
		d, err := protocol.DecodeData(data)
		if err != nil {
			return err
		}
		c.order = append(c.order, d.Type)
		return c.data(d)
	case protocol.TypeAck, protocol.TypeServerHello, protocol.TypePing, protocol.TypePong:
		f, err := protocol.DecodeControl(data)
		if err != nil {
			return err
		}
		switch f.Type {
		case protocol.TypeAck:
			c.acks = append(c.acks, f)
		case protocol.TypePing:
			pong := protocol.Control{Type: protocol.TypePong, Payload: f.Payload}
			return c.ws.Write(context.Background(), websocket.MessageText, pong.AppendJSON(nil))
		}
		c.control = append(c.control, f)
	default:
		c.control = append(c.control, protocol.Control{Type: shell.Type, Payload: data})
	}
	return nil
}

func (c *client) data(d protocol.Data) error {
	switch d.Type {
	case protocol.TypeReset:
		m, err := protocol.DecodeReset(d.Payload)
		if err != nil {
			return err
		}
		c.resets[m.AgentID]++
		rep := c.replicas[m.AgentID]
		if rep == nil {
			rep = protocol.NewReplica(m.AgentID)
			c.replicas[m.AgentID] = rep
		}
		if rep.Ready() && m.Epoch == rep.Epoch() && m.Seq < rep.Seq() {
			return fmt.Errorf("reset of %s at %d below the watermark %d", m.AgentID, m.Seq, rep.Seq())
		}
		if err := c.bare(m.Snapshot); err != nil {
			return err
		}
		rep.Reset(&m)
	case protocol.TypeOps:
		m, err := protocol.DecodeOpsFrame(d.Payload)
		if err != nil {
			return err
		}
		for _, op := range m.Ops {
			if !c.grade.Admits(op.Kind) {
				return fmt.Errorf("%s at grade %s", op.Kind, c.grade)
			}
			if op.Snapshot != nil {
				c.undone++
				if err := c.bare(op.Snapshot); err != nil {
					return err
				}
			}
		}
		rep := c.replicas[m.AgentID]
		if rep == nil {
			return fmt.Errorf("operations of %s before its reset", m.AgentID)
		}
		c.batches[m.AgentID]++
		if out := rep.Ops(&m); out != protocol.Applied {
			return fmt.Errorf("batch %d (prev %d) of %s: outcome %d at watermark %d", m.Seq, m.PrevSeq, m.AgentID, out, rep.Seq())
		}
	}
	return nil
}

// bare wants no steps at grade turn.
func (c *client) bare(s *reducer.Snapshot) error {
	for turn := range s.Turns() {
		if c.grade == grade.Turn && len(turn.Steps) > 0 {
			return fmt.Errorf("a snapshot at grade turn has steps")
		}
	}
	return nil
}

// reaches waits until an agent's watermark is at the end of its log.
func (c *client) reaches(agent string, seq uint64) {
	c.t.Helper()
	c.until(fmt.Sprintf("%s reaches %d", agent, seq), func() bool {
		rep := c.replicas[agent]
		return rep != nil && rep.Seq() >= seq
	})
}

// state is what the client holds of an agent.
func (c *client) state(agent string) string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return window(c.replicas[agent].Transcript().Snapshot(-1))
}

func wantState(a *fold.Agent, g grade.Grade) string {
	return window(grade.Redact(a.Snapshot(-1), g))
}
