package projector_test

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore/memstate"
)

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

var seeds = flag.Uint64("seeds", 12, "how many random stories TestKillsAndFaults tells")

// Projectors are killed, stopped and started at random, on a store that fails
// at random: in the end the heads are the folds of the logs, byte for byte. `-seeds 200` is the deep run.
func TestKillsAndFaults(t *testing.T) {
	for seed := range *seeds {
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
				w.sound()
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
