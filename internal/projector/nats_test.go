package projector_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stenohq/steno/internal/eventlog/jslog"
	"github.com/stenohq/steno/internal/natstest"
	"github.com/stenohq/steno/internal/projector"
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
	deadline := time.Now().Add(20 * time.Second)
	for {
		behind := false
		for s := range sessions {
			slot := events.SessionID(s).Slot(4)
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
			break
		}
		if time.Now().After(deadline) {
			t.Error("the projector does not catch up")
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	same(t, log, store, sessions)
	if err := p.Ready(); err != nil {
		t.Error(err)
	}
	p.end(t)
}
