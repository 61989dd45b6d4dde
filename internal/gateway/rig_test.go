package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stenohq/steno/internal/archive"
	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/memlog"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/memstate"
	"github.com/stenohq/steno/pkg/events"
	"github.com/stenohq/steno/pkg/fold"
	"github.com/stenohq/steno/pkg/reducer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// patience is how long anything may take before a test gives up.
const patience = time.Minute

const topology = "11111111-2222-4333-8444-555555555555"

// rig is a log, a state store and a gateway over them on a loopback port. Log
// and state are in memory unless others are given.
type rig struct {
	t       *testing.T
	log     *memlog.Log
	events  eventlog.Log     // log, unless given
	store   statestore.Store // state, unless given
	state   *memstate.Store
	archive archive.Reader
	logger  *slog.Logger
	limits  Limits
	g       *Gateway
	addr    string
	stop    func()
}

func newRig(t *testing.T, change func(*rig)) *rig {
	t.Helper()
	r := &rig{t: t, log: memlog.New(16), state: memstate.New()}
	r.limits = Limits{
		Heartbeat: 3 * time.Second, Watermark: 20 * time.Millisecond,
		IdleCheck: 20 * time.Millisecond, Grace: 200 * time.Millisecond, Drain: 2 * time.Second,
	}
	if change != nil {
		change(r)
	}
	if r.events == nil {
		r.events, r.store = r.log, r.state
	}
	r.start()
	t.Cleanup(func() { r.stop() })
	return r
}

// start runs a gateway, a new one after stop.
func (r *rig) start() {
	r.t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	r.addr = ln.Addr().String()
	r.g = New(Config{
		Log: r.events, State: r.store, Archive: r.archive, TopologyID: topology, Listener: ln,
		Limits: r.limits, Logger: r.logger,
	})
	ctx, cancel := context.WithCancel(r.t.Context())
	done := make(chan error, 1)
	go func() { done <- r.g.Run(ctx) }()
	stopped := false
	r.stop = func() {
		if stopped {
			return
		}
		stopped = true
		cancel()
		if err := <-done; err != nil {
			r.t.Errorf("Run: %v", err)
		}
	}
	r.eventually("ready", func() bool { return r.g.Ready() == nil })
}

// eventually waits for a condition that nothing signals.
func (r *rig) eventually(what string, ok func() bool) {
	r.t.Helper()
	for end := time.Now().Add(patience); !ok(); {
		if time.Now().After(end) {
			r.t.Fatalf("never: %s", what)
		}
		time.Sleep(2 * time.Millisecond)
	}
}

// publish stores one event.
func (r *rig) publish(s, a, typ, payload string) {
	r.t.Helper()
	env := fmt.Sprintf(`{"event_type":%q,"payload":%s}`, typ, payload)
	if _, err := r.events.Append(r.t.Context(), events.SessionID(s), events.AgentID(a), []byte(env), ""); err != nil {
		r.t.Fatal(err)
	}
}

// folded is the offline fold of an agent's whole log, the tree alone: clients
// that answer no ping meanwhile are let go.
func (r *rig) folded(s, a string) *fold.Agent {
	r.t.Helper()
	return r.foldedTo(s, a, 1<<30)
}

// foldedTo is the fold of the log's first records.
func (r *rig) foldedTo(s, a string, seq uint64) *fold.Agent {
	r.t.Helper()
	return r.foldTo(s, a, seq, fold.TreeOnly())
}

// foldTo folds the log's first records with options.
func (r *rig) foldTo(s, a string, seq uint64, opts ...fold.Option) *fold.Agent {
	r.t.Helper()
	agent := fold.New(events.SessionID(s), events.AgentID(a), opts...)
	if seq == 0 {
		return agent
	}
	recs, err := r.events.Range(r.t.Context(), events.SessionID(s), events.AgentID(a), 0, int(seq))
	if err != nil {
		r.t.Fatal(err)
	}
	for i := range recs {
		agent.Step(foldRecord(&recs[i], uint64(i+1)))
	}
	return agent
}

func (r *rig) get(path string) (*http.Response, []byte) {
	r.t.Helper()
	return r.do(http.MethodGet, path, "")
}

// do sends a request whose path is written as it is, dots and all.
func (r *rig) do(method, path, body string) (*http.Response, []byte) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(r.t.Context(), method, "http://"+r.addr, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	req.URL.Opaque = "//" + r.addr + path
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	resp, err := client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		r.t.Fatal(err)
	}
	return resp, data
}

func (r *rig) getJSON(path string, v any) {
	r.t.Helper()
	resp, data := r.get(path)
	if resp.StatusCode != http.StatusOK {
		r.t.Fatalf("GET %s: %s: %s", path, resp.Status, data)
	}
	if err := json.Unmarshal(data, v); err != nil {
		r.t.Fatalf("GET %s: %v: %s", path, err, data)
	}
}

// window is a state cut to what every watcher holds, as bytes.
func window(s *reducer.Snapshot) string {
	return string(s.Window(reducer.WindowOptions{Turns: 3}).AppendJSON(nil))
}

// writer makes up the events of one agent.
type writer struct {
	r       *rig
	rnd     *rand.Rand
	s, a    string
	turn    int
	step    int
	call    int
	running bool
	tool    bool
	typed   int
}

func (w *writer) emit(typ, payload string) { w.r.publish(w.s, w.a, typ, payload) }

// next publishes one event that could come now.
func (w *writer) next() {
	if !w.running {
		w.running, w.step = true, 0
		w.emit("turn.started", fmt.Sprintf(`{"prompt":"question %d"}`, w.turn))
		return
	}
	id := fmt.Sprintf("call%d", w.call)
	switch n := w.rnd.IntN(20); {
	case n < 8:
		w.emit("assistant.delta", fmt.Sprintf(`{"delta":"text %d é😀 "}`, w.rnd.IntN(100)))
	case n < 11:
		w.emit("thinking.delta", fmt.Sprintf(`{"delta":"thought %d "}`, w.rnd.IntN(100)))
	case n < 12:
		w.emit("unknown.kind", `{}`)
	case n < 14 && w.tool:
		w.tool, w.typed = false, 0
		w.emit("tool.result", fmt.Sprintf(`{"toolCallId":%q,"output":"result %d"}`, id, w.call))
		w.call++
	case n < 16 && !w.tool:
		w.typed++
		w.emit("tool.call.delta", fmt.Sprintf(`{"toolCallId":%q,"name":"Bash","argumentsPart":"part of the arguments %d "}`, id, w.typed))
	case n < 17 && !w.tool:
		w.tool = true
		w.emit("tool.call.started", fmt.Sprintf(`{"toolCallId":%q,"name":"Bash","args":{"command":"run %d"}}`, id, w.call))
	case n < 18:
		w.emit("turn.step.completed", `{"usage":{"inputOther":10,"output":5},"model":"m"}`)
	case n < 19:
		w.end()
	default:
		w.step++
		w.emit("turn.step.started", `{}`)
	}
}

// end closes the turn, after which block and delta hold the same.
func (w *writer) end() {
	if !w.running {
		return
	}
	w.running, w.tool, w.typed = false, false, 0
	w.turn++
	w.call++
	w.emit("turn.ended", `{"reason":"completed"}`)
}
