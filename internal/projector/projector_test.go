package projector_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stenohq/steno/internal/eventlog"
	"github.com/stenohq/steno/internal/projector"
	"github.com/stenohq/steno/internal/statestore"
)

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
