package projector_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

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
}

func newWorld(t testing.TB, slots int) *world {
	return &world{t: t, log: memlog.New(slots), store: memstate.New(), members: memstate.NewMembers(), n: map[string]int{}}
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
			if !bytes.Equal(e.Value, want.Encode().Head) {
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

func TestProjects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 4)
		p := w.start("a", projector.Limits{})
		synctest.Wait()
		if err := p.Ready(); err != nil {
			t.Fatal(err)
		}
		w.publish("a.b", "main", "agent.started", `{"labels":{}}`)
		w.publish("a.b", "main", "turn.started", `{"prompt":"hello"}`)
		w.publish("a.b", "main", "assistant.delta", `{"delta":"Hi"}`)
		w.publish("a.b", "sub", "turn.started", `{"prompt":"help"}`)
		w.publish("other", "main", "turn.started", `{"prompt":"x"}`)
		w.publish("other", "main", "turn.ended", `{"reason":"failed","error":"no"}`)
		time.Sleep(4 * time.Second)
		same(t, w.log, w.store, map[string][]string{"a.b": {"main", "sub"}, "other": {"main"}})
		want := rowDoc{
			Session: "a.b", Title: "hello", State: "running", Agents: 2, Turns: 2, Events: 4,
			Tokens: map[string]int{"input": 0, "output": 0, "cached": 0}, Labels: map[string]string{},
			Started: "2026-01-02T03:04:05.000Z", Active: "2026-01-02T03:04:05.000Z",
		}
		if got := w.row("a.b"); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("row %+v, want %+v", got, want)
		}
		if got := w.row("other"); got.State != "failed" {
			t.Errorf("row %+v", got)
		}
		p.end(t)
	})
}

// A stop saves what is at hand, due or not.
func TestStopSaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 2)
		p := w.start("a", projector.Limits{})
		synctest.Wait()
		for i := range 20 {
			w.publish(fmt.Sprint("s", i), "main", "turn.started", `{"prompt":"x"}`)
		}
		synctest.Wait()
		p.end(t)
		sessions := map[string][]string{}
		for i := range 20 {
			sessions[fmt.Sprint("s", i)] = []string{"main"}
			if w.row(fmt.Sprint("s", i)).State != "running" {
				t.Error("no row")
			}
		}
		same(t, w.log, w.store, sessions)
	})
}

func TestWhenAHeadIsDue(t *testing.T) {
	for _, test := range []struct {
		name     string
		run      func(w *world) // after one turn was started and saved
		min, max time.Duration
	}{
		{"a delta", func(w *world) {
			w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
		}, 2 * time.Second, 2100 * time.Millisecond},
		{"end of the turn", func(w *world) {
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		}, 0, 100 * time.Millisecond},
		{"start of a tool", func(w *world) {
			w.publish("s", "main", "tool.call.started", `{"toolCallId":"c","name":"Bash","args":{}}`)
		}, 0, 100 * time.Millisecond},
		{"somebody is asked", func(w *world) {
			w.publish("s", "main", "interaction.request", `{"id":"i","kind":"question","request":{}}`)
		}, 0, 100 * time.Millisecond},
		{"1,000 events", func(w *world) {
			for range 1000 {
				w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
			}
		}, 0, 200 * time.Millisecond},
		{"little after a large head", func(w *world) {
			w.publish("s", "main", "assistant.message", `{"text":"`+strings.Repeat("x", 500_000)+`"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			time.Sleep(100 * time.Millisecond)
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		}, 29 * time.Second, 31 * time.Second},
		{"enough after a large head", func(w *world) {
			w.publish("s", "main", "assistant.message", `{"text":"`+strings.Repeat("x", 500_000)+`"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			time.Sleep(100 * time.Millisecond)
			w.publish("s", "main", "turn.started", `{"prompt":"`+strings.Repeat("y", 310_000)+`"}`)
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		}, 0, 200 * time.Millisecond},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
				w.publish("s", "main", "turn.step.started", `{}`)
				time.Sleep(2200 * time.Millisecond)
				if w.seq("s", "main") != 2 {
					t.Fatal("the first head is not there")
				}
				test.run(w)
				begin := time.Now()
				want := offline(t, w.log, "s", "main").Seq()
				for w.seq("s", "main") != want && time.Since(begin) < time.Minute {
					time.Sleep(10 * time.Millisecond)
				}
				if d := time.Since(begin); d < test.min || d > test.max {
					t.Errorf("saved after %v, want %v to %v", d, test.min, test.max)
				}
				p.end(t)
			})
		})
	}
}

