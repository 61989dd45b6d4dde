package projector_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore"
	"github.com/stenohq/steno/internal/statestore/kvstate"
	"github.com/stenohq/steno/pkg/events"
)

// The same on a real server: two projectors, killed and started at random
// while five sessions are published, leave heads that are the folds of the
// logs, byte for byte.
func TestKillsOnNATS(t *testing.T) {
	n := natstest.StartNode(t, natstest.NoListen(), natstest.Slots(4))
	log, err := jslog.New(n.JS(), jslog.Config{Slots: 4, Streams: n.Topology().Streams})
	if err != nil {
		t.Fatal(err)
	}
	store, err := kvstate.New(n.Conn())
	if err != nil {
		t.Fatal(err)
	}
	rnd := rand.New(rand.NewPCG(1, 2))
	limits := projector.Limits{Idle: 300 * time.Millisecond, Agents: 3, HeadAge: 200 * time.Millisecond, HeadForce: time.Second}
	life := 0
	start := func() *process {
		life++
		ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
		g := &gate{Store: store}
		p := &process{gate: g, stop: stop, done: make(chan error, 1)}
		deps := projector.Deps{Log: log, Store: g, Members: kvstate.NewMembers(n.Conn())}
		// One name: a restarted process takes its slots back at once.
		p.Service = projector.New(deps, projector.Config{Name: "one", Limits: limits})
		go func() { p.done <- p.Run(ctx) }()
		return p
	}
	sessions := map[string][]string{}
	ordinal := map[string]int{}
	publish := func(session, agent, typ, payload string) {
		t.Helper()
		k := session + "/" + agent
		ordinal[k]++
		data := fmt.Sprintf(`{"event_type":%q,"payload":%s,"run_id":"r1","n":%d}`, typ, payload, ordinal[k])
		if _, err := log.Append(t.Context(), events.SessionID(session), events.AgentID(agent), []byte(data), ""); err != nil {
			t.Fatal(err)
		}
	}
	p := start()
	for i := range 3000 {
		session, agent := fmt.Sprint("s.", rnd.IntN(5)), fmt.Sprint("a", rnd.IntN(2))
		switch rnd.IntN(10) {
		case 0:
			publish(session, agent, "turn.started", `{"prompt":"p"}`)
		case 1:
			publish(session, agent, "turn.ended", `{"reason":"completed"}`)
		default:
			publish(session, agent, "assistant.delta", fmt.Sprintf(`{"delta":"d%d"}`, i))
		}
		if i%300 == 299 {
			time.Sleep(time.Duration(rnd.IntN(300)) * time.Millisecond)
			if rnd.IntN(3) == 0 {
				p.end(t)
			} else {
				p.kill(t)
			}
			p = start()
		}
	}
	for i := range 5 {
		s := fmt.Sprint("s.", i)
		sessions[s] = []string{"a0", "a1"}
		for _, a := range sessions[s] {
			publish(s, a, "turn.started", `{"prompt":"last"}`)
		}
	}
	catchUp(t, log, store, sessions)
	same(t, log, store, sessions)
	if err := p.Ready(); err != nil {
		t.Error(err)
	}
	p.end(t)
}

// catchUp waits until the checkpoints are at the ends of the logs.
func catchUp(t *testing.T, log eventlog.Log, store statestore.Store, sessions map[string][]string) {
	t.Helper()
	deadline := time.Now().Add(20 * time.Second)
	for {
		behind := false
		for s := range sessions {
			slot := events.SessionID(s).Slot(log.Slots())
			var last uint64
			for _, a := range sessions[s] {
				r, err := log.Last(t.Context(), events.SessionID(s), events.AgentID(a))
				if err != nil {
					t.Fatal(err)
				}
				last = max(last, r.StreamSeq)
			}
			behind = behind || saved(t, store, slot).StreamSeq < last
		}
		if !behind {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the projector does not catch up")
		}
		time.Sleep(50 * time.Millisecond)
	}
}

// A server that restarts under a running projector loses nothing and doubles
// nothing.
func TestServerRestarts(t *testing.T) {
	n := natstest.StartNode(t, natstest.Slots(2))
	log, err := jslog.New(n.JS(), jslog.Config{Slots: 2, Streams: n.Topology().Streams})
	if err != nil {
		t.Fatal(err)
	}
	store, err := kvstate.New(n.Conn())
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	p := &process{stop: stop, done: make(chan error, 1)}
	deps := projector.Deps{Log: log, Store: store, Members: kvstate.NewMembers(n.Conn())}
	p.Service = projector.New(deps, projector.Config{Name: "one", Limits: projector.Limits{HeadAge: 100 * time.Millisecond, HeadForce: time.Second}})
	go func() { p.done <- p.Run(ctx) }()
	sessions := map[string][]string{"s0": {"main"}, "s1": {"main"}, "s2": {"main"}}
	for range 3 {
		for i := range 100 {
			for s := range sessions {
				data := fmt.Sprintf(`{"event_type":"assistant.delta","payload":{"delta":"d%d"}}`, i)
				if _, err := log.Append(t.Context(), events.SessionID(s), "main", []byte(data), ""); err != nil {
					t.Fatal(err)
				}
			}
		}
		n.Restart()
		for !n.Conn().IsConnected() {
			time.Sleep(time.Millisecond)
		}
	}
	catchUp(t, log, store, sessions)
	same(t, log, store, sessions)
	p.end(t)
}
