package projector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/slots"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a log, a state and members.
type world struct {
	t       testing.TB
	log     *memlog.Log
	store   *memstate.Store
	members *memstate.Members
	n       map[string]int // the publishers' ordinals

	mu       sync.Mutex          // guards all below
	records  map[string][]uint64 // stream sequences by key of the head
	heads    map[string]uint64   // what the saved heads hold
	overtook string
}

// watch holds every commit that is accepted to what a checkpoint means: there
// is no record up to it that the saved head of its agent does not hold.
func (w *world) watch(c statestore.Commit) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, wr := range c.Writes {
		if strings.HasPrefix(wr.Key, statestore.PrefixHead+".") {
			w.heads[wr.Key] = holds(wr)
		}
	}
	for _, wr := range c.Writes {
		slot, ok := strings.CutPrefix(wr.Key, "ckpt.projector.")
		if !ok {
			continue
		}
		ckpt, err := slots.DecodeCheckpoint(wr.Value)
		if err != nil {
			w.overtook = err.Error()
			continue
		}
		for key, seqs := range w.records {
			if !strings.HasPrefix(key, "head."+slot+".") {
				continue
			}
			n, _ := slices.BinarySearch(seqs, ckpt.StreamSeq+1)
			if n > 0 && seqs[n-1] > w.heads[key] {
				w.overtook = fmt.Sprintf("checkpoint %d, but %s holds records up to %d only and there is %d", ckpt.StreamSeq, key, w.heads[key], seqs[n-1])
			}
		}
	}
}

// holds is the stream sequence of the last record in a head.
func holds(w statestore.Write) uint64 {
	tokens := strings.Split(w.Key, ".")
	s, _ := events.ParseSessionToken(tokens[2]) // ids of these tests
	a, _ := events.ParseAgentToken(tokens[3])
	if f, err := fold.Decode(s, a, fold.State{Head: w.Value}); err == nil {
		return f.StreamSeq()
	}
	var p struct {
		Position struct {
			StreamSeq uint64 `json:"stream_seq"`
		} `json:"position"`
	}
	_ = json.Unmarshal(w.Value, &p) // a deletion or an old version holds nothing
	return p.Position.StreamSeq
}

// sound fails when a checkpoint has overtaken a head.
func (w *world) sound() {
	w.t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.overtook != "" {
		w.t.Error(w.overtook)
	}
}

func newWorld(t testing.TB, slots int) *world {
	w := &world{
		t: t, log: memlog.New(slots), store: memstate.New(), members: memstate.NewMembers(),
		n: map[string]int{}, records: map[string][]uint64{}, heads: map[string]uint64{},
	}
	w.store.Observe(w.watch)
	return w
}

// process is a running projector.
type process struct {
	*projector.Service
	gate *gate
	stop context.CancelFunc
	done chan error
}

func (w *world) start(name string, limits projector.Limits) *process {
	ctx, stop := context.WithCancel(context.WithoutCancel(w.t.Context()))
	g := &gate{Store: w.store}
	p := &process{gate: g, stop: stop, done: make(chan error, 1)}
	deps := projector.Deps{Log: w.log, Store: g, Members: w.members}
	p.Service = projector.New(deps, projector.Config{Name: name, Limits: limits})
	go func() { p.done <- p.Run(ctx) }()
	return p
}

// end stops it cleanly.
func (p *process) end(t testing.TB) {
	t.Helper()
	p.stop()
	if err := <-p.done; err != nil {
		t.Error(err)
	}
}

// kill lets nothing through any more, as a killed process.
func (p *process) kill(t testing.TB) {
	t.Helper()
	p.gate.shut.Store(true)
	p.end(t)
}

// held is how many agents and sessions are in memory.
func (p *process) held() (agents, sessions int) {
	for _, s := range p.Status() {
		agents += s.Agents
		sessions += s.Sessions
	}
	return agents, sessions
}

// gate is a process's way to the store.
type gate struct {
	statestore.Store
	shut atomic.Bool
}

var errKilled = errors.New("killed")

func (g *gate) Get(ctx context.Context, key string) (statestore.Entry, error) {
	if g.shut.Load() {
		return statestore.Entry{}, errKilled
	}
	return g.Store.Get(ctx, key)
}

func (g *gate) Put(ctx context.Context, w statestore.Write) (statestore.Rev, error) {
	if g.shut.Load() {
		return nil, errKilled
	}
	return g.Store.Put(ctx, w)
}

func (g *gate) Apply(ctx context.Context, c statestore.Commit) ([]statestore.Rev, error) {
	if g.shut.Load() {
		return nil, errKilled
	}
	return g.Store.Apply(ctx, c)
}

// publish appends one event; payload is JSON.
func (w *world) publish(session, agent, typ, payload string) uint64 {
	w.t.Helper()
	w.n[session+"/"+agent]++
	return w.raw(session, agent, fmt.Sprintf(
		`{"event_type":%q,"payload":%s,"run_id":"r1","n":%d,"event_id":"e%d","timestamp":"2026-01-02T03:04:05.000Z"}`,
		typ, payload, w.n[session+"/"+agent], w.n[session+"/"+agent]))
}