// bytesWritten counts the bytes of heads that are written.
func (w *world) bytesWritten() *atomic.Int64 {
	var n atomic.Int64
	w.store.Observe(func(c statestore.Commit) {
		for _, wr := range c.Writes {
			if strings.HasPrefix(wr.Key, statestore.PrefixHead) {
				n.Add(int64(len(wr.Value)))
			}
		}
	})
	return &n
}

// The state written is in proportion to the events, whatever the session is
// like.
func TestStateWritten(t *testing.T) {
	pad := strings.Repeat("x", 2000)
	for name, run := range map[string]func(w *world){
		"200 tools in one turn": func(w *world) {
			w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
			for i := range 200 {
				w.publish("s", "main", "tool.call.started", fmt.Sprintf(`{"toolCallId":"c%d","name":"Bash","args":{"a":%q}}`, i, pad))
				time.Sleep(100 * time.Millisecond)
				w.publish("s", "main", "tool.result", fmt.Sprintf(`{"toolCallId":"c%d","output":%q}`, i, pad+pad))
				time.Sleep(300 * time.Millisecond)
			}
		},
		"a streamed frame of 4 MB": func(w *world) {
			w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
			for range 2000 {
				w.publish("s", "main", "assistant.delta", fmt.Sprintf(`{"delta":%q}`, pad))
				time.Sleep(20 * time.Millisecond)
			}
		},
		"many short turns": func(w *world) {
			for range 400 {
				w.publish("s", "main", "turn.started", fmt.Sprintf(`{"prompt":%q}`, pad))
				w.publish("s", "main", "assistant.message", fmt.Sprintf(`{"text":%q}`, pad))
				w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
				time.Sleep(200 * time.Millisecond)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				n := w.bytesWritten()
				p := w.start("a", projector.Limits{HeadForce: time.Hour})
				run(w)
				got := n.Load() // without what a stop saves
				p.end(t)
				recs, err := w.log.Range(t.Context(), "s", "main", 0, 1<<20)
				if err != nil {
					t.Fatal(err)
				}
				size := 0
				for _, r := range recs {
					size += len(r.Data)
				}
				if size < 1<<20 {
					t.Fatalf("only %d bytes of events", size)
				}
				if got > int64(3*size) || got == 0 {
					t.Errorf("%d bytes of heads for %d bytes of events", got, size)
				} else {
					t.Logf("%.2f bytes of heads for a byte of events", float64(got)/float64(size))
				}
				same(t, w.log, w.store, map[string][]string{"s": {"main"}})
			})
		})
	}
}

func TestRow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		var rows atomic.Int32
		w.store.Observe(func(c statestore.Commit) {
			for _, wr := range c.Writes {
				if strings.HasPrefix(wr.Key, statestore.PrefixIndex) {
					rows.Add(1)
				}
			}
		})
		p := w.start("a", projector.Limits{})
		synctest.Wait()
		state := func(want string) {
			t.Helper()
			time.Sleep(100 * time.Millisecond) // no second has to pass
			if got := w.row("s").State; got != want {
				t.Errorf("state %q, want %q", got, want)
			}
		}
		w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		state("running")
		w.publish("s", "sub", "turn.started", `{"prompt":"x"}`)
		w.publish("s", "sub", "interaction.request", `{"id":"i","kind":"question","request":{}}`)
		state("waiting")
		w.publish("s", "sub", "interaction.resolved", `{"id":"i","response":null}`)
		state("running")
		w.publish("s", "sub", "turn.ended", `{"reason":"completed"}`)
		w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		state("done")
		w.publish("s", "main", "turn.started", `{"prompt":"again"}`)
		rows.Store(0)
		for range 1000 {
			w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
			time.Sleep(10 * time.Millisecond)
		}
		if n := rows.Load(); n > 13 {
			t.Errorf("%d rows in 10 s", n)
		}
		time.Sleep(2 * time.Second)
		// After a restart, and with one agent only in memory, the row is still
		// that of all agents.
		p.kill(t)
		p = w.start("b", projector.Limits{})
		time.Sleep(10 * time.Second)
		w.publish("s", "sub", "turn.started", `{"prompt":"x"}`)
		time.Sleep(3 * time.Second)
		if r := w.row("s"); r.Agents != 2 || r.Turns != 4 || r.Events != 1000+8 || r.Title != "x" {
			t.Errorf("row %+v", r)
		}
		p.end(t)
	})
}

// Idle agents are let go and come back with what they were.
func TestIdle(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		sessions := map[string][]string{}
		for i := range 50 {
			s := fmt.Sprint("s", i)
			w.publish(s, "main", "turn.started", `{"prompt":"x"}`)
			w.publish(s, "sub", "turn.started", `{"prompt":"x"}`)
			sessions[s] = []string{"main", "sub"}
		}
		time.Sleep(10 * time.Second)
		if agents, sess := p.held(); agents != 100 || sess != 50 {
			t.Errorf("holds %d agents of %d sessions", agents, sess)
		}
		time.Sleep(30 * time.Second)
		if agents, sess := p.held(); agents != 0 || sess != 0 {
			t.Errorf("still holds %d agents of %d sessions", agents, sess)
		}
		for s := range sessions {
			w.publish(s, "sub", "assistant.delta", `{"delta":"x"}`)
		}
		time.Sleep(35 * time.Second)
		same(t, w.log, w.store, sessions)
		if r := w.row("s7"); r.Agents != 2 || r.Events != 3 {
			t.Errorf("row %+v", r)
		}
		p.end(t)
	})
}

// With more agents than may be held the longest untouched go first, and
// reading waits for what is unsaved.
func TestBounds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{Agents: 10, Unsaved: 40})
		sessions := map[string][]string{}
		synctest.Wait()
		w.store.Inject(func(op memstate.Op) memstate.Fault {
			if op.Kind == memstate.OpApply {
				return memstate.Busy
			}
			return memstate.None
		})
		for i := range 2000 {
			s := fmt.Sprint("s", i)
			w.publish(s, "main", "turn.started", `{"prompt":"x"}`)
			sessions[s] = []string{"main"}
		}
		time.Sleep(10 * time.Second)
		if agents, _ := p.held(); agents < 40 || agents > 40+512 {
			t.Errorf("holds %d agents while nothing can be saved", agents)
		}
		time.Sleep(40 * time.Second)
		if p.Ready() == nil {
			t.Error("ready although nothing moves")
		}
		w.store.Inject(nil)
		time.Sleep(60 * time.Second)
		same(t, w.log, w.store, sessions)
		if err := p.Ready(); err != nil {
			t.Error(err)
		}
		p.end(t)
	})
}