func (w *world) raw(session, agent, data string) uint64 {
	w.t.Helper()
	ack, err := w.log.Append(w.t.Context(), events.SessionID(session), events.AgentID(agent), []byte(data), "")
	if err != nil {
		w.t.Fatal(err)
	}
	key := headKey(w.log.Slots(), events.SessionID(session), events.AgentID(agent))
	w.mu.Lock()
	defer w.mu.Unlock()
	w.records[key] = append(w.records[key], ack.StreamSeq)
	return ack.StreamSeq
}

func headKey(slots int, s events.SessionID, a events.AgentID) string {
	return statestore.AgentKey(statestore.PrefixHead, s.Slot(slots), s.Token(), a.Token())
}

// offline is the fold of an agent's whole log.
func offline(t testing.TB, log eventlog.Log, s events.SessionID, a events.AgentID) *fold.Agent {
	t.Helper()
	f := fold.New(s, a)
	for {
		recs, err := log.Range(t.Context(), s, a, f.StreamSeq(), 500)
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range recs {
			rec := fold.Record{Seq: f.Seq() + 1, StreamSeq: r.StreamSeq, StoredAt: r.StoredAt.UnixMilli(), Data: bytes.Clone(r.Data)}
			if r.Lost {
				rec.Kind = fold.Lost
			}
			f.Step(rec)
		}
		if len(recs) < 500 {
			return f
		}
	}
}

// same fails unless the saved head of each agent is the offline fold, byte for
// byte, and every checkpoint is where its slot's log ends.
func same(t testing.TB, log eventlog.Log, store statestore.Store, sessions map[string][]string) {
	t.Helper()
	last := map[int]uint64{}
	for s, agents := range sessions {
		session := events.SessionID(s)
		for _, name := range agents {
			agent := events.AgentID(name)
			want := offline(t, log, session, agent)
			slot := session.Slot(log.Slots())
			last[slot] = max(last[slot], want.StreamSeq())
			e, err := store.Get(t.Context(), headKey(log.Slots(), session, agent))
			if err != nil {
				t.Errorf("%s/%s: %v", s, name, err)
				continue
			}
			state := want.Encode()
			for prefix, doc := range map[string][]byte{statestore.PrefixMemory: state.Memory, statestore.PrefixResume: state.Resume} {
				key := statestore.AgentKey(prefix, slot, session.Token(), agent.Token())
				if beside, err := store.Get(t.Context(), key); err != nil || !bytes.Equal(beside.Value, doc) {
					t.Errorf("%s/%s: %s is not the fold's (%v)", s, name, key, err)
				}
			}
			if !bytes.Equal(e.Value, state.Head) {
				got, err := fold.Decode(session, agent, fold.State{Head: e.Value})
				if err != nil {
					t.Errorf("%s/%s: the head is not readable: %v", s, name, err)
					continue
				}
				t.Errorf("%s/%s: the head at seq %d is not the fold at seq %d", s, name, got.Seq(), want.Seq())
			}
		}
	}
	for slot, seq := range last {
		if got := saved(t, store, slot); got.StreamSeq != seq {
			t.Errorf("slot %d: checkpoint %d, want %d", slot, got.StreamSeq, seq)
		}
	}
}

func saved(t testing.TB, store statestore.Store, slot int) slots.Checkpoint {
	t.Helper()
	e, err := store.Get(t.Context(), statestore.CheckpointKey(statestore.RoleProjector, slot))
	if errors.Is(err, statestore.ErrNotFound) {
		return slots.Checkpoint{}
	}
	if err != nil {
		t.Fatal(err)
	}
	c, err := slots.DecodeCheckpoint(e.Value)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func (w *world) head(s, a string) (*fold.Agent, statestore.Entry) {
	w.t.Helper()
	e, err := w.store.Get(w.t.Context(), headKey(w.log.Slots(), events.SessionID(s), events.AgentID(a)))
	if errors.Is(err, statestore.ErrNotFound) {
		return nil, e
	}
	if err != nil {
		w.t.Fatal(err)
	}
	f, err := fold.Decode(events.SessionID(s), events.AgentID(a), fold.State{Head: e.Value})
	if err != nil {
		return nil, e
	}
	return f, e
}

// seq is how far the saved head is.
func (w *world) seq(s, a string) uint64 {
	if f, _ := w.head(s, a); f != nil {
		return f.Seq()
	}
	return 0
}

type rowDoc struct {
	State   string            `json:"state"`
	Title   string            `json:"title"`
	Agents  int               `json:"agents"`
	Turns   int               `json:"turns"`
	Events  int               `json:"events"`
	Pending int               `json:"pending_interactions"`
	Tokens  map[string]int    `json:"tokens"`
	Labels  map[string]string `json:"labels"`
	Started string            `json:"started_at"`
	Active  string            `json:"last_activity"`
	Session string            `json:"session_id"`
	Cost    float64           `json:"cost"`
}

func (w *world) row(s string) rowDoc {
	w.t.Helper()
	e, err := w.store.Get(w.t.Context(), statestore.IndexKey(events.SessionID(s).Token()))
	if errors.Is(err, statestore.ErrNotFound) {
		return rowDoc{}
	}
	var r rowDoc
	if err == nil {
		err = json.Unmarshal(e.Value, &r)
	}
	if err != nil {
		w.t.Fatal(err)
	}
	return r
}