// Heads that cannot be continued are made again from the log: at once for an
// agent that goes on, in the background for all others.
func TestRefold(t *testing.T) {
	for _, test := range []struct {
		name string
		head []byte
	}{
		{"another fold version", nil},
		{"position only", []byte(`{"position":{"seq":3,"stream_seq":3}}`)},
		{"absent although there are earlier messages", []byte{}},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				sessions := map[string][]string{"quiet": {"main"}, "busy": {"main", "sub"}}
				for s, agents := range sessions {
					for _, a := range agents {
						w.publish(s, a, "turn.started", `{"prompt":"x"}`)
						w.publish(s, a, "assistant.message", `{"text":"hello"}`)
						w.publish(s, a, "turn.ended", `{"reason":"completed"}`)
					}
				}
				time.Sleep(5 * time.Second)
				p.end(t)
				for s, agents := range sessions {
					for _, a := range agents {
						_, e := w.head(s, a)
						value := test.head
						switch {
						case test.head == nil: // format, then version
							value = bytes.Clone(e.Value)
							value[1] = 99
						case len(test.head) == 0:
							value = nil
						}
						if _, err := w.store.Put(t.Context(), statestore.Write{Key: e.Key, Value: value, Expect: e.Rev}); err != nil {
							t.Fatal(err)
						}
					}
				}
				if test.head == nil {
					w.setFold(0)
				} else {
					delete(sessions, "quiet") // nobody looks for these
				}
				p = w.start("b", projector.Limits{})
				time.Sleep(time.Second)
				for _, a := range sessions["busy"] {
					w.publish("busy", a, "turn.started", `{"prompt":"y"}`)
				}
				time.Sleep(40 * time.Second)
				same(t, w.log, w.store, sessions)
				if got := saved(t, w.store, 0).Fold; got != fold.Version {
					t.Errorf("the slot's heads count as of fold version %d", got)
				}
				if r := w.row("busy"); r.Agents != 2 || r.Turns != 4 {
					t.Errorf("row %+v", r)
				}
				p.end(t)
			})
		})
	}
}

// setFold makes a checkpoint tell of another fold version.
func (w *world) setFold(version int) {
	w.t.Helper()
	key := statestore.CheckpointKey(statestore.RoleProjector, 0)
	e, err := w.store.Get(w.t.Context(), key)
	if err != nil {
		w.t.Fatal(err)
	}
	var doc map[string]any
	if err := json.Unmarshal(e.Value, &doc); err != nil {
		w.t.Fatal(err)
	}
	doc["fold"] = version
	value, err := json.Marshal(doc)
	if err != nil {
		w.t.Fatal(err)
	}
	if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: key, Value: value, Expect: e.Rev}); err != nil {
		w.t.Fatal(err)
	}
}

// A head that somebody else changed is loaded again.
func TestForeignHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
		time.Sleep(3 * time.Second)
		_, e := w.head("s", "main")
		if _, err := w.store.Put(t.Context(), statestore.Write{Key: e.Key, Value: e.Value, Expect: e.Rev}); err != nil {
			t.Fatal(err)
		}
		for range 50 {
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(40 * time.Second)
		same(t, w.log, w.store, map[string][]string{"s": {"main"}})
		p.end(t)
	})
}

// A head that fits into no commit is kept as its position, and as itself again
// once it is smaller.
func TestTooLargeHead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		text := strings.Repeat("x", 900_000)
		for range 10 {
			w.publish("s", "main", "assistant.delta", `{"delta":"`+text+`"}`)
			w.publish("s", "main", "thinking.delta", `{"delta":"x"}`)
		}
		time.Sleep(40 * time.Second)
		last := w.publish("s", "main", "assistant.delta", `{"delta":"y"}`)
		time.Sleep(40 * time.Second)
		if f, e := w.head("s", "main"); f != nil || !strings.Contains(string(e.Value), `"position":{"seq":22,`) {
			t.Errorf("the head is %.100q", e.Value)
		}
		if got := saved(t, w.store, 0).StreamSeq; got != last {
			t.Errorf("checkpoint %d, want %d", got, last)
		}
		// Later steps close the large one.
		for range 60 {
			w.publish("s", "main", "turn.step.started", `{}`)
			w.publish("s", "main", "turn.step.completed", `{}`)
		}
		time.Sleep(40 * time.Second)
		same(t, w.log, w.store, map[string][]string{"s": {"main"}})
		p.end(t)
	})
}

func TestBadRecords(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(t, 1)
		p := w.start("a", projector.Limits{})
		w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
		w.raw("s", "main", `no JSON`)
		w.raw("s", "main", `{"event_type":"turn.ended","payload":{},"session_id":"other"}`)
		w.log.Put(eventlog.Record{Session: "s", Agent: "main", Lost: true, StoredAt: time.Now().UTC()})
		w.publish("s", "main", "assistant.delta", `{"delta":7}`)
		w.publish("s", "main", "no.such.type", `{}`)
		w.publish("s", "main", "assistant.delta", `{"delta":"x"}`)
		time.Sleep(5 * time.Second)
		same(t, w.log, w.store, map[string][]string{"s": {"main"}})
		if w.seq("s", "main") != 7 {
			t.Errorf("seq %d, want 7", w.seq("s", "main"))
		}
		p.end(t)
	})
}

// What a checkpoint does not fit stops the slot and is said.
func TestStreamDoesNotFit(t *testing.T) {
	for _, test := range []struct {
		name   string
		change func(w *world)
		want   string
	}{
		{"trimmed without a record", func(w *world) {
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.log.Trim(3)
		}, "messages are missing"},
		{"trimmed with a record", func(w *world) {
			if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: "trim.STENO_EVENTS_0", Value: []byte("{}")}); err != nil {
				w.t.Fatal(err)
			}
			w.publish("s", "main", "turn.ended", `{"reason":"completed"}`)
			w.publish("s", "main", "turn.started", `{"prompt":"y"}`)
			w.log.Trim(3)
		}, ""},
		{"trimmed below the checkpoint", func(w *world) { w.log.Trim(1) }, ""},
		{"shorter than the checkpoint", func(w *world) {
			key := statestore.CheckpointKey(statestore.RoleProjector, 0)
			e, err := w.store.Get(w.t.Context(), key)
			if err != nil {
				w.t.Fatal(err)
			}
			value := strings.Replace(string(e.Value), `"stream_seq":2`, `"stream_seq":99`, 1)
			if _, err := w.store.Put(w.t.Context(), statestore.Write{Key: key, Value: []byte(value), Expect: e.Rev}); err != nil {
				w.t.Fatal(err)
			}
		}, "the stream has lost messages"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
				w.publish("s", "main", "turn.step.started", `{}`)
				time.Sleep(3 * time.Second)
				p.end(t)
				test.change(w)
				p = w.start("b", projector.Limits{})
				time.Sleep(3 * time.Second)
				if err := p.Ready(); test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
					t.Errorf("ready: %v, want %q", err, test.want)
				}
				p.end(t)
			})
		})
	}
}

// A stream made anew is projected from its start, while the projector runs and
// when it starts.
func TestStreamMadeAnew(t *testing.T) {
	for _, running := range []bool{true, false} {
		t.Run(fmt.Sprint("running ", running), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 1)
				p := w.start("a", projector.Limits{})
				for range 5 {
					w.publish("s", "main", "turn.started", `{"prompt":"x"}`)
					w.publish("gone", "main", "turn.started", `{"prompt":"x"}`)
				}
				time.Sleep(3 * time.Second)
				if !running {
					p.end(t)
				}
				w.log.Replace()
				clear(w.n)
				w.publish("s", "main", "turn.started", `{"prompt":"new"}`)
				if !running {
					p = w.start("a", projector.Limits{})
				}
				time.Sleep(20 * time.Second)
				same(t, w.log, w.store, map[string][]string{"s": {"main"}})
				if f, _ := w.head("gone", "main"); f != nil {
					t.Error("a head of the old stream is still there")
				}
				if err := p.Ready(); err != nil {
					t.Error(err)
				}
				p.end(t)
			})
		})
	}
}

// script publishes a random event of one of the agents.
type script struct {
	*world
	rnd      *rand.Rand
	mu       sync.Mutex // guards rnd against the store's faults
	sessions map[string][]string
}

func newScript(w *world, seed uint64) *script {
	s := &script{world: w, rnd: rand.New(rand.NewPCG(seed, 0)), sessions: map[string][]string{}}
	for i := range 5 {
		for j := range 1 + i%3 {
			s.sessions[fmt.Sprint("s", i)] = append(s.sessions[fmt.Sprint("s", i)], fmt.Sprint("a", j))
		}
	}
	return s
}

func (s *script) intN(n int) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.rnd.IntN(n)
}

func (s *script) event() {
	session := fmt.Sprint("s", s.intN(5))
	agents := s.sessions[session]
	agent := agents[s.intN(len(agents))]
	switch s.intN(14) {
	case 0:
		s.publish(session, agent, "turn.started", fmt.Sprintf(`{"prompt":"p%d"}`, s.intN(100)))
	case 1:
		s.publish(session, agent, "turn.ended", `{"reason":"completed"}`)
	case 2:
		s.publish(session, agent, "turn.step.completed", `{"usage":{"inputOther":3,"output":5}}`)
	case 3:
		s.publish(session, agent, "tool.call.started", fmt.Sprintf(`{"toolCallId":"c%d","name":"Bash","args":{}}`, s.intN(20)))
	case 4:
		s.publish(session, agent, "tool.result", fmt.Sprintf(`{"toolCallId":"c%d","output":"ok"}`, s.intN(20)))
	case 5:
		s.publish(session, agent, "interaction.request", fmt.Sprintf(`{"id":"i%d","kind":"question","request":{}}`, s.intN(5)))
	case 6:
		s.publish(session, agent, "interaction.resolved", fmt.Sprintf(`{"id":"i%d","response":null}`, s.intN(5)))
	case 7:
		s.raw(session, agent, "garbage")
	case 8:
		if s.n[session+"/"+agent] > 0 { // a double
			s.n[session+"/"+agent]--
		}
		s.publish(session, agent, "thinking.delta", `{"delta":"t"}`)
	default:
		s.publish(session, agent, "assistant.delta", fmt.Sprintf(`{"delta":"d%d"}`, s.intN(1000)))
	}
}

// complete publishes to agents that have no message yet.
func (s *script) complete() {
	for session, agents := range s.sessions {
		for _, a := range agents {
			s.publish(session, a, "turn.started", `{"prompt":"last"}`)
		}
	}
}

// Projectors are killed, stopped and started at random, on a store that fails
// at random: in the end the heads are the folds of the logs, byte for byte.
func TestKillsAndFaults(t *testing.T) {
	for seed := range uint64(40) {
		t.Run(fmt.Sprint("seed ", seed), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(t, 3)
				s := newScript(w, seed)
				w.store.Inject(func(op memstate.Op) memstate.Fault {
					if s.intN(100) >= 15 {
						return memstate.None
					}
					return memstate.Fault(s.intN(int(memstate.Late) + 1))
				})
				limits := projector.Limits{Idle: 3 * time.Second, Agents: 4, HeadForce: 5 * time.Second, CommitSize: 4000}
				running := map[string]*process{}
				life := 0
				for range 60 {
					for range s.intN(60) {
						s.event()
					}
					name := fmt.Sprint("p", s.intN(2))
					p := running[name]
					switch {
					case p == nil:
						life++
						running[name] = w.start(fmt.Sprintf("%s-%d", name, life), limits)
					case s.intN(4) == 0:
						p.kill(t)
						delete(running, name)
					case s.intN(6) == 0:
						p.end(t)
						delete(running, name)
					default:
						w.store.DeliverLate()
					}
					time.Sleep(time.Duration(s.intN(3000)) * time.Millisecond)
				}
				s.complete()
				w.store.Inject(nil)
				if len(running) == 0 {
					running["last"] = w.start("last", limits)
				}
				time.Sleep(60 * time.Second)
				if in, _ := w.store.DeliverLate(); in > 0 {
					t.Errorf("%d late commits were accepted", in)
				}
				same(t, w.log, w.store, s.sessions)
				for session, agents := range s.sessions {
					if r := w.row(session); r.Agents != len(agents) {
						t.Errorf("row %+v of a session of %d agents", r, len(agents))
					}
				}
				for _, p := range running {
					if err := p.Ready(); err != nil {
						t.Error(err)
					}
					p.end(t)
				}
			})
		})
	}
}
